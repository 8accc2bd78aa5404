"""From experiments to runs: which trainings there are, where each one lives, and how one of them is done.

A run is data. Its folder is named by what it is, with a hash of the problem, the settings and the budget, so that equal
runs of two experiments share a folder and a changed setting is another run.
"""

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from cinnet import solver
from cinnet.config.presets import resolve_settings
from cinnet.config.settings import Settings
from cinnet.machine import gemm_seconds
from cinnet.problems import PROBLEMS
from cinnet.reference import reference_solution
from cinnet.storage import run_folder
from cinnet.storage.files import write_json
from cinnet.training import TrainingView

from .cells import Cell, Experiment

SWEEP_FOLDER = Path("runs/sweep")
FAILURE_FILE = "failure.json"
PROGRESS_FILE = "progress.json"
_SECONDS_BETWEEN_REPORTS = 1.0
_HASH_LENGTH = 12


@dataclass(frozen=True)
class Run:
    """One training as pure data, all that a worker on any machine needs to know.

    `unit_seconds` is the time of one GEMM where it is known; else every process measures it once.
    """

    name: str
    problem: Mapping[str, Any]
    settings: Mapping[str, Any]
    budget: float | None = None
    unit_seconds: float | None = None

    @property
    def shape(self) -> str:
        """What decides the compiled program; runs that agree in it share one compilation."""
        arrays = ("seed", "residual_weight", "initial_weight", "boundary_weight", "causality", "preset")
        static = {name: value for name, value in self.settings.items() if name not in arrays}
        return json.dumps([self.problem, static, self.settings["causality"] is None], sort_keys=True)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class Changes:
    """What makes a trial of an experiment: the steps of the last stage, and settings of any name."""

    steps: int | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def any(self) -> bool:
        return self.steps is not None or bool(self.settings)


@dataclass(frozen=True)
class Planned:
    """A run and the cell and seed it is for."""

    cell: Cell
    seed: int
    run: Run


def expand(
    experiment: Experiment,
    preset: str,
    seeds: Iterable[int],
    methods: Sequence[str] | None = None,
    changes: Changes | None = None,
) -> list[Planned]:
    """The runs of an experiment, cell by cell and seed by seed; of some methods only if they are named."""
    seeds, changes = tuple(seeds), changes or Changes()
    cells = [cell for cell in experiment.cells if methods is None or cell.method in methods]
    return [one for cell in cells for one in _expand_cell(cell, preset, seeds, changes)]


def _expand_cell(cell: Cell, preset: str, seeds: Sequence[int], changes: Changes) -> list[Planned]:
    problem = PROBLEMS[cell.problem](**cell.parameters)
    description = run_folder.describe(problem)
    overrides = dict(cell.overrides) | dict(changes.settings)
    settings = resolve_settings(problem, cell.method, preset, 0, cell.grid, **overrides)
    if changes.steps is not None:
        last = dataclasses.replace(settings.stages[-1], steps=changes.steps)
        settings = dataclasses.replace(settings, stages=(*settings.stages[:-1], last))
    planned = []
    for seed in seeds:
        own = dataclasses.replace(settings, seed=seed)
        # Through JSON, so that a run is the same data here, in a worker and in a file.
        content = json.loads(json.dumps(own.to_json()))
        name = f"{run_folder.run_name(cell.problem, own)}-{content_hash(description, content, cell.budget)}"
        planned.append(Planned(cell, seed, Run(name, description, content, cell.budget)))
    return planned


def content_hash(problem: Mapping[str, Any], settings: Mapping[str, Any], budget: float | None) -> str:
    """A short hash of everything that decides a run."""
    text = json.dumps([problem, settings, budget], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:_HASH_LENGTH]


def distinct_runs(planned: Iterable[Planned]) -> list[Run]:
    """The runs of several experiments, each once, in the order of their first mention."""
    return list({one.run.name: one.run for one in planned}.values())


def read_result(folder: Path) -> dict[str, Any] | None:
    """The result of a finished run; None for one that is new, unfinished, interrupted or failed."""
    try:
        result = json.loads((folder / run_folder.RESULT_FILE).read_text())
    except FileNotFoundError:
        return None
    return None if result["status"] == "interrupted" or result["verdict"] is None else result


def read_failure(folder: Path) -> dict[str, Any] | None:
    """The type and the message of the error that ended a run, if one did and it was not finished later."""
    if read_result(folder) is not None:
        return None
    try:
        return json.loads((folder / FAILURE_FILE).read_text())
    except FileNotFoundError:
        return None


def runs_to_do(all_runs: Iterable[Run], root: Path, retry_failed: bool = False) -> list[Run]:
    """The runs that are not finished, without those that failed unless they are to be tried again."""
    return [
        run
        for run in all_runs
        if read_result(root / run.name) is None and (retry_failed or read_failure(root / run.name) is None)
    ]


def prepare_references(all_runs: Iterable[Run], progress: Callable[[str], None] | None = None) -> None:
    """Compute the references that are not in the cache, once, so that no two workers do."""
    problems = {json.dumps(run.problem, sort_keys=True): run.problem for run in all_runs}
    for description in problems.values():
        problem = run_folder.described_problem(description)
        if problem.box.periodic:
            reference_solution(problem, progress=progress)


def perform(content: Mapping[str, Any], root: str) -> dict[str, Any]:
    """Train the run that `Run.to_json` described in its folder below `root`, and say how it ended.

    An error is written to the folder and reported, so that one run that fails does not end a sweep. A run that another
    sweep is at work on is waited for, and not repeated.
    """
    run = Run(**content)
    folder = Path(root) / run.name
    with run_folder.held(folder, wait=True):
        if read_result(folder) is None:
            return _train(run, folder)
    return {"name": run.name, "state": "finished"}


def _train(run: Run, folder: Path) -> dict[str, Any]:
    (folder / FAILURE_FILE).unlink(missing_ok=True)
    try:
        solution = solver.run(
            run_folder.described_problem(run.problem),
            Settings.from_json(run.settings),
            budget=run.budget,
            folder=folder,
            callbacks=(_reporter(folder),),
            assess=True,
            notes={"gemm_seconds": _unit_seconds() if run.unit_seconds is None else run.unit_seconds},
        )
    except Exception as error:
        return record_failure(run, folder, type(error).__name__, str(error))
    finally:
        (folder / PROGRESS_FILE).unlink(missing_ok=True)
    return {"name": run.name, "state": "interrupted" if solution.status == "interrupted" else "finished"}


def record_failure(run: Run, folder: Path, kind: str, message: str) -> dict[str, Any]:
    """Write down why a run ended, and report it."""
    write_json(folder / FAILURE_FILE, {"type": kind, "message": message, "run": run.to_json()})
    return {"name": run.name, "state": "failed", "error": f"{kind}: {message}"}


@cache
def _unit_seconds() -> float:
    return gemm_seconds()


def _reporter(folder: Path) -> Callable[[TrainingView], None]:
    """A callback that leaves the last record in a file now and then, which any process can show."""
    reported = 0.0

    def report(view: TrainingView) -> None:
        nonlocal reported
        if time.monotonic() - reported < _SECONDS_BETWEEN_REPORTS:
            return
        reported = time.monotonic()
        # Not worth the wait for the disk: the file is for the eye and is deleted when the run ends.
        temporary = folder / f".{PROGRESS_FILE}"
        temporary.write_text(json.dumps(dict(view.record)))
        temporary.replace(folder / PROGRESS_FILE)

    return report
