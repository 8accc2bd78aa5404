"""Reference solutions on disk, found by their content.

The key is a hash of the problem's fingerprint and of the settings, so a changed coefficient is another file. A file
carries a checksum of its arrays; one that is damaged is computed again. No pickle.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs

from ..problems.base import EvolutionProblem
from ..problems.fingerprint import fingerprint
from .spectrum import Spectrum

FORMAT = 1  # raise it when the numbers or the file would differ for the same problem and settings


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


def _hash_array(digest: Any, array: np.ndarray) -> None:
    digest.update(f"{array.dtype.str}{array.shape}".encode())
    digest.update(np.ascontiguousarray(array).tobytes())


def _checksum(metadata: str, arrays: Iterable[np.ndarray]) -> str:
    digest = hashlib.sha256(metadata.encode())
    for array in arrays:
        _hash_array(digest, array)
    return digest.hexdigest()


def load(path: Path) -> tuple[list[Spectrum], dict[str, Any]] | None:
    """Snapshots and metadata; None if the file does not exist or is damaged in any way."""
    try:
        with open(path, "rb") as stream, np.load(stream, allow_pickle=False) as file:
            metadata, checksum = str(file["metadata"]), str(file["checksum"])
            shapes, numbers = file["shapes"], file["numbers"]
        if checksum != _checksum(metadata, (shapes, numbers)):
            return None
        ends = np.cumsum(shapes.prod(axis=1))
        parts = np.split(numbers, ends[:-1])
        return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)], json.loads(metadata)
    except Exception:  # damaged bytes provoke anything from OSError to struct.error; all mean the same here
        return None


def store(path: Path, snapshots: Sequence[Spectrum], metadata: Mapping[str, Any]) -> None:
    """Write atomically: a reader sees the whole file or none. A failure is a warning, never an error."""
    text = json.dumps(dict(metadata), sort_keys=True)
    shapes = np.array([s.shape for s in snapshots], dtype=np.int64)
    numbers = np.concatenate([s.ravel() for s in snapshots])
    temporary = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".writing-", suffix=".tmp", delete=False) as file:
            temporary = file.name
            np.savez(file, metadata=text, checksum=_checksum(text, (shapes, numbers)), shapes=shapes, numbers=numbers)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        warnings.warn(
            f"the reference solution could not be stored in {path.parent} ({error}); set the environment variable "
            "CINNET_CACHE to a writable directory to avoid computing it again.",
            stacklevel=3,
        )
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
