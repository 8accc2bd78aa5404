"""Run folders: what a run leaves on disk, under which names, and how it is read again."""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from .problems import PROBLEMS
from .problems.base import EvolutionProblem
from .settings import Settings
from .training.checkpoint import CheckpointError

CONFIG_FILE = "config.json"
RESULT_FILE = "result.json"


def run_name(problem: str, settings: Settings) -> str:
    """The name of a run's folder where none is given."""
    grid = f"{settings.num_times}x{settings.num_points}"
    return f"{problem}-{settings.method}-{settings.preset}-{grid}-s{settings.seed}"


def configuration(problem: EvolutionProblem, settings: Settings) -> dict[str, Any]:
    """What `config.json` holds: all that decides a run."""
    return {"problem": describe(problem), "settings": settings.to_json()}


def describe(problem: EvolutionProblem) -> dict[str, Any]:
    """A problem as data: its name and the values of its parameters."""
    values = {f.name: getattr(problem, f.name) for f in dataclasses.fields(problem)}
    names = {cls: name for name, cls in PROBLEMS.items()}
    return {
        "name": names.get(type(problem), problem.name),
        "parameters": {name: np.asarray(value).tolist() for name, value in values.items()},
    }


def described_problem(description: Mapping[str, Any]) -> EvolutionProblem:
    """The built-in problem that `describe` described."""
    if description["name"] not in PROBLEMS:
        raise ValueError(f"the run solved {description['name']!r}, which is not built in; pass load(folder, problem).")
    return PROBLEMS[description["name"]](**description["parameters"])


def read_config(folder: Path, problem: EvolutionProblem | None = None) -> tuple[EvolutionProblem, Settings]:
    """The problem and the settings of a run, finished or not."""
    path = folder / CONFIG_FILE
    config = read_json(path)
    try:
        settings = Settings.from_json(config["settings"])
        return (described_problem(config["problem"]) if problem is None else problem), settings
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
