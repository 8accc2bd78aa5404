"""What changes the objective while training goes on: causal schedule, balanced weights, new columns."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..config.settings import Settings
from ..networks import Network
from ..objective.objective import Objective
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .build import Window, build_objective

_LATE_WEIGHT_NEAR_ONE = 0.95
_MAX_CAUSALITY = 1e4
_BALANCE_MEMORY = 0.9
_CANDIDATES_PER_COLUMN = 8


def raised_causality(causality: Float[Array, ""], weights: Float[Array, " levels"]) -> Float[Array, ""]:
    """The automatic schedule: ten times stricter whenever even the last time has nearly its full weight."""
    if float(weights.min()) < _LATE_WEIGHT_NEAR_ONE:
        return causality
    return jnp.minimum(causality * 10, _MAX_CAUSALITY).astype(causality.dtype)


def balanced_weights(objective: Objective, network: Network) -> Float[Array, " terms"]:
    """Weights moved a tenth of the way to those that give every term the same gradient norm.

    Their sum of norms over the norm of a term, as Wang, Wang and Perdikaris (2023) choose them; a term whose gradient
    vanishes keeps its weight.
    """
    norms = _gradient_norms(objective, network)
    balanced = jnp.where(norms > 0, norms.sum() / jnp.where(norms > 0, norms, 1.0), objective.weights)
    return _BALANCE_MEMORY * objective.weights + (1 - _BALANCE_MEMORY) * balanced


@eqx.filter_jit
def _gradient_norms(objective: Objective, network: Network) -> Float[Array, " terms"]:
    return objective.gradient_norms(network)


def resampled_points(
    problem: EvolutionProblem, settings: Settings, network: Network, points: TrainingPoints, window: Window, step: int
) -> Float[np.ndarray, "points dim"]:
    """As many columns as before, drawn from a larger random set with a probability that grows with the residual.

    A column is drawn with probability proportional to 1 + r / mean(r), r its root mean square residual over the
    window (Wu et al. 2023, their k = c = 1). Equal settings, networks and steps draw equal columns.
    """
    rng = np.random.default_rng((settings.seed, window.number, step))
    lower, length = (np.array([getattr(axis, name) for axis in problem.box.axes]) for name in ("lower", "length"))
    count = _CANDIDATES_PER_COLUMN * settings.num_points
    candidates = lower + length * rng.random((count, problem.box.dimension))
    trial = build_objective(problem, settings, network, TrainingPoints(points.times, candidates), window)
    size = np.asarray(_column_residuals(trial, network), np.float64)
    probability = 1 + size / max(size.mean(), np.finfo(np.float64).tiny)
    chosen = rng.choice(count, settings.num_points, replace=False, p=probability / probability.sum())
    return np.asarray(trial.residual_term.points, np.float64)[np.sort(chosen)]


@eqx.filter_jit
def _column_residuals(objective: Objective, network: Network) -> Float[Array, " columns"]:
    """The root mean square residual of every column."""
    residual = objective.residual_term
    rows = residual.rows(network, jnp.ones_like(residual.times))
    return jnp.linalg.norm(rows.reshape(residual.num_points, -1), axis=1)
