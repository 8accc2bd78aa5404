"""Quasi-Newton methods: limited-memory BFGS, and a dense self-scaled Broyden family for small networks.

Both see the loss with the row weights of their step's start frozen, in float64 whatever the precision of the
network; float64 must be enabled.
"""

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Bool, Float, Int, PyTree

from .base import LeastSquares, SecondOrder, StepInfo, check_positive, flatten_parameters
from .line_search import search_strong_wolfe

Variant = Literal["ss-broyden", "ss-bfgs", "bfgs"]

_LEAST_CURVATURE = 1e-2  # an update needs y's over this share of -g's; the strong Wolfe conditions give 0.1


class LBFGS(SecondOrder):
    """Optax's L-BFGS with its zoom line search.

    A step that does not lower the loss is not taken and forgets the memory.
    """

    memory_size: int = eqx.field(static=True, default=20)
    max_evaluations: int = eqx.field(static=True, default=20)

    def __check_init__(self):
        check_positive(self, "memory_size", "max_evaluations")

    @property
    def _transformation(self) -> optax.GradientTransformationExtraArgs:
        search = optax.scale_by_zoom_linesearch(self.max_evaluations, initial_guess_strategy="one")
        return optax.lbfgs(memory_size=self.memory_size, linesearch=search)

    def init(self, model: PyTree) -> PyTree:
        flat, _ = flatten_parameters(model)
        return self._fresh(flat.astype(jnp.float64))

    def _fresh(self, position: Float[Array, " parameters"]) -> PyTree:
        # Some of Optax's leaves begin weakly typed and do not stay so, which would compile the step twice.
        return jax.tree.map(lambda leaf: leaf.astype(leaf.dtype), self._transformation.init(position))

    def step(self, objective: LeastSquares, model: PyTree, state: PyTree):
        flat, rebuild = flatten_parameters(model)
        loss_function = _frozen_loss(objective, model, rebuild)
        position = flat.astype(jnp.float64)
        loss, gradient = jax.value_and_grad(loss_function)(position)
        # Optax takes y as the change of the gradients it is given, but those of two steps may differ in their row
        # weights too. The gradient that ended the last search has the weights of its step.
        memory, scaling, search = state
        memory = memory._replace(updates=gradient - (search.grad - memory.updates))
        updates: Any
        proposed: Any
        with jax.numpy_dtype_promotion("standard"):  # Optax relies on implicit promotion
            updates, proposed = self._transformation.update(
                gradient, (memory, scaling, search), position, value=loss, grad=gradient, value_fn=loss_function
            )
        search = proposed[-1]
        moved = search.value < loss
        state = jax.tree.map(lambda new, reset: jnp.where(moved, new, reset), proposed, self._fresh(position))
        extras = {
            "step_length": search.learning_rate,
            "evaluations": search.info.num_linesearch_steps + 1,
            "gradient_norm": jnp.linalg.norm(gradient),
        }
        return rebuild(jnp.where(moved, position + updates, position)), state, StepInfo(loss, moved, extras)


class BroydenState(eqx.Module):
    """The inverse Hessian; `fresh` while it is the identity of a start, whose scale is not yet known."""

    inverse_hessian: Float[Array, "parameters parameters"]
    fresh: Bool[Array, ""]


