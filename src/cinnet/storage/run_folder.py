"""Run folders: what a run leaves on disk, under which names, and how it is read again."""

import dataclasses
import hashlib
import io
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import numpy as np
from filelock import FileLock, Timeout

from ..config.settings import Settings
from ..observations import Observations
from ..problems import PROBLEMS
from ..problems.base import EvolutionProblem
from ..unknowns import Unknown, UnknownField
from .checkpoint import CheckpointError, write_atomically

CONFIG_FILE = "config.json"
RESULT_FILE = "result.json"
OBSERVATIONS_FILE = "observations.npz"
LOCK_FILE = ".lock"


class FolderInUseError(ValueError):
    """Another process is writing to a run folder."""


@contextmanager
def held(folder: Path, wait: bool = False) -> Iterator[None]:
    """Keep other processes from writing to a run folder meanwhile; one that dies lets go of it.

    A folder that another process holds is waited for, or refused. If nothing was written to it, it is gone afterwards,
    with the folders around it that were made for it.
    """
    made = [one for one in (folder, *folder.parents) if not one.exists()]
    folder.mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / LOCK_FILE, is_singleton=True)
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        raise FolderInUseError(
            f"folder={str(folder)!r} is being written to by another process; let that end, or choose another folder."
        ) from None
    try:
        yield
    finally:
        if lock.lock_counter == 1 and [one.name for one in folder.iterdir()] == [LOCK_FILE]:
            (folder / LOCK_FILE).unlink()
            with suppress(OSError):  # another run has come to live in one of them
                for one in made:
                    one.rmdir()
        lock.release()


def run_name(problem: str, settings: Settings) -> str:
    """The name of a run's folder where none is given."""
    grid = f"{settings.num_times}x{settings.num_points}"
    return f"{problem}-{settings.method}-{settings.preset}-{grid}-s{settings.seed}"


def configuration(problem: EvolutionProblem, settings: Settings) -> dict[str, Any]:
    """What `config.json` holds: all that decides a run."""
    return {"problem": describe(problem), "settings": settings.to_json()}


def describe(problem: EvolutionProblem) -> dict[str, Any]:
    """A problem as data: its name and the values of its parameters."""
    names = {cls: name for name, cls in PROBLEMS.items()}
    return {
        "name": names.get(type(problem), problem.name),
        **({"until": problem.interval.end} if problem.is_extended else {}),
        "parameters": {name: _describe_value(value) for name, value in problem.parameters.items()},
        **({"observations": [one.digest for one in problem.observations]} if problem.observations else {}),
    }


_KINDS: Mapping[str, type[Unknown] | type[UnknownField]] = {"unknown": Unknown, "unknown_field": UnknownField}


def _describe_value(value: Any) -> Any:
    for kind, cls in _KINDS.items():
        if isinstance(value, cls):
            return {kind: dataclasses.asdict(value)}
    if isinstance(value, eqx.Module):
        leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(eqx.filter(value, eqx.is_array_like))]
        content = b"".join(np.ascontiguousarray(leaf).tobytes() for leaf in leaves)
        return f"{type(value).__name__} {hashlib.sha256(content).hexdigest()}"
    return np.asarray(value).tolist()


def _described_value(description: Any) -> Any:
    if isinstance(description, Mapping):
        ((kind, values),) = description.items()
        return _KINDS[kind](**values)
    return description


def described_problem(description: Mapping[str, Any], observations: tuple[Observations, ...] = ()) -> EvolutionProblem:
    """The built-in problem that `describe` described."""
    if description["name"] not in PROBLEMS:
        raise ValueError(f"the run solved {description['name']!r}, which is not built in; pass load(folder, problem).")
    values = {name: _described_value(value) for name, value in description["parameters"].items()}
    return PROBLEMS[description["name"]](**values, observations=observations)


def read_config(folder: Path, problem: EvolutionProblem | None = None) -> tuple[EvolutionProblem, Settings]:
    """The problem and the settings of a run, finished or not."""
    path = folder / CONFIG_FILE
    config = read_json(path)
    try:
        settings = Settings.from_json(config["settings"])
        if problem is None:
            problem = described_problem(config["problem"], load_observations(folder / OBSERVATIONS_FILE))
        until = config["problem"].get("until")
        return (problem if until is None else problem.until(until)), settings
    except (KeyError, TypeError) as error:
        raise CheckpointError(f"{path} is not the configuration of a run ({type(error).__name__}: {error}).") from None


def check_folder(folder: Path, config: dict[str, Any]) -> None:
    """Refuse a folder that holds another run."""
    path = folder / CONFIG_FILE
    if path.exists() and read_json(path) != json.loads(json.dumps(config)):
        raise ValueError(f"folder={str(folder)!r} holds a run with another configuration; choose another folder.")


def read_json(path: Path) -> dict[str, Any]:
    """A file of a run folder; raises an error that names it if it is missing or unreadable."""
    try:
        return json.loads(path.read_text())
    except FileNotFoundError:
        raise CheckpointError(f"{path} does not exist; {path.parent} is not a finished run folder.") from None
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{path} cannot be read ({type(error).__name__}).") from None


def save_observations(path: Path, observations: tuple[Observations, ...]) -> None:
    """Keep measurements next to a run, so that it can go on without the file they came from."""
    if not observations:
        return
    arrays: dict[str, np.ndarray] = {}
    for i, one in enumerate(observations):
        arrays |= {f"times{i}": one.times, f"points{i}": one.points, f"values{i}": one.values}
    header = json.dumps([{"of": one.of, "noise": one.noise} for one in observations]).encode()
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, header=np.frombuffer(header, np.uint8), **arrays)
    write_atomically(path, buffer.getvalue())


def load_observations(path: Path) -> tuple[Observations, ...]:
    """The measurements that a run was given; none if it has no such file."""
    if not path.exists():
        return ()
    try:
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as file:
            arrays: Mapping[str, np.ndarray] = dict(file)
        return tuple(
            Observations(arrays[f"times{i}"], arrays[f"points{i}"], arrays[f"values{i}"], **about)
            for i, about in enumerate(json.loads(bytes(arrays["header"])))
        )
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise CheckpointError(f"{path} cannot be read ({type(error).__name__}).") from None
