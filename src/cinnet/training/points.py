"""Where a run enforces the equation, and where it checks what it did not enforce."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..config.settings import Settings
from ..domains import Box
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints, latin_hypercube, uniform_grid

_OTHER_SAMPLE = 1_000_003  # added to the seed: a sample that is not trained on

Sampler = Callable[..., TrainingPoints]


def build_points(problem: EvolutionProblem, settings: Settings, seed: int | None = None) -> TrainingPoints:
    """The training points: by a name, by a function like `latin_hypercube`, or given."""
    sampling: Any = settings.sampling
    if isinstance(sampling, TrainingPoints):
        return sampling
    where = (problem.interval, problem.box, settings.num_times)
    start = {"include_start": settings.include_start}
    if sampling == "uniform-grid":
        return uniform_grid(*where, points_per_axis(settings.num_points, problem.box), **start)
    sample = latin_hypercube if sampling == "latin-hypercube" else sampling
    points = sample(*where, settings.num_points, seed=settings.seed if seed is None else seed, **start)
    if not isinstance(points, TrainingPoints):
        raise TypeError(f"sampling={sampling!r} returned {type(points).__name__}; it must return TrainingPoints.")
    return points


def points_per_axis(num_points: int, box: Box) -> int:
    """How many points a uniform grid of so many in all has along each axis."""
    if box.dimension <= 1:
        return num_points
    count = round(num_points ** (1 / box.dimension))
    if count**box.dimension != num_points:
        fewer = int(num_points ** (1 / box.dimension))
        near = " or ".join(str(n**box.dimension) for n in (fewer, fewer + 1))
        raise ValueError(
            f"num_points={num_points}: a uniform grid in {box.dimension} dimensions has the same number along each "
            f"axis; take {near}."
        )
    return count


def held_out_points(problem: EvolutionProblem, settings: Settings, trained: TrainingPoints) -> TrainingPoints:
    """Points between those trained on: half-way in time, and in space half-way on grids, another sample otherwise."""
    all_times = np.unique(np.concatenate([[problem.interval.start], trained.times]))
    between = (all_times[:-1] + all_times[1:]) / 2
    if trained.counts is None and problem.box.dimension:
        return TrainingPoints(between, _other_sample(problem, settings, len(trained.points)))
    shift = [axis.length / count / 2 for axis, count in zip(problem.box.axes, trained.counts or (), strict=True)]
    shifted = trained.points + np.array(shift)
    inside = np.all(shifted <= [axis.upper for axis in problem.box.axes], axis=1)
    return TrainingPoints(between, shifted[inside])


def _other_sample(problem: EvolutionProblem, settings: Settings, count: int) -> np.ndarray:
    if isinstance(settings.sampling, TrainingPoints):
        return latin_hypercube(problem.interval, problem.box, 1, count, seed=settings.seed).points
    return build_points(problem, settings, seed=settings.seed + _OTHER_SAMPLE).points


def chosen_columns(points: TrainingPoints, columns: int | None) -> TrainingPoints:
    """Some columns, evenly chosen; all if None."""
    if columns is None or columns >= len(points.points):
        return points
    chosen = np.linspace(0, len(points.points), columns, endpoint=False).round().astype(int)
    return TrainingPoints(points.times, points.points[chosen])
