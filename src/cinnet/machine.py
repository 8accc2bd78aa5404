"""This machine and this build: speed, versions, room for compiled programs."""

import functools
import os
import platform
import subprocess
import timeit
from collections.abc import Mapping
from pathlib import Path

import jax
import jax.numpy as jnp

from . import __version__

_UNKNOWN = "unknown"
_MAPS, _MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


def gemm_seconds(repeats: int = 3) -> float:
    """The least time of one 4096^3 float32 GEMM, the unit in which times compare across machines."""
    matrix = jnp.ones((4096, 4096), jnp.float32)
    multiply = jax.jit(jnp.matmul)
    multiply(matrix, matrix).block_until_ready()
    return min(timeit.repeat(lambda: multiply(matrix, matrix).block_until_ready(), number=1, repeat=repeats))


@functools.cache
def provenance() -> dict[str, str]:
    """What makes a run: versions, the commit where the library is a clone, and the machine.

    Looked up once, since the source may change while a process goes on.
    """
    return {
        "cinnet": __version__,
        "commit": commit() or _UNKNOWN,
        "python": platform.python_version(),
        "jax": jax.__version__,
        "processor": platform.machine(),
        "cores": str(os.cpu_count()),
        "devices": ", ".join(sorted({device.device_kind for device in jax.devices()})),
    }


def merged(*makers: Mapping[str, str]) -> dict[str, str]:
    """What made something that several had a part in: where they differ, all are named."""
    makers = tuple(maker for maker in makers if maker)
    names = dict.fromkeys(name for maker in makers for name in maker)
    return {
        name: ", ".join(dict.fromkeys(part for maker in makers for part in maker.get(name, _UNKNOWN).split(", ")))
        for name in names
    }


def commit() -> str | None:
    """The commit of the source, marked where the source has changed since; None outside a repository of its own."""
    home = Path(__file__).resolve().parent

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(home), *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True, timeout=10).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", Path(__file__).name)
        commit = git("rev-parse", "--short=12", "HEAD")
        return f"{commit} with changes" if git("status", "--porcelain", ".") else commit
    except (OSError, subprocess.SubprocessError):
        return None


def forget_programs_if_many() -> None:
    """Make room for the programs of a run.

    Linux limits the memory maps of a process, every compiled program holds some for as long as JAX remembers it, and
    XLA aborts at the limit. Some twenty runs of different shapes would get there.
    """
    if _MAPS.exists() and _MOST_MAPS.exists():
        with _MAPS.open() as lines:
            count = sum(1 for _ in lines)
        if 2 * count > int(_MOST_MAPS.read_text()):
            jax.clear_caches()
