import os

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.storage.checkpoint import load_checkpoint, load_newest, save_checkpoint
from cinnet.storage.files import StorageError, read_arrays_of, write_arrays, write_atomically

TREE = {"weights": jnp.arange(6.0).reshape(2, 3), "count": jnp.asarray(4), "key": jax.random.key(7)}


def load(path, like=TREE, how=load_checkpoint):
    trees, metadata = how(path, lambda metadata: {"state": like})
    return trees["state"], metadata


def save(path, tree, metadata):
    save_checkpoint(path, {"state": tree, "more": {"a": jnp.ones(3)}}, metadata)


def test_arrays_keys_and_metadata_come_back(tmp_path):
    save(tmp_path / "state.npz", TREE, {"step": 3})
    tree, metadata = load(tmp_path / "state.npz")
    assert metadata == {"step": 3}
    np.testing.assert_array_equal(tree["weights"], TREE["weights"])
    assert tree["count"].dtype == TREE["count"].dtype
    np.testing.assert_array_equal(jax.random.key_data(tree["key"]), jax.random.key_data(TREE["key"]))


def test_a_group_is_read_alone(tmp_path):
    save(tmp_path / "state.npz", TREE, {})
    trees, _ = load_checkpoint(tmp_path / "state.npz", lambda metadata: {"more": {"a": jnp.zeros(3)}})
    np.testing.assert_array_equal(trees["more"]["a"], np.ones(3))


@pytest.mark.parametrize("damage", ["truncate", "flip", "remove"])
def test_a_damaged_checkpoint_is_refused_or_replaced_by_the_one_before_with_a_warning(tmp_path, damage):
    path = tmp_path / "state.npz"
    save(path, TREE, {"step": 1})
    save(path, TREE | {"count": jnp.asarray(5)}, {"step": 2})
    content = bytearray(path.read_bytes())
    if damage == "truncate":
        path.write_bytes(bytes(content[: len(content) // 2]))
    elif damage == "flip":
        content[len(content) // 3] ^= 0xFF
        path.write_bytes(bytes(content))
    else:
        path.unlink()
    with pytest.raises(StorageError, match=r"state\.npz (is damaged|does not exist)"):
        load(path)
    with pytest.warns(UserWarning, match="goes on from the checkpoint before it"):
        tree, metadata = load(path, how=load_newest)
    assert (metadata["step"], int(tree["count"])) == (1, 4)


def test_both_damaged_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "state.npz"
    save(path, TREE, {})
    save(path, TREE, {})
    for name in os.listdir(tmp_path):
        (tmp_path / name).write_bytes(b"nothing")
    with pytest.raises(StorageError, match=r"state\.npz is damaged"):
        load(path, how=load_newest)


def test_another_shape_is_another_configuration(tmp_path):
    save(tmp_path / "state.npz", TREE, {})
    with pytest.raises(StorageError, match="another configuration"):
        load(tmp_path / "state.npz", TREE | {"weights": jnp.zeros((3, 3))})


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"state\.npz does not exist"):
        load(tmp_path / "state.npz")


def test_another_kind_or_version_is_refused(tmp_path):
    write_arrays(tmp_path / "state.npz", "checkpoint", 99, {}, {})
    with pytest.raises(StorageError, match="is a checkpoint of version 99; this cinnet reads checkpoint version"):
        load(tmp_path / "state.npz")
    with pytest.raises(StorageError, match="is a checkpoint of version 99; this cinnet reads figures version 1"):
        read_arrays_of(tmp_path / "state.npz", "figures", 1)


def test_a_changed_header_does_not_match_the_checksum(tmp_path):
    path = tmp_path / "state.npz"
    write_arrays(path, "figures", 1, {"step": 3}, {"a": np.ones(2)})
    with np.load(path) as file:
        header, a = file["header"], file["a"]
    forged = np.frombuffer(header.tobytes().replace(b'"step": 3', b'"step": 4'), np.uint8)
    np.savez(path, header=forged, a=a)
    with pytest.raises(StorageError, match="checksum does not match"):
        read_arrays_of(path, "figures", 1)


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
