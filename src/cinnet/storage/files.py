"""Files that survive and cannot lie: written whole or not at all, arrays with a header and a checksum, no pickle."""

import hashlib
import io
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

_HEADER = "header"


class StorageError(ValueError):
    """A file of a run that is missing, damaged, or of another run."""


def write_atomically(path: Path, content: bytes) -> None:
    """Replace a file so that a reader, or a crash at any moment, finds the old content or the new one whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _umask() -> int:
    """What the user takes away from new files; temporary files are private instead."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_json(path: Path, content: Any) -> None:
    write_atomically(path, (json.dumps(content, indent=2, sort_keys=True) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file with names and values; raises an error that names it if it is missing or unreadable."""
    try:
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise StorageError(f"{path} does not exist; {path.parent} is not a finished run folder.") from None
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(f"{path} cannot be read ({type(error).__name__}).") from None
    if not isinstance(content, dict):
        raise StorageError(f"{path} is not what a run writes: it holds {type(content).__name__}, not names and values.")
    return content


def write_arrays(path: Path, kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> None:
    """Write arrays by name with a JSON header: an NPZ file that says what it is and carries a checksum."""
    write_atomically(path, array_bytes(kind, version, header, arrays))


def array_bytes(kind: str, version: int, header: Mapping[str, Any], arrays: Mapping[str, Any]) -> bytes:
    """The content of such a file."""
    arrays = {name: np.asarray(array) for name, array in arrays.items()}
    content = {"kind": kind, "version": version, "content": dict(header)}
    content["checksum"] = _checksum(content, arrays)
    buffer = io.BytesIO()
    encoded = np.frombuffer(json.dumps(content).encode(), np.uint8)
    np.savez_compressed(buffer, allow_pickle=False, **{_HEADER: encoded}, **arrays)
    return buffer.getvalue()


def read_arrays_of(path: Path, kind: str, version: int) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays; raises if the file is missing, damaged, of another kind or version."""
    if not path.exists():
        raise StorageError(f"{path} does not exist; is {path.parent} a run folder?")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as file:
            content = json.loads(file[_HEADER].tobytes())
            arrays = {name: file[name] for name in file.files if name != _HEADER}
        found, checksum = (content["kind"], content["version"]), content.pop("checksum")
    except Exception as error:  # damaged bytes provoke anything from OSError to NotImplementedError
        raise StorageError(f"{path} is damaged and cannot be read ({type(error).__name__}).") from None
    if found != (kind, version):
        raise StorageError(f"{path} is a {found[0]} of version {found[1]}; this cinnet reads {kind} version {version}.")
    if checksum != _checksum(content, arrays):
        raise StorageError(f"{path} is damaged: its checksum does not match its content.")
    return content["content"], arrays


def _checksum(content: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(json.dumps(content, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()