class SelfScaledBroyden(SecondOrder):
    """The self-scaled Broyden family with a dense inverse Hessian H and a strong-Wolfe line search.

    With s the move, y the change of the gradient, B = H^-1 and v = s / y's - Hy / y'Hy,

        H <- 1/tau [ H - Hy y'H / y'Hy + phi (y'Hy) v v' ] + s s' / y's.

    bfgs: tau = 1, phi = 1. ss-bfgs: tau = min(1, 1/b), phi = 1. ss-broyden (Al-Baali; Urban, Stefanou & Pons
    2025, Kiyani et al. 2025), for n parameters:

        b = s'Bs / y's    h = y'Hy / y's    a = h b - 1    c = sqrt(a / (1 + a))    rho = min(1, h (1 - c))
        theta = max((rho - 1) / a, min(1 / rho, (1 - b) / b))    sigma = 1 + a theta
        tau = min(1, 1/b) min(sigma^(-1/(n-1)), 1 / theta)       where theta > 0
              min(min(1, 1/b) sigma^(-1/(n-1)), sigma)           elsewhere
        phi = (1 - theta) / sigma

    The first update of a start is bfgs on the identity times y's / y'y. One without safely positive y's is left
    out, and a search that finds no lower value starts afresh from the identity. A step makes `iterations` updates
    at the same row weights; more than one saves the evaluation that begins a step.
    """

    variant: Variant = eqx.field(static=True, default="ss-broyden")
    iterations: int = eqx.field(static=True, default=1)
    max_evaluations: int = eqx.field(static=True, default=20)
    max_parameters: int = eqx.field(static=True, default=15_000)

    def __check_init__(self):
        check_positive(self, "iterations", "max_evaluations", "max_parameters")
        if self.variant not in ("ss-broyden", "ss-bfgs", "bfgs"):
            raise ValueError(f"variant={self.variant!r}: use 'ss-broyden', 'ss-bfgs' or 'bfgs'.")

    def memory(self, num_rows: int, num_parameters: int, itemsize: int) -> int:
        """Three dense matrices in float64: the inverse Hessian before, during and after its update."""
        return 3 * 8 * num_parameters**2

    def init(self, model: PyTree) -> BroydenState:
        flat, _ = flatten_parameters(model)
        if flat.size > self.max_parameters:
            raise ValueError(
                f"{flat.size} parameters need {8 * flat.size**2 / 1e9:.1f} GB for a dense inverse Hessian, over "
                f"max_parameters={self.max_parameters}; raise it, use a smaller network, or LBFGS."
            )
        return BroydenState(jnp.eye(flat.size, dtype=jnp.float64), jnp.asarray(True))

    def step(self, objective: LeastSquares, model: PyTree, state: BroydenState):
        flat, rebuild = flatten_parameters(model)
        value_and_gradient = jax.value_and_grad(_frozen_loss(objective, model, rebuild))
        start = flat.astype(jnp.float64)
        loss, gradient = value_and_gradient(start)

        def unfinished(carry: _Progress) -> Array:
            return (carry.done < self.iterations) & ~carry.stuck

        progress = _Progress(
            start, loss, gradient, state, jnp.zeros_like(loss), jnp.asarray(1), jnp.asarray(0), jnp.asarray(False)
        )
        progress = jax.lax.while_loop(unfinished, lambda carry: self._iterate(value_and_gradient, carry), progress)
        extras = {
            "step_length": progress.length,
            "evaluations": progress.evaluations,
            "gradient_norm": jnp.linalg.norm(gradient),
            "restarted": progress.state.fresh.astype(jnp.float64),
        }
        moved = progress.value < loss
        return rebuild(progress.position), progress.state, StepInfo(loss, moved, extras)

    def _iterate(self, value_and_gradient: Callable, carry: "_Progress") -> "_Progress":
        position, value, gradient, state = carry.position, carry.value, carry.gradient, carry.state
        newton = -(state.inverse_hessian @ gradient)
        fresh = state.fresh | ~(jnp.vdot(newton, gradient) < 0)
        direction = jnp.where(fresh, -gradient, newton)
        first_length = jnp.where(fresh, jnp.minimum(1.0, 1.0 / jnp.linalg.norm(gradient)), 1.0)
        found = search_strong_wolfe(
            lambda length: value_and_gradient(position + length * direction),
            direction,
            value,
            gradient,
            first_length,
            max_evaluations=self.max_evaluations,
        )
        length = found.best.length
        move, change = length * direction, found.gradient - gradient
        fall = -jnp.vdot(move, gradient)
        curvature = length * fall  # s'Bs, since Bs = -length * gradient
        safe = jnp.vdot(change, move) > _LEAST_CURVATURE * fall
        lower = length > 0

        inverse_hessian = jax.lax.cond(
            safe,
            lambda: _updated(self.variant, state.inverse_hessian, move, change, curvature, fresh),
            lambda: jnp.where(fresh | ~lower, jnp.eye(position.size), state.inverse_hessian),
        )
        return _Progress(
            jnp.where(lower, position + move, position),
            found.best.value,
            found.gradient,
            BroydenState(inverse_hessian, (fresh & ~safe) | ~lower),
            length,
            carry.evaluations + found.evaluations,
            carry.done + 1,
            fresh & ~lower,
        )


class _Progress(NamedTuple):
    position: Float[Array, " parameters"]
    value: Float[Array, ""]
    gradient: Float[Array, " parameters"]
    state: BroydenState
    length: Float[Array, ""]
    evaluations: Int[Array, ""]
    done: Int[Array, ""]
    stuck: Bool[Array, ""]


def _frozen_loss(objective: LeastSquares, model: PyTree, rebuild: Callable[[Array], PyTree]) -> Callable:
    """The loss in float64 as a function of the flat parameters, its row weights frozen at `model`."""
    weights = objective.row_weights(model)
    return lambda vector: objective.weighted_loss(rebuild(vector), weights).astype(jnp.float64)


def _updated(variant: Variant, inverse_hessian: Array, s: Array, y: Array, curvature: Array, fresh: Array) -> Array:
    """The update of the family; from a scaled identity when `fresh`."""
    ys = jnp.vdot(y, s)
    scale = jnp.where(fresh, ys / jnp.vdot(y, y), 1.0)
    hy = jnp.where(fresh, scale * y, inverse_hessian @ y)
    yhy = jnp.vdot(y, hy)
    tau, phi = _coefficients(variant, curvature / ys, yhy / ys, s.size)
    tau, phi = jnp.where(fresh, 1.0, tau), jnp.where(fresh, 1.0, phi)
    v = s / ys - hy / yhy
    start = jnp.where(fresh, scale * jnp.eye(s.size), inverse_hessian)
    kept = start - jnp.outer(hy, hy) / yhy + jnp.outer(v, v) * (phi * yhy)
    return kept / tau + jnp.outer(s, s) / ys


def _coefficients(variant: Variant, b: Array, h: Array, n: int) -> tuple[Array, Array]:
    """tau and phi of `SelfScaledBroyden`."""
    one = jnp.ones_like(b)
    if variant == "bfgs":
        return one, one
    scaling = jnp.minimum(1.0, 1.0 / b)
    if variant == "ss-bfgs":
        return scaling, one
    a = jnp.maximum(h * b - 1, 1e-12)  # not negative by Cauchy-Schwarz; zero would leave theta undefined
    rho = jnp.minimum(1.0, h * (1 - jnp.sqrt(a / (1 + a))))
    theta = jnp.maximum((rho - 1) / a, jnp.minimum(1 / rho, (1 - b) / b))
    sigma = 1 + a * theta
    determinant = sigma ** (-1.0 / max(n - 1, 1))
    positive = scaling * jnp.minimum(determinant, 1 / jnp.where(theta > 0, theta, 1.0))
    tau = jnp.where(theta > 0, positive, jnp.minimum(scaling * determinant, sigma))
    return tau, (1 - theta) / sigma
