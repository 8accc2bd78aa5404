"""Gauss-Newton by conjugate gradients: Levenberg-Marquardt where the Jacobian does not fit in memory.

Each step solves (J'J + mu L I) p = -J'r as `levenberg_marquardt` does, with the same damping, but only ever
multiplies by J (forward mode) and J' (reverse mode). CG is stopped at a relative residual, which truncates the
step to the directions that matter; started at zero, every iterate is a descent direction.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .base import LeastSquares, SecondOrder, StepInfo, check_fraction, check_positive, flatten_parameters
from .damping import Damping, gain_ratio


class GaussNewtonState(eqx.Module):
    damping: Float[Array, ""]
    move: Float[Array, " parameters"] | None


class GaussNewtonCG(SecondOrder):
    """Damped Gauss-Newton steps without a Jacobian.

    `tolerance` is |A p - b| / |b| at which CG stops. With `warm_start` CG begins at the last solution, scaled to
    the best multiple of itself: fewer iterations while the damping settles, at the price of one vector of state.
    Products have the precision of the network, CG's recurrences are in float64, which must be enabled.
    """

    initial_damping: float = eqx.field(static=True, default=1.0)
    min_damping: float = eqx.field(static=True, default=1e-8)
    max_damping: float = eqx.field(static=True, default=1e8)
    max_trials: int = eqx.field(static=True, default=12)
    tolerance: float = eqx.field(static=True, default=1e-3)
    max_iterations: int = eqx.field(static=True, default=200)
    warm_start: bool = eqx.field(static=True, default=False)

    def __check_init__(self):
        _ = self._damping
        check_fraction(self, "tolerance")
        check_positive(self, "max_iterations")

    @property
    def _damping(self) -> Damping:
        return Damping(self.initial_damping, self.min_damping, self.max_damping, self.max_trials)

    def memory(self, num_rows: int, num_parameters: int, itemsize: int) -> int:
        """Vectors only: the gradient, the move and those of CG in float64, the residuals and their change."""
        return 7 * 8 * num_parameters + 2 * itemsize * num_rows

    def init(self, model: PyTree) -> GaussNewtonState:
        flat, _ = flatten_parameters(model)
        move = jnp.zeros(flat.size, jnp.float64) if self.warm_start else None
        return GaussNewtonState(jnp.asarray(self.initial_damping, jnp.float64), move)

    def step(self, objective: LeastSquares, model: PyTree, state: GaussNewtonState):
        flat, rebuild = flatten_parameters(model)
        weights = objective.row_weights(model)
        residuals, push = jax.linearize(lambda vector: objective.residuals(rebuild(vector), weights), flat)
        pull = jax.linear_transpose(push, flat)
        loss = jnp.sum(residuals.astype(jnp.float64) ** 2)
        gradient = pull(residuals)[0].astype(jnp.float64)

        def trial(damping: Array, previous: tuple[Array, Array]):
            def damped_product(vector: Array) -> Array:
                product = pull(push(vector.astype(flat.dtype)))[0].astype(jnp.float64)
                return product + damping * loss * vector

            start, iterations = previous
            move, used = conjugate_gradients(
                damped_product, -gradient, start if self.warm_start else None, self.tolerance, self.max_iterations
            )
            image = push(move.astype(flat.dtype)).astype(jnp.float64)
            predicted = -2 * jnp.vdot(gradient, move) - jnp.sum(image**2)
            gain = gain_ratio(
                loss, objective.weighted_loss(rebuild(flat + move.astype(flat.dtype)), weights), predicted
            )
            return (move, iterations + used), gain

        nowhere = jnp.zeros(flat.size, jnp.float64)
        start = (nowhere if state.move is None else state.move, jnp.asarray(0))
        damping, (move, iterations), gain, trials = self._damping.search(trial, state.damping, start)
        moved = gain > 0.0
        model = rebuild(jnp.where(moved, flat + move.astype(flat.dtype), flat))
        kept = jnp.where(jnp.all(jnp.isfinite(move)), move, nowhere) if self.warm_start else None
        extras = {"damping": damping, "gain": gain, "trials": trials, "cg_iterations": iterations}
        return model, GaussNewtonState(damping, kept), StepInfo(loss, moved, extras)


def conjugate_gradients(
    product: Callable[[Array], Array],
    target: Float[Array, " n"],
    start: Float[Array, " n"] | None,
    tolerance: float,
    max_iterations: int,
) -> tuple[Float[Array, " n"], Array]:
    """Solve product(p) = target for a symmetric positive definite product; the solution and the iterations."""
    if start is None:
        solution, residual = jnp.zeros_like(target), target
    else:
        image = product(start)
        energy = jnp.vdot(start, image)
        scale = jnp.where(energy > 0, jnp.vdot(target, start) / energy, 0.0)
        solution, residual = scale * start, target - scale * image
    goal = (tolerance**2) * jnp.vdot(target, target)

    def unfinished(carry):
        _, _, _, square, iterations = carry
        return (square > goal) & (iterations < max_iterations)

    def iterate(carry):
        solution, residual, direction, square, iterations = carry
        image = product(direction)
        energy = jnp.vdot(direction, image)
        length = jnp.where(energy > 0, square / energy, 0.0)
        residual = residual - length * image
        # No progress is possible along a direction without energy, which rounding can produce: stop there.
        new_square = jnp.where(energy > 0, jnp.vdot(residual, residual), 0.0)
        return (
            solution + length * direction,
            residual,
            residual + (new_square / square) * direction,
            new_square,
            iterations + 1,
        )

    square = jnp.vdot(residual, residual)
    solution, _, _, _, iterations = jax.lax.while_loop(
        unfinished, iterate, (solution, residual, residual, square, jnp.asarray(0))
    )
    return solution, iterations
