"""The state of training on disk: checksummed, versioned, without pickle."""

import hashlib
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import PyTree

from .files import write_atomically

FORMAT_VERSION = 1
PREVIOUS_SUFFIX = ".previous"


class CheckpointError(ValueError):
    """A checkpoint that is missing, damaged, or of another run."""


def save_checkpoint(path: Path, tree: PyTree, metadata: dict[str, Any]) -> None:
    """Save the arrays of a pytree and JSON metadata; the checkpoint before is kept as `*.previous`."""
    leaves = [_to_host(leaf) for leaf in jax.tree.leaves(tree)]
    header = {"version": FORMAT_VERSION, "checksum": _checksum(leaves), "metadata": metadata}
    buffer = io.BytesIO()
    arrays = {f"leaf{number:05d}": leaf for number, leaf in enumerate(leaves)}
    np.savez(buffer, allow_pickle=False, header=np.frombuffer(json.dumps(header).encode(), np.uint8), **arrays)
    if path.exists():
        previous = path.with_name(path.name + PREVIOUS_SUFFIX)
        previous.unlink(missing_ok=True)
        os.link(path, previous)
    write_atomically(path, buffer.getvalue())


def load_checkpoint(path: Path, like: Callable[[dict[str, Any]], PyTree]) -> tuple[PyTree, dict[str, Any]]:
    """Load a checkpoint into the structure `like(metadata)`; a damaged one is replaced by the one before."""
    try:
        return _load(path, like)
    except CheckpointError as error:
        previous = path.with_name(path.name + PREVIOUS_SUFFIX)
        if not previous.exists():
            raise
        try:
            return _load(previous, like)
        except CheckpointError:
            raise error from None


def _load(path: Path, like: Callable[[dict[str, Any]], PyTree]) -> tuple[PyTree, dict[str, Any]]:
    leaves, metadata = verify_checkpoint(path)
    expected, structure = jax.tree.flatten(like(metadata))
    shapes = [_to_host(leaf).shape for leaf in expected]
    if shapes != [leaf.shape for leaf in leaves]:
        raise CheckpointError(f"{path} belongs to another configuration: its arrays have other shapes.")
    restored = [_from_host(leaf, model) for leaf, model in zip(leaves, expected, strict=True)]
    return jax.tree.unflatten(structure, restored), metadata


def verify_checkpoint(path: Path) -> tuple[list[np.ndarray], dict[str, Any]]:
    """The arrays and the metadata of a checkpoint; raises if it is missing, damaged or of another version."""
    if not path.exists():
        raise CheckpointError(f"{path} does not exist; is this a run folder?")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            header = json.loads(file["header"].tobytes())
            leaves = [file[f"leaf{number:05d}"] for number in range(len(file.files) - 1)]
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, json.JSONDecodeError) as error:
        raise CheckpointError(f"{path} is damaged and cannot be read ({type(error).__name__}).") from None
    if header.get("version") != FORMAT_VERSION:
        raise CheckpointError(f"{path} has format version {header.get('version')}; this is version {FORMAT_VERSION}.")
    if header["checksum"] != _checksum(leaves):
        raise CheckpointError(f"{path} is damaged: its checksum does not match its content.")
    return leaves, header["metadata"]


def _to_host(leaf: Any) -> np.ndarray:
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _from_host(leaf: np.ndarray, model: Any) -> Any:
    if _is_key(model):
        return jax.random.wrap_key_data(jnp.asarray(leaf))
    return jnp.asarray(leaf) if isinstance(model, jax.Array) else leaf


def _is_key(leaf: Any) -> bool:
    return isinstance(leaf, jax.Array) and jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)  # pyright: ignore


def _checksum(leaves: list[np.ndarray]) -> str:
    digest = hashlib.sha256()
    for leaf in leaves:
        digest.update(f"{leaf.dtype.str}{leaf.shape}".encode())
        digest.update(np.ascontiguousarray(leaf).tobytes())
    return digest.hexdigest()
