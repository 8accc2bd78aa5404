"""What the data say about the unknowns: their values, and standard errors, from the linearised equation.

The equation is taken as exact. A small change of an unknown changes the solution by what keeps all enforced rows
(residual, initial and boundary values) at zero to first order; how much that moves the observations, compared with
their noise, is the information that they hold on the unknown. Training only weighs the equation against the data, and
ends before the unknowns have settled; a few Gauss-Newton steps with the equation as a constraint bring them there.
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

from ..networks import Network, WithUnknowns
from ..objective.objective import Objective, observations_by_term
from ..optimizers.base import flatten_parameters
from ..problems.base import EvolutionProblem
from ..unknowns import Unknown

_SMALLEST_SINGULAR = 1e-4  # of the largest: below it a direction of the network's parameters is too far from linear
_REFINEMENTS = 3
_WORSE_FIT = 1.5  # of the root mean square mismatch: beyond it the linearised equation is not to be believed


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
    """The rows of one set of observations: mismatches, and sensitivities to the coefficients of the unknowns.

    `corrected` is the mismatch where the network is changed so that the enforced rows vanish.
    """

    mismatch: Float[np.ndarray, " n"]
    corrected: Float[np.ndarray, " n"]
    sensitivity: Float[np.ndarray, "n coefficients"]
    noise: float | None


@dataclass(frozen=True)
class _Constrained:
    """The linearised equation solved for the parameters of the network.

    These change by `correction` to make the enforced rows vanish, and by `response` with the coefficients.
    """

    of_unknown: Int[np.ndarray, " coefficients"]
    correction: Float[np.ndarray, " parameters"]
    response: Float[np.ndarray, "parameters coefficients"]
    observed: list[_Observed]

    @classmethod
    def of(cls, problem: EvolutionProblem, objective: Objective, network: WithUnknowns) -> "_Constrained":
        of_unknown = _coefficient_columns(network)
        weights = objective.row_weights(network)
        residuals, jacobian = (np.asarray(a, np.float64) for a in eqx.filter_jit(objective.linearize)(network, weights))
        counts = [term.num_points * term.times.size * term.num_equations for term in objective.terms]
        blocks = np.split(np.arange(len(residuals)), np.cumsum(counts)[:-1])
        enforced = np.concatenate(blocks[: objective.num_causal])
        right = np.column_stack([residuals[enforced], jacobian[enforced][:, of_unknown]])
        solved = np.linalg.lstsq(np.delete(jacobian[enforced], of_unknown, axis=1), -right, rcond=_SMALLEST_SINGULAR)[0]
        correction, response = solved[:, 0], solved[:, 1:]
        observed, measured = [], observations_by_term(problem)
        for number, (term, block) in enumerate(zip(objective.terms, blocks, strict=True)):
            if term.name not in measured:
                continue
            scale = np.sqrt(len(block) / float(objective.weights[number]))
            rows, mismatch = scale * jacobian[block], scale * residuals[block]
            others = np.delete(rows, of_unknown, axis=1)
            sensitivity = rows[:, of_unknown] + others @ response
            noise = measured[term.name].noise
            observed.append(_Observed(mismatch, mismatch + others @ correction, sensitivity, noise))
        return cls(of_unknown, correction, response, observed)

    @property
    def freedom(self) -> int:
        return sum(one.mismatch.size for one in self.observed) - len(self.of_unknown)

    @property
    def estimated_noise(self) -> float:
        return float(np.sqrt(sum(np.sum(one.mismatch**2) for one in self.observed) / self.freedom))

    def information(self, prior: Float[np.ndarray, " coefficients"]) -> Float[np.ndarray, "coefficients coefficients"]:
        """The inverse of the covariance of the coefficients."""
        scaled = np.concatenate([one.sensitivity / (one.noise or self.estimated_noise) for one in self.observed])
        return np.diag(prior) + scaled.T @ scaled

    def pull(self) -> Float[np.ndarray, " coefficients"]:
        """Where the data pull the coefficients, in units of their information."""
        noise = self.estimated_noise
        pulls = [one.sensitivity.T @ one.corrected / (one.noise or noise) ** 2 for one in self.observed]
        return -np.sum(pulls, axis=0)

    def fits_after(self, change: Float[np.ndarray, " coefficients"]) -> bool:
        """Whether the solution with these coefficients would fit the data about as well as the network does."""
        before, after = (
            sum(float(np.sum(rows**2)) for rows in sets)
            for sets in (
                [one.mismatch for one in self.observed],
                [one.corrected + one.sensitivity @ change for one in self.observed],
            )
        )
        return after <= _WORSE_FIT**2 * before


def refined(problem: EvolutionProblem, objective: Objective, network: WithUnknowns) -> WithUnknowns:
    """The network after Gauss-Newton steps to the best fit among solutions of the equation.

    The coefficients follow the linearised equation even where the parameters of the network are too far from linear to
    do so; then a single step is taken, and the network stays.
    """
    for _ in range(_REFINEMENTS):
        linear = _Constrained.of(problem, objective, network)
        if not linear.observed or linear.freedom < 1:
            return network
        flat, rebuild = flatten_parameters(network)
        prior = _prior_precision(problem, linear, objective)
        pull = linear.pull() - prior * np.asarray(flat, np.float64)[linear.of_unknown]
        change = np.linalg.lstsq(linear.information(prior), pull, rcond=None)[0]
        if not linear.fits_after(change):
            return network
        step = np.zeros(flat.size)
        step[linear.of_unknown] = change
        only_coefficients = rebuild(flat + jnp.asarray(step, flat.dtype))
        step[np.setdiff1d(np.arange(flat.size), linear.of_unknown)] = linear.correction + linear.response @ change
        whole = rebuild(flat + jnp.asarray(step, flat.dtype))
        if not _enforced_loss(objective, whole) < _enforced_loss(objective, network):
            return only_coefficients
        network = whole
    return network


def _enforced_loss(objective: Objective, network: WithUnknowns) -> float:
    value = eqx.filter_jit(objective.loss)(network)
    enforced = slice(objective.num_causal)
    weighted = zip(objective.weights[enforced], list(value.parts.values())[enforced], strict=True)
    return float(sum(weight * part for weight, part in weighted))


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
    linear = _Constrained.of(problem, objective, network)
    if not linear.observed or linear.freedom < 1:
        return None, 0
    information = linear.information(_prior_precision(problem, linear, objective))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.linalg.pinv(information, hermitian=True), linear.freedom


def _prior_precision(
    problem: EvolutionProblem, linear: _Constrained, objective: Objective
) -> Float[np.ndarray, " coefficients"]:
    """The penalties of unknown fields in units of the noise."""
    weight = float(objective.weights[objective.num_causal])
    unit = linear.observed[0].mismatch.size / (weight * linear.estimated_noise**2)
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
