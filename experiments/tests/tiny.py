"""An experiment that takes seconds: a smooth problem, a few parameters, three steps, one compilation for all cells."""

import dataclasses
from pathlib import Path

from cinnet_experiments import Cell, Experiment, Target
from cinnet_experiments.engines import ENGINES
from cinnet_experiments.sweep import Run, distinct_runs, expand, read_result, runs_to_do
from cinnet_experiments.workers import Workers

from cinnet.config.settings import Stage

SETTINGS = {
    "hidden": (4,),
    "harmonics": (1,),
    "windows": 1,
    "exploit_symmetry": False,
    "stages": (Stage("adam", 3),),
}
SMOOTH = {"advection": 0.1, "dispersion": 0.3}
INITIAL_WEIGHTS = {"heavy": 100.0, "light": 1.0}


def tiny_experiment(columns: tuple[str, ...] = ("heavy", "light"), figure: str | None = None) -> Experiment:
    cells = tuple(
        Cell(
            "(2, 8)",
            column,
            "kdv",
            "pinn",
            (2, 8),
            overrides=SETTINGS | {"initial_weight": INITIAL_WEIGHTS[column]},
            parameters=SMOOTH,
            target=Target(0.5, 0.1),
        )
        for column in columns
    )
    return Experiment("tiny", "A tiny experiment", "nowhere", "(N_t, N_x)", cells, figure=figure)


def tiny_runs(num_seeds: int, columns: tuple[str, ...] = ("heavy", "light")) -> list[Run]:
    planned = expand(tiny_experiment(columns), "fast", range(num_seeds))
    return [dataclasses.replace(run, unit_seconds=1.0) for run in distinct_runs(planned)]


def numbers(runs: list[Run], root: Path) -> list[tuple[float, float]]:
    """What two engines must agree in."""
    results = [read_result(root / run.name) or {} for run in runs]
    return [(result["relative_l2_error"], result["held_out_residual"]) for result in results]


def sweep(num_seeds: int, root: str, engine: str, workers: int) -> None:
    """A whole sweep, for tests that start one in another process."""
    runs = runs_to_do(tiny_runs(num_seeds, ("heavy",)), Path(root))
    for event in ENGINES[engine](runs, Path(root), Workers(workers, 1)):
        print(event.state, event.name, event.error, flush=True)
