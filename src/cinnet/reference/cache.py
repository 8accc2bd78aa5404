"""Reference solutions on disk, found by their content.

The key is a hash of the problem's fingerprint and of the settings, so a changed coefficient is another file. A file
carries a checksum of its arrays; one that is damaged is computed again. No pickle.
"""

import hashlib
import json
import os
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from ..problems.base import EvolutionProblem
from ..problems.fingerprint import fingerprint
from ..storage.files import StorageError, read_arrays_of, write_arrays
from .spectrum import Spectrum

_KIND = "reference"
FORMAT = 2  # raise it when the numbers or the file would differ for the same problem and settings


def cache_directory() -> Path:
    """The environment variable CINNET_CACHE, else the user's cache directory."""
    return Path(os.environ.get("CINNET_CACHE") or platformdirs.user_cache_dir("cinnet"))


def cache_path(problem: EvolutionProblem, settings: Mapping[str, Any]) -> Path | None:
    """The file that belongs to a problem and settings; None if the problem cannot be named by its content."""
    content = fingerprint(problem.with_guesses())
    if content is None:
        return None
    key = json.dumps([FORMAT, content, dict(settings)], sort_keys=True)
    return cache_directory() / f"reference-{hashlib.sha256(key.encode()).hexdigest()}.npz"


def load(path: Path) -> tuple[list[Spectrum], dict[str, Any]] | None:
    """Snapshots and metadata; None if the file does not exist or is damaged in any way."""
    try:
        metadata, arrays = read_arrays_of(path, _KIND, FORMAT)
        ends = np.cumsum(arrays["shapes"].prod(axis=1))
        parts = np.split(arrays["numbers"], ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, arrays["shapes"], strict=True)], metadata
    except (StorageError, KeyError, ValueError, IndexError):
        return None


def store(path: Path, snapshots: Sequence[Spectrum], metadata: Mapping[str, Any]) -> None:
    """Write atomically: a reader sees the whole file or none. A failure is a warning, never an error."""
    shapes = np.array([s.shape for s in snapshots], dtype=np.int64)
    numbers = np.concatenate([s.ravel() for s in snapshots])
    try:
        write_arrays(path, _KIND, FORMAT, metadata, {"shapes": shapes, "numbers": numbers})
    except OSError as error:
        warnings.warn(
            f"the reference solution could not be stored in {path.parent} ({error}); set the environment variable "
            "CINNET_CACHE to a writable directory to avoid computing it again.",
            stacklevel=3,
        )
