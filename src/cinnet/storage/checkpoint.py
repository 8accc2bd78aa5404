"""The state of training on disk: groups of arrays, the solution apart from what only training needs."""

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .files import StorageError, read_arrays_of, write_arrays

_KIND, _VERSION = "checkpoint", 2
PREVIOUS_SUFFIX = ".previous"

Trees = Mapping[str, PyTree]


def save_checkpoint(path: Path, trees: Trees, metadata: Mapping[str, Any]) -> None:
    """Save the arrays of pytrees by name, and JSON metadata; the checkpoint before is kept as `*.previous`."""
    arrays = {
        f"{name}/{number:05d}": _to_host(leaf)
        for name, tree in trees.items()
        for number, leaf in enumerate(jax.tree.leaves(tree))
    }
    if path.exists():
        previous = previous_checkpoint(path)
        previous.unlink(missing_ok=True)
        os.link(path, previous)
    write_arrays(path, _KIND, _VERSION, metadata, arrays)


def previous_checkpoint(path: Path) -> Path:
    return path.with_name(path.name + PREVIOUS_SUFFIX)


def load_checkpoint(path: Path, like: Callable[[dict[str, Any]], Trees]) -> tuple[dict[str, PyTree], dict[str, Any]]:
    """Load the trees that `like(metadata)` names, in their structure."""
    metadata, arrays = read_arrays_of(path, _KIND, _VERSION)
    try:
        models = like(metadata)
    except (KeyError, TypeError, IndexError) as error:
        raise StorageError(f"{path} belongs to another configuration ({type(error).__name__}: {error}).") from None
    return {name: _restored(path, name, model, arrays) for name, model in models.items()}, metadata


def load_newest(path: Path, like: Callable[[dict[str, Any]], Trees]) -> tuple[dict[str, PyTree], dict[str, Any]]:
    """As `load_checkpoint`, but a missing or damaged one is replaced by the one before, with a warning."""
    try:
        return load_checkpoint(path, like)
    except StorageError as error:
        try:
            loaded = load_checkpoint(previous_checkpoint(path), like)
        except StorageError:
            raise error from None
        warnings.warn(f"{error} The run goes on from the checkpoint before it.", stacklevel=2)
        return loaded


def _restored(path: Path, name: str, model: PyTree, arrays: Mapping[str, np.ndarray]) -> PyTree:
    expected, structure = jax.tree.flatten(model)
    leaves = [array for key, array in sorted(arrays.items()) if key.partition("/")[0] == name]
    if [_to_host(leaf).shape for leaf in expected] != [leaf.shape for leaf in leaves]:
        raise StorageError(f"{path} belongs to another configuration: its arrays have other shapes.")
    return jax.tree.unflatten(structure, [_from_host(*pair) for pair in zip(leaves, expected, strict=True)])


def _to_host(leaf: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _from_host(leaf: np.ndarray, model: Any) -> Any:
    if _is_key(model):
        return jax.random.wrap_key_data(jnp.asarray(leaf))
    return jnp.asarray(leaf) if isinstance(model, jax.Array) else leaf


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)  # pyright: ignore
