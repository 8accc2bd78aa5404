"""From settings to the objects that training needs."""

import dataclasses
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ..conditions import BoundaryCondition
from ..config.settings import MEMORY_SETTINGS, Settings, Stage
from ..evaluation import predict
from ..networks import MLP, CinNet, ExactBoundary, ExactInitial, Network, WithUnknowns
from ..networks.exact_boundary import exact_faces, insulated_axes
from ..networks.windows import window_interval
from ..objective.objective import InitialValues, LossWeights, Objective
from ..problems.base import EvolutionProblem
from ..problems.symmetry import find_symmetry
from ..sampling import TrainingPoints, latin_hypercube, uniform_grid

FIRST_AUTOMATIC_CAUSALITY = 1.0


def build_network(problem: EvolutionProblem, settings: Settings) -> Network:
    """The network of one window."""
    common: dict[str, Any] = {
        "hidden": settings.hidden,
        "outputs": len(problem.outputs),
        "harmonics": settings.harmonics,
        "bounded_harmonics": settings.bounded_harmonics,
        "tensor": settings.tensor,
        "symmetry": find_symmetry(problem, build_points(problem, settings).points)
        if settings.exploit_symmetry
        else None,
        "activation": settings.activation,
        "initial_gain": settings.initial_gain,
        "mirrored": _mirrored(problem) if settings.exact_boundary else None,
        "dtype": settings.dtype,
        "key": jax.random.key(settings.seed),
    }
    interval = window_interval(problem.interval, settings.windows)
    if settings.network == "mlp":
        network = MLP(problem.box, interval, **common)
    else:
        memory = {name: getattr(settings, name) for name in MEMORY_SETTINGS}
        memory["num_mesh_intervals"] //= settings.windows
        network = CinNet(problem.box, interval, **memory, **common)
    if settings.exact_boundary:
        network = _with_exact_boundary(problem, settings, network)
    if settings.exact_initial:
        network = ExactInitial(network, lambda x: problem.initial_at(x))
    if not problem.unknowns:
        return network
    if settings.windows > 1:
        raise ValueError(f"windows={settings.windows}: the unknowns {sorted(problem.unknowns)} need windows=1.")
    guesses = {
        name: jnp.zeros(unknown.num_coefficients(problem.box), network.dtype)
        for name, unknown in problem.unknowns.items()
    }
    return WithUnknowns(network, guesses)


def _mirrored(problem: EvolutionProblem) -> tuple[bool, ...]:
    return insulated_axes(problem.box, _known_faces(problem))


def _known_faces(problem: EvolutionProblem) -> tuple[BoundaryCondition, ...]:
    """The conditions that depend on no unknown."""
    return tuple(face for face, mismatch in problem.boundary_operators if not mismatch.has_unknowns)


def _with_exact_boundary(problem: EvolutionProblem, settings: Settings, network: Network) -> Network:
    """The network with the values on all faces where all components have given ones."""
    faces = exact_faces(_known_faces(problem))
    if not faces:
        if any(_mirrored(problem)):
            return network
        raise ValueError(
            f"exact_boundary=True: {problem.name} has neither faces with values of all components (dirichlet) nor axes "
            "with two insulated ends (neumann); leave it out."
        )
    exact = ExactBoundary(network, faces, problem.is_complex)
    if settings.windows > 1 and exact.varies_in_time:
        raise ValueError(
            f"exact_boundary=True with windows={settings.windows}: the boundary values of {problem.name} change in "
            "time, which needs windows=1."
        )
    return exact


def build_points(problem: EvolutionProblem, settings: Settings) -> TrainingPoints:
    grid = (problem.interval, problem.box, settings.num_times, settings.num_points)
    if settings.sampling == "uniform-grid":
        return uniform_grid(*grid, include_start=settings.include_start)
    return latin_hypercube(*grid, seed=settings.seed, include_start=settings.include_start)


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


@dataclass(frozen=True)
class Window:
    """One of the equal parts of the interval that are solved one after the other."""

    number: int
    start: float
    end: float
    initial: InitialValues
    include_start: bool

    @classmethod
    def of(cls, problem: EvolutionProblem, settings: Settings, solved: tuple[Network, ...]) -> "Window":
        """The window after those that are solved; it starts from the last one's values at its end."""
        length = problem.interval.duration / settings.windows
        start = problem.interval.start + len(solved) * length
        initial = _end_values(solved[-1]) if solved else problem.initial_values
        return cls(len(solved), start, start + length, initial, settings.include_start)

    def select(self, points: TrainingPoints, horizon: float = 1.0) -> TrainingPoints:
        """The points at the times of the first part of this window."""
        slack = 1e-9 * (self.end - self.start)
        first = self.start - slack if self.include_start else self.start + slack
        last = self.start + horizon * (self.end - self.start) + slack
        inside = (points.times >= first) & (points.times <= last)
        if not inside.any():
            raise ValueError(
                f"horizon={horizon}: no time level lies in this part of the interval; choose a larger one."
            )
        return dataclasses.replace(points, times=points.times[inside])


def _end_values(network: Network) -> InitialValues:
    end = np.array([network.interval.end])
    return lambda points: next(iter(predict(network, end, np.asarray(points)).values()))[0]


def stage_points(points: TrainingPoints, stage: Stage, window: Window) -> TrainingPoints:
    """The columns and time levels of a stage: evenly chosen columns, levels up to the horizon."""
    selected = window.select(points, stage.horizon)
    if stage.columns is None or stage.columns >= len(points.points):
        return selected
    chosen = np.linspace(0, len(points.points), stage.columns, endpoint=False).round().astype(int)
    return TrainingPoints(selected.times, points.points[chosen])


def build_objective(
    problem: EvolutionProblem, settings: Settings, network: Network, points: TrainingPoints, window: Window
) -> Objective:
    causality = FIRST_AUTOMATIC_CAUSALITY if isinstance(settings.causality, str) else settings.causality
    weights = LossWeights(
        settings.residual_weight, settings.initial_weight, settings.boundary_weight, settings.observation_weight
    )
    return Objective(
        problem,
        network,
        points,
        weights=weights,
        causality=causality,
        start=window.start,
        end=float(points.times[-1]),
        initial=window.initial,
    )
