"""From settings to the objects that training needs."""

import dataclasses

import jax
import numpy as np

from ..losses import LossWeights, Objective
from ..networks import MLP, CinNet, Network
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints, latin_hypercube, uniform_grid
from ..settings import MEMORY_SETTINGS, Settings

FIRST_AUTOMATIC_CAUSALITY = 1.0


def build_network(problem: EvolutionProblem, settings: Settings) -> Network:
    common = {
        "hidden": settings.hidden,
        "outputs": len(problem.components),
        "harmonics": settings.harmonics,
        "tensor": settings.tensor,
        "activation": settings.activation,
        "dtype": settings.dtype,
        "key": jax.random.key(settings.seed),
    }
    if settings.network == "mlp":
        return MLP(problem.box, problem.interval, **common)
    memory = {name: getattr(settings, name) for name in MEMORY_SETTINGS}
    return CinNet(problem.box, problem.interval, **memory, **common)


def build_points(problem: EvolutionProblem, settings: Settings) -> TrainingPoints:
    grid = (problem.interval, problem.box, settings.num_times, settings.num_points)
    if settings.sampling == "uniform-grid":
        return uniform_grid(*grid, include_start=settings.include_start)
    return latin_hypercube(*grid, seed=settings.seed, include_start=settings.include_start)


def fewer_columns(points: TrainingPoints, columns: int | None) -> TrainingPoints:
    """Evenly chosen columns of the training points, all if `columns` is None."""
    if columns is None or columns >= len(points.points):
        return points
    chosen = np.linspace(0, len(points.points), columns, endpoint=False).round().astype(int)
    return TrainingPoints(points.times, points.points[chosen])


def held_out_points(problem: EvolutionProblem, settings: Settings) -> TrainingPoints:
    """Points between those trained on: half-way in time, and in space half-way on grids, another sample otherwise."""
    points = build_points(problem, settings)
    all_times = np.unique(np.concatenate([[problem.interval.start], points.times]))
    between = (all_times[:-1] + all_times[1:]) / 2
    if settings.sampling == "latin-hypercube":
        other = dataclasses.replace(settings, seed=settings.seed + 1_000_003)
        return TrainingPoints(between, build_points(problem, other).points)
    shift = [axis.length / count / 2 for axis, count in zip(problem.box.axes, points.counts or (), strict=True)]
    shifted = points.points + np.array(shift)
    inside = np.all(shifted <= [axis.upper for axis in problem.box.axes], axis=1)
    return TrainingPoints(between, shifted[inside])


def build_objective(
    problem: EvolutionProblem, settings: Settings, network: Network, points: TrainingPoints
) -> Objective:
    causality = FIRST_AUTOMATIC_CAUSALITY if isinstance(settings.causality, str) else settings.causality
    weights = LossWeights(settings.residual_weight, settings.initial_weight, settings.boundary_weight)
    return Objective(problem, network, points, weights=weights, causality=causality)
