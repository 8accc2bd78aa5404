import json
import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.storage.checkpoint import CheckpointError, load_checkpoint, save_checkpoint
from cinnet.storage.files import write_atomically

TREE = {"weights": jnp.arange(6.0).reshape(2, 3), "count": jnp.asarray(4), "key": jax.random.key(7)}


def load(path, like=TREE):
    return load_checkpoint(path, lambda metadata: like)


def test_arrays_keys_and_metadata_come_back(tmp_path):
    save_checkpoint(tmp_path / "state.npz", TREE, {"step": 3})
    tree, metadata = load(tmp_path / "state.npz")
    assert metadata == {"step": 3}
    np.testing.assert_array_equal(tree["weights"], TREE["weights"])
    assert tree["count"].dtype == TREE["count"].dtype
    np.testing.assert_array_equal(jax.random.key_data(tree["key"]), jax.random.key_data(TREE["key"]))


@pytest.mark.parametrize("damage", ["truncate", "flip"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(tmp_path, damage):
    path = tmp_path / "state.npz"
    save_checkpoint(path, TREE, {"step": 1})
    save_checkpoint(path, TREE | {"count": jnp.asarray(5)}, {"step": 2})
    content = bytearray(path.read_bytes())
    if damage == "truncate":
        content = content[: len(content) // 2]
    else:
        offset = content.find(np.arange(6.0).tobytes())
        content[offset + 3] ^= 0xFF
    path.write_bytes(bytes(content))
    tree, metadata = load(path)
    assert (metadata["step"], int(tree["count"])) == (1, 4)


def test_both_damaged_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "state.npz"
    save_checkpoint(path, TREE, {})
    save_checkpoint(path, TREE, {})
    for name in os.listdir(tmp_path):
        (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(CheckpointError, match=r"state\.npz is damaged"):
        load(path)


def test_another_shape_is_another_configuration(tmp_path):
    save_checkpoint(tmp_path / "state.npz", TREE, {})
    with pytest.raises(CheckpointError, match="another configuration"):
        load(tmp_path / "state.npz", TREE | {"weights": jnp.zeros((3, 3))})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"state\.npz does not exist"):
        load(tmp_path / "state.npz")


def test_another_format_version_is_refused(tmp_path):
    header = np.frombuffer(json.dumps({"version": 99}).encode(), np.uint8)
    np.savez(tmp_path / "state.npz", header=header)
    with pytest.raises(CheckpointError, match="format version 99"):
        load(tmp_path / "state.npz")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path, monkeypatch):
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]
