"""The linearised equation as a constraint: how unknowns and network move together, and the best fit among solutions.

The equation is taken as exact. A small change of an unknown changes the solution by what keeps all enforced rows
(residual, initial and boundary values) at zero to first order. Training only weighs the equation against the data, and
ends before the unknowns have settled; a few Gauss-Newton steps with the equation as a constraint bring them there.
"""

from dataclasses import dataclass

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Int

from ..networks import WithUnknowns
from ..optimizers.base import flatten_parameters
from ..problems.base import EvolutionProblem
from .build import observations_by_term
from .objective import Objective

_SMALLEST_SINGULAR = 1e-4  # of the largest: below it a direction of the network's parameters is too far from linear
_REFINEMENTS = 3
_WORSE_FIT = 1.5  # of the root mean square mismatch: beyond it the linearised equation is not to be believed


@dataclass(frozen=True)
class _Observed:
    """The rows of one set of observations: mismatches, and sensitivities to the coefficients of the unknowns.

    `corrected` is the mismatch where the network is changed so that the enforced rows vanish.
    """

    mismatch: Float[np.ndarray, " n"]
    corrected: Float[np.ndarray, " n"]
    sensitivity: Float[np.ndarray, "n coefficients"]
    noise: float | None
    weight: float


@dataclass(frozen=True)
class ConstrainedProblem:
    """The linearised equation solved for the parameters of the network.

    These change by `correction` to make the enforced rows vanish, and by `response` with the coefficients. `scales`
    are the penalties on the coefficients of unknown fields.
    """

    of_unknown: Int[np.ndarray, " coefficients"]
    correction: Float[np.ndarray, " parameters"]
    response: Float[np.ndarray, "parameters coefficients"]
    observed: list[_Observed]
    scales: Float[np.ndarray, " coefficients"]

    @classmethod
    def of(cls, problem: EvolutionProblem, objective: Objective, network: WithUnknowns) -> "ConstrainedProblem":
        of_unknown = _coefficient_columns(network)
        weights = objective.row_weights(network)
        residuals, jacobian = (np.asarray(a, np.float64) for a in eqx.filter_jit(objective.linearize)(network, weights))
        counts = [term.num_rows for term in objective.terms]
        blocks = np.split(np.arange(len(residuals)), np.cumsum(counts)[:-1])
        enforced = np.concatenate([block for term, block in zip(objective.terms, blocks, strict=True) if term.enforced])
        right = np.column_stack([residuals[enforced], jacobian[enforced][:, of_unknown]])
        solved = np.linalg.lstsq(np.delete(jacobian[enforced], of_unknown, axis=1), -right, rcond=_SMALLEST_SINGULAR)[0]
        correction, response = solved[:, 0], solved[:, 1:]
        observed, measured = [], observations_by_term(problem)
        for term, block, weight in zip(objective.terms, blocks, objective.weights, strict=True):
            if term.name not in measured:
                continue
            scale = np.sqrt(len(block) / float(weight))
            rows, mismatch = scale * jacobian[block], scale * residuals[block]
            others = np.delete(rows, of_unknown, axis=1)
            sensitivity = rows[:, of_unknown] + others @ response
            noise = measured[term.name].noise
            observed.append(_Observed(mismatch, mismatch + others @ correction, sensitivity, noise, float(weight)))
        scales = [problem.unknowns[name].scales(problem.box) for name in sorted(problem.unknowns)]
        return cls(of_unknown, correction, response, observed, np.concatenate(scales))

    @property
    def is_overdetermined(self) -> bool:
        """Whether there are more observations than coefficients, so that the noise can be told."""
        return bool(self.observed) and self.freedom >= 1

    @property
    def freedom(self) -> int:
        return sum(one.mismatch.size for one in self.observed) - len(self.of_unknown)

    @property
    def estimated_noise(self) -> float:
        return float(np.sqrt(sum(np.sum(one.mismatch**2) for one in self.observed) / self.freedom))

    @property
    def prior_precision(self) -> Float[np.ndarray, " coefficients"]:
        """The penalties of unknown fields in units of the noise."""
        first = self.observed[0]
        return first.mismatch.size / (first.weight * self.estimated_noise**2) * self.scales**2

    def information(self) -> Float[np.ndarray, "coefficients coefficients"]:
        """The inverse of the covariance of the coefficients."""
        scaled = np.concatenate([one.sensitivity / (one.noise or self.estimated_noise) for one in self.observed])
        return np.diag(self.prior_precision) + scaled.T @ scaled

    def gauss_newton_step(self, coefficients: Float[np.ndarray, " coefficients"]) -> Float[np.ndarray, " coefficients"]:
        """How the coefficients change to the best fit to data and penalties."""
        noise = self.estimated_noise
        pulls = [one.sensitivity.T @ one.corrected / (one.noise or noise) ** 2 for one in self.observed]
        pull = -np.sum(pulls, axis=0) - self.prior_precision * coefficients
        return np.linalg.lstsq(self.information(), pull, rcond=None)[0]

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
        linear = ConstrainedProblem.of(problem, objective, network)
        if not linear.is_overdetermined:
            return network
        flat, rebuild = flatten_parameters(network)
        change = linear.gauss_newton_step(np.asarray(flat, np.float64)[linear.of_unknown])
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
    parts = eqx.filter_jit(objective.loss)(network).parts
    return float(sum(objective.weight(term.name) * parts[term.name] for term in objective.terms if term.enforced))


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
