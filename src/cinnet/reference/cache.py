"""Reference solutions on disk, found by their content.

The key is a hash of the traced residual and initial value, the domain and the settings, so a changed coefficient
is another file. A file carries a checksum of its arrays; one that is damaged is computed again. No pickle.
"""

import contextlib
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
import platformdirs
from jaxtyping import Array

from ..fields import apply_operator
from ..problems.base import EvolutionProblem
from .spectrum import Spectrum
from .split import double_precision

FORMAT = 1  # raise it when the numbers or the file would differ for the same problem and settings


def cache_directory() -> Path:
    """The environment variable CINNET_CACHE, else the user's cache directory."""
    return Path(os.environ.get("CINNET_CACHE") or platformdirs.user_cache_dir("cinnet"))


def cache_path(problem: EvolutionProblem, settings: Mapping[str, Any]) -> Path | None:
    """The file that belongs to a problem and settings; None if the problem cannot be named by its content."""
    indices = sorted(problem.derivatives)
    components, dimension = len(problem.outputs), problem.box.dimension

    def residual(state: Array, t: Array, x: Array) -> Array:
        derivatives = {index: state[a][None, None] for a, index in enumerate(indices)}
        return apply_operator(problem.residual_operator, derivatives, t[None], x[None])

    with double_precision():
        point = np.zeros(dimension)
        traces = [
            jax.make_jaxpr(residual)(np.zeros((len(indices), components)), np.zeros(()), point),
            jax.make_jaxpr(problem.initial_values)(point[None]),
        ]
    digest = hashlib.sha256()
    axes = [(axis.lower, axis.upper) for axis in problem.box.axes]
    interval = (problem.interval.start, problem.interval.end)
    digest.update(json.dumps([FORMAT, indices, components, axes, interval, dict(settings)], sort_keys=True).encode())
    for trace in traces:
        text = str(trace)
        if " at 0x" in text:  # a Python callback, known by its address only: it may change without a trace
            return None
        digest.update(text.encode())
        for constant in _constants(trace):
            _hash_array(digest, np.asarray(constant))
    return cache_directory() / f"reference-{digest.hexdigest()}.npz"


def _constants(value: Any) -> Iterator[Any]:
    """The constants closed over by a traced function and by the functions it calls."""
    if hasattr(value, "consts") and hasattr(value, "jaxpr"):
        yield from value.consts
        yield from _constants(value.jaxpr)
    elif hasattr(value, "eqns"):
        for equation in value.eqns:
            for parameter in equation.params.values():
                yield from _constants(parameter)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _constants(item)


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
