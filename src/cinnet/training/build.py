"""From settings to the network and the objective of a run."""

from typing import Any

import jax
import jax.numpy as jnp

from ..config.settings import MEMORY_SETTINGS, Settings
from ..domains import TimeInterval
from ..networks import MLP, CinNet, ExactBoundary, ExactInitial, Network, WithUnknowns
from ..networks.exact_boundary import exact_faces, insulated_axes
from ..objective import LossWeights, Objective
from ..problems.base import EvolutionProblem
from ..problems.symmetry import find_symmetry
from ..sampling import TrainingPoints
from .points import build_points
from .windows import Window, window_interval, window_mesh


def build_network(problem: EvolutionProblem, settings: Settings) -> Network:
    """The network of one window."""
    interval = window_interval(problem.interval, settings.num_times, settings.windows)
    if isinstance(settings.network, str):
        network = _named_network(problem, settings, interval)
    else:
        network = _own_network(problem, settings, interval)
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


def _named_network(problem: EvolutionProblem, settings: Settings, interval: TimeInterval) -> Network:
    columns = build_points(problem, settings).points
    common: dict[str, Any] = {
        "hidden": settings.hidden,
        "outputs": len(problem.outputs),
        "harmonics": settings.harmonics,
        "bounded_harmonics": settings.bounded_harmonics,
        "tensor": settings.tensor,
        "symmetry": find_symmetry(problem, columns) if settings.exploit_symmetry else None,
        "activation": settings.activation,
        "initial_gain": settings.initial_gain,
        "mirrored": _mirrored(problem) if settings.exact_boundary else None,
        "dtype": settings.dtype,
        "key": jax.random.key(settings.seed),
    }
    if settings.network == "mlp":
        return MLP(problem.box, interval, **common)
    memory = {name: getattr(settings, name) for name in MEMORY_SETTINGS}
    memory["num_mesh_intervals"] = window_mesh(settings.num_mesh_intervals or 1, settings.num_times, settings.windows)
    return CinNet(problem.box, interval, **memory, **common)


def _own_network(problem: EvolutionProblem, settings: Settings, interval: TimeInterval) -> Network:
    """A user's network: made already, or by a function of the problem, the interval and a key."""
    network: Any = settings.network
    if not isinstance(network, Network):
        network = network(problem, interval, key=jax.random.key(settings.seed))
    if not isinstance(network, Network):
        raise TypeError(
            f"network={settings.network!r} is neither a cinnet.Network nor a function (problem, interval, *, key) that "
            "returns one; derive your network from cinnet.PointwiseNetwork."
        )
    if network.interval != interval:
        raise ValueError(
            f"the network was built for {network.interval}, but with windows={settings.windows} each has {interval}; "
            "set windows=1, or give a function (problem, interval, *, key) that builds it."
        )
    return network


def _mirrored(problem: EvolutionProblem) -> tuple[bool, ...]:
    return insulated_axes(problem.box, problem.known_faces)


def _with_exact_boundary(problem: EvolutionProblem, settings: Settings, network: Network) -> Network:
    """The network with the values on all faces where all components have given ones."""
    faces = exact_faces(problem.known_faces)
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


def build_objective(
    problem: EvolutionProblem, settings: Settings, network: Network, points: TrainingPoints, window: Window
) -> Objective:
    """The objective of a window, before any strategy has changed it."""
    weights = LossWeights(
        settings.residual_weight, settings.initial_weight, settings.boundary_weight, settings.observation_weight
    )
    return Objective(
        problem,
        network,
        points,
        weights=weights,
        start=window.start,
        end=float(points.times[-1]),
        initial=window.initial,
        extra_terms=settings.extra_terms,
    )


def whole_objective(problem: EvolutionProblem, settings: Settings, network: Network) -> Objective:
    """The plain objective of a run that has one window, on all its points."""
    interval = problem.interval
    window = Window(0, interval.start, interval.end, problem.initial_values, settings.include_start)
    return build_objective(problem, settings, network, window.select(build_points(problem, settings)), window)
