"""Levenberg-Marquardt: Gauss-Newton with adaptive damping, for networks of a few thousand parameters.

Each step solves (J'J + mu L I) p = -J'r for the residuals r, their Jacobian J and the loss L = r'r. The damping
factor mu falls when the linear model predicted the gain well and rises when it did not (Nielsen's gain ratio).
A second solve with the same factor adds geodesic acceleration (Transtrum and Sethna 2012), a correction for the
curvature of the residuals that shortens the way through narrow curved valleys.
"""

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .base import LeastSquares, Optimizer, SecondOrder, StepInfo, flatten_parameters
from .damping import Damping, gain_ratio
from .newton_cg import GaussNewtonCG

_GRAM_BLOCKS = 4  # computes 10 of the 16 blocks of a symmetric product; XLA has no symmetric rank-k update
_PROBE = 0.5  # of a step, where the curvature is measured: long enough to stand out from single-precision rounding


class DampingState(eqx.Module):
    damping: Float[Array, ""]


class LevenbergMarquardt(SecondOrder):
    """Damped Gauss-Newton steps on the full residual vector.

    The normal equations are formed in the primal (parameters) or the dual form (rows), whichever is smaller:
    (J'J + m I)^-1 J' = J' (JJ' + m I)^-1. The Jacobian has the precision of the network, the solve is in
    float64, which must be enabled. Geodesic acceleration adds a / 2 to the step p, where a is the damped solution for
    the curvature of the residuals along p, unless 2 |a| / |p| exceeds `max_acceleration`; 0 switches it off.

    In single precision rounding of J'J hides its small eigenvalues, so that the damping cannot fall below them and the
    loss creeps. `double_products` forms it in float64: slower steps that reach lower losses.
    """

    initial_damping: float = eqx.field(static=True, default=1.0)
    min_damping: float = eqx.field(static=True, default=1e-8)
    max_damping: float = eqx.field(static=True, default=1e8)
    max_trials: int = eqx.field(static=True, default=12)
    max_acceleration: float = eqx.field(static=True, default=0.75)
    double_products: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        _ = self._damping
        if not self.max_acceleration >= 0:
            raise ValueError(
                f"LevenbergMarquardt(max_acceleration={self.max_acceleration}): max_acceleration must not be negative."
            )

    @property
    def _damping(self) -> Damping:
        return Damping(self.initial_damping, self.min_damping, self.max_damping, self.max_trials)

    def within(self, limit_bytes: float, num_rows: int, num_parameters: int, itemsize: int) -> Optimizer:
        fits = self.memory(num_rows, num_parameters, itemsize) <= limit_bytes
        return self if fits else self.matrix_free

    @property
    def matrix_free(self) -> GaussNewtonCG:
        """The same method without matrices and without acceleration, for when the matrices would not fit the memory."""
        return GaussNewtonCG(self.initial_damping, self.min_damping, self.max_damping, self.max_trials)

    def memory(self, num_rows: int, num_parameters: int, itemsize: int) -> int:
        """Bytes of the Jacobian and its transpose, and of the normal equations with their factor in float64."""
        smaller = min(num_rows, num_parameters)
        copies = 2 * itemsize + 8 * self.double_products
        return copies * num_rows * num_parameters + (itemsize + 3 * 8) * smaller**2

    def init(self, model: PyTree) -> DampingState:
        return DampingState(jnp.asarray(self.initial_damping, jnp.float64))

    def step(self, objective: LeastSquares, model: PyTree, state: DampingState):
        flat, rebuild = flatten_parameters(model)
        weights = objective.row_weights(model)
        residuals, jacobian = objective.linearize(model, weights)
        loss = jnp.sum(residuals.astype(jnp.float64) ** 2)
        gradient = residuals @ jacobian
        dual = jacobian.shape[0] < jacobian.shape[1]
        precise = jacobian.astype(jnp.float64) if self.double_products else jacobian
        gram = _gram(precise.T if dual else precise).astype(jnp.float64)

        def trial(damping: Array, _):
            factor = jax.scipy.linalg.cho_factor(gram + damping * loss * jnp.eye(gram.shape[0]))

            def damped_solution(right: Float[Array, " rows"]) -> Float[Array, " parameters"]:
                """-(J'J + m I)^-1 J' right."""
                if dual:
                    multipliers = jax.scipy.linalg.cho_solve(factor, right.astype(jnp.float64))
                    return -(multipliers.astype(precise.dtype) @ precise).astype(flat.dtype)
                product = (right.astype(precise.dtype) @ precise).astype(jnp.float64)
                return -jax.scipy.linalg.cho_solve(factor, product).astype(flat.dtype)

            move = damped_solution(residuals)
            change = jacobian @ move
            predicted = -2 * jnp.vdot(gradient, move) - jnp.sum(change**2)
            if self.max_acceleration:
                part_way = objective.residuals(rebuild(flat + _PROBE * move), weights)
                curvature = (part_way - residuals - _PROBE * change) * (2 / _PROBE**2)
                acceleration = damped_solution(curvature)
                moderate = 2 * jnp.linalg.norm(acceleration) <= self.max_acceleration * jnp.linalg.norm(move)
                move = jnp.where(moderate, move + acceleration / 2, move)
            candidate = flat + move
            return candidate, gain_ratio(loss, objective.weighted_loss(rebuild(candidate), weights), predicted)

        damping, candidate, gain, trials = self._damping.search(trial, state.damping, flat)
        moved = gain > 0.0
        extras = {"damping": damping, "gain": gain, "trials": trials}
        return rebuild(jnp.where(moved, candidate, flat)), DampingState(damping), StepInfo(loss, moved, extras)


def _gram(matrix: Float[Array, "rows columns"]) -> Float[Array, "columns columns"]:
    """matrix' matrix, each symmetric pair of blocks computed once."""
    size = -(-matrix.shape[1] // _GRAM_BLOCKS)
    parts = [matrix[:, start : start + size] for start in range(0, matrix.shape[1], size)]
    blocks = {(i, j): parts[i].T @ parts[j] for i in range(len(parts)) for j in range(i, len(parts))}
    rows = [[blocks[i, j] if i <= j else blocks[j, i].T for j in range(len(parts))] for i in range(len(parts))]
    return jnp.block(rows)
