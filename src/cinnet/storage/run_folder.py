"""Run folders: what a run leaves on disk, under which names, and how it is read again."""

import dataclasses
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from ..config.serialize import NeedsCodeError, fingerprint, needs_code
from ..config.settings import Settings
from ..observations import Observations
from ..problems import PROBLEMS
from ..problems.base import EvolutionProblem
from ..problems.fingerprint import fingerprint as equation_fingerprint
from ..unknowns import Unknown, UnknownField
from .files import StorageError, read_arrays_of, read_json, write_arrays, write_atomically

CONFIG_FILE = "config.json"
RESULT_FILE = "result.json"
CHECKPOINT_FILE = "checkpoint.npz"
METRICS_FILE = "metrics.jsonl"
DIAGNOSTICS_FILE = "diagnostics.npz"
OBSERVATIONS_FILE = "observations.npz"
LOCK_FILE = ".lock"
_OBSERVATIONS_VERSION = 2


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
    """What `config.json` holds: all that decides a run, and which settings only their author's code can make again."""
    content = settings.to_json()
    own = sorted(name for name, value in content.items() if needs_code(value))
    return {"problem": describe(problem), "settings": content, **({"needs_code": own} if own else {})}


def describe(problem: EvolutionProblem) -> dict[str, Any]:
    """A problem as data: its name, the values of its parameters, and a fingerprint of its equation."""
    names = {cls: name for name, cls in PROBLEMS.items()}
    return {
        "name": names.get(type(problem), problem.name),
        "equation": equation_fingerprint(problem) or fingerprint(type(problem)),
        **({"until": problem.interval.end} if problem.is_extended else {}),
        "parameters": {name: _describe_value(value) for name, value in problem.parameters.items()},
        **({"observations": [one.digest for one in problem.observations]} if problem.observations else {}),
    }


_KINDS: Mapping[str, type[Unknown] | type[UnknownField]] = {"unknown": Unknown, "unknown_field": UnknownField}


def _describe_value(value: Any) -> Any:
    for kind, cls in _KINDS.items():
        if isinstance(value, cls):
            return {kind: dataclasses.asdict(value)}
    if isinstance(value, bool | int | float | str | None):
        return value
    if hasattr(value, "tolist") and getattr(value, "ndim", None) == 0:
        return value.tolist()
    return f"{type(value).__name__} {fingerprint(value)}"


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


def read_config(
    folder: Path, problem: EvolutionProblem | None = None, **given: Any
) -> tuple[EvolutionProblem, Settings]:
    """The problem and the settings of a run, finished or not; `given` are settings that need their author's code."""
    path = folder / CONFIG_FILE
    config = read_json(path)
    try:
        settings = Settings.from_json(config["settings"], **given)
        if problem is None:
            problem = described_problem(config["problem"], load_observations(folder / OBSERVATIONS_FILE))
        until = config["problem"].get("until")
        problem = problem if until is None else problem.until(until)
    except NeedsCodeError as error:
        raise StorageError(f"{path}: {error} Settings that need it: {config.get('needs_code', [])}.") from None
    except (KeyError, TypeError) as error:
        raise StorageError(f"{path} is not the configuration of a run ({type(error).__name__}: {error}).") from None
    check_folder(folder, configuration(problem, settings))
    return problem, settings


def check_folder(folder: Path, config: Mapping[str, Any]) -> None:
    """Refuse a folder that holds another run, and say in what it differs."""
    path = folder / CONFIG_FILE
    if not path.exists():
        return
    theirs, ours = read_json(path), json.loads(json.dumps(config))
    if theirs == ours:
        return
    raise ValueError(
        f"folder={str(folder)!r} holds a run with another configuration: {_difference(theirs, ours)}. Choose another "
        "folder, or go back to what it was made with."
    )


def _difference(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> str:
    their_problem, our_problem = theirs.get("problem", {}), ours["problem"]
    if their_problem.get("name") != our_problem["name"]:
        return f"it solved {their_problem.get('name')!r}, this is {our_problem['name']!r}"
    changed = _changed(their_problem.get("parameters", {}), our_problem["parameters"])
    changed += _changed(theirs.get("settings", {}), ours["settings"])
    if changed:
        return "; ".join(changed[:3])
    return (
        f"the equation, initial value, boundary or data of {our_problem['name']!r} have changed since, or JAX has and "
        "traces them otherwise"
    )


def _changed(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> list[str]:
    names = dict.fromkeys((*theirs, *ours))
    return [
        f"{name} was {theirs.get(name)!r}, now {ours.get(name)!r}"
        for name in names
        if theirs.get(name) != ours.get(name)
    ]


def save_records(path: Path, records: Iterable[Mapping[str, float]]) -> None:
    write_atomically(path, "".join(json.dumps(record) + "\n" for record in records).encode())


def load_records(path: Path) -> list[dict[str, float]]:
    """The records of training; none if nothing was recorded."""
    try:
        lines = path.read_text().splitlines()
        records = [json.loads(line) for line in lines]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, RecursionError) as error:
        raise StorageError(f"{path} cannot be read ({type(error).__name__}).") from None
    if any(not isinstance(record, dict) or "step" not in record for record in records):
        raise StorageError(f"{path} is not a list of training records.")
    return records


def save_observations(path: Path, observations: tuple[Observations, ...]) -> None:
    """Keep measurements next to a run, so that it can go on without the file they came from."""
    if not observations:
        return
    arrays = {}
    for i, one in enumerate(observations):
        arrays |= {f"times{i}": one.times, f"points{i}": one.points, f"values{i}": one.values}
    about = [{"of": one.of, "noise": one.noise} for one in observations]
    write_arrays(path, "observations", _OBSERVATIONS_VERSION, {"about": about}, arrays)


def load_observations(path: Path) -> tuple[Observations, ...]:
    """The measurements that a run was given; none if it has no such file."""
    if not path.exists():
        return ()
    header, arrays = read_arrays_of(path, "observations", _OBSERVATIONS_VERSION)
    try:
        return tuple(
            Observations(arrays[f"times{i}"], arrays[f"points{i}"], arrays[f"values{i}"], **about)
            for i, about in enumerate(header["about"])
        )
    except (ValueError, KeyError, TypeError) as error:
        raise StorageError(f"{path} is not what a run writes ({type(error).__name__}).") from None
