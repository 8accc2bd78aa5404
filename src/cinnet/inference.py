"""How well the data determine the unknowns: standard errors from the linearised equation.

The equation is taken as exact. A small change of an unknown changes the solution by what keeps all enforced rows
(residual, initial and boundary values) at zero to first order; how much that moves the observations, compared with
their noise, is the information that they hold on the unknown.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int
from scipy.stats import t as student_t

from .losses import Objective
from .networks import Network, WithUnknowns
from .problems.base import EvolutionProblem
from .unknowns import Unknown

_SMALLEST_SINGULAR = 1e-6  # of the largest: below it a direction of the network's parameters is rounding


@dataclass(frozen=True)
class Estimate:
    """The value of an unknown number, with its standard error and 95 % interval where there are data for them."""

    value: float
    standard_error: float | None = None
    lower: float | None = None
    upper: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if self.standard_error is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} +- {self.standard_error:.2g}, 95 % interval {self.lower:.4g} to {self.upper:.4g}"


def known_problem(problem: EvolutionProblem, network: Network) -> EvolutionProblem:
    """The problem with what a network learned in the place of its unknowns."""
    return problem.with_unknowns(network.coefficients) if isinstance(network, WithUnknowns) else problem


@dataclass(frozen=True)
class _Observed:
    """The rows of one set of observations: mismatches, and sensitivities to the coefficients of the unknowns."""

    mismatch: Float[np.ndarray, " n"]
    sensitivity: Float[np.ndarray, "n coefficients"]
    noise: float | None


def estimates(problem: EvolutionProblem, objective: Objective, network: WithUnknowns) -> Mapping[str, Estimate]:
    """The unknown numbers of a problem after training; unknown fields count, but are not reported."""
    unknowns, box = problem.unknowns, problem.box
    scalars = {name: one for name, one in unknowns.items() if isinstance(one, Unknown)}
    values = {name: float(one.realise(network.coefficients[name], box)) for name, one in scalars.items()}
    covariance, freedom = _covariance(problem, objective, network)
    if covariance is None:
        return {name: Estimate(value) for name, value in values.items()}
    results, start = {}, 0
    quantile = float(student_t.ppf(0.975, freedom))
    for name in sorted(unknowns):
        one = unknowns[name]
        if isinstance(one, Unknown):
            raw = network.coefficients[name].astype(jnp.float64)
            deviation = float(np.sqrt(covariance[start, start]))
            slope = float(jax.grad(lambda c, one=one: one.realise(c, box))(raw)[0])
            ends = sorted(float(one.realise(raw + side * quantile * deviation, box)) for side in (-1, 1))
            results[name] = Estimate(values[name], abs(slope) * deviation, ends[0], ends[1])
        start += one.num_coefficients(box)
    return results


def _covariance(
    problem: EvolutionProblem, objective: Objective, network: WithUnknowns
) -> tuple[Float[np.ndarray, "coefficients coefficients"] | None, int]:
    """The covariance of the coefficients of all unknowns, by name, and the degrees of freedom; None without data."""
    of_unknown = _coefficient_columns(network)
    weights = objective.row_weights(network)
    residuals, jacobian = (np.asarray(a, np.float64) for a in eqx.filter_jit(objective.linearize)(network, weights))
    counts = [term.num_points * term.times.size * term.num_equations for term in objective.terms]
    blocks = np.split(np.arange(len(residuals)), np.cumsum(counts)[:-1])
    enforced = jacobian[np.concatenate(blocks[: objective.num_causal])]
    others = np.delete(enforced, of_unknown, axis=1)
    response = np.linalg.lstsq(others, -enforced[:, of_unknown], rcond=_SMALLEST_SINGULAR)[0]
    observed = []
    for number, one in enumerate(problem.observations):
        block = blocks[objective.num_causal + number]
        scale = np.sqrt(len(block) / float(objective.weights[objective.num_causal + number]))
        rows = scale * jacobian[block]
        sensitivity = rows[:, of_unknown] + np.delete(rows, of_unknown, axis=1) @ response
        observed.append(_Observed(scale * residuals[block], sensitivity, one.noise))
    if not observed:
        return None, 0
    freedom = sum(one.mismatch.size for one in observed) - len(of_unknown)
    if freedom < 1:
        return None, 0
    estimated = np.sqrt(sum(np.sum(one.mismatch**2) for one in observed) / freedom)
    information = sum(one.sensitivity.T @ one.sensitivity / (one.noise or estimated) ** 2 for one in observed)
    information = information + np.diag(_prior_precision(problem, estimated, observed, objective))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.linalg.pinv(information, hermitian=True), freedom


def _prior_precision(
    problem: EvolutionProblem, noise: float, observed: list[_Observed], objective: Objective
) -> Float[np.ndarray, " coefficients"]:
    """The penalties of unknown fields in units of the noise."""
    unit = observed[0].mismatch.size / (float(objective.weights[objective.num_causal]) * noise**2)
    scales = [problem.unknowns[name].scales(problem.box) for name in sorted(problem.unknowns)]
    return unit * np.concatenate(scales) ** 2


def _coefficient_columns(network: WithUnknowns) -> Int[np.ndarray, " coefficients"]:
    """Where the coefficients of the unknowns, by name, are in the flattened parameters."""
    parameters = eqx.filter(network, eqx.is_inexact_array)
    marked = eqx.tree_at(
        lambda n: n.coefficients,
        jax.tree.map(lambda leaf: np.zeros(leaf.shape), parameters),
        {
            name: np.full(network.coefficients[name].shape, 1.0 + number)
            for number, name in enumerate(sorted(network.coefficients))
        },
    )
    marks = np.asarray(ravel_pytree(marked)[0])
    return np.concatenate([np.flatnonzero(marks == 1.0 + number) for number in range(len(network.coefficients))])
