"""Files that survive: a reader finds the old content or the new one, whole."""

import json
import os
import tempfile
from pathlib import Path
from typing import Any


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
