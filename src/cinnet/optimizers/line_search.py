"""A line search for the strong Wolfe conditions, as one compiled loop with one evaluation in it.

A length a along a descent direction with value f(a) and slope f'(a) is accepted when

    f(a) <= f(0) + c1 a f'(0)    and    |f'(a)| <= -c2 f'(0).

The search keeps the best length so far that satisfies the first condition (`low`) and a length beyond which no
search is needed (`high`, infinite at first): Algorithms 3.5 and 3.6 of Nocedal & Wright, Numerical Optimization,
are the same rules for a finite and an infinite `high`.
"""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

_EXPANSION = (2.0, 10.0)  # bounds of the growth of a length before the search is bracketed
_MARGIN = 0.1  # share of a bracket at either end that an interpolated length keeps out of


class Trial(eqx.Module):
    length: Float[Array, ""]
    value: Float[Array, ""]
    slope: Float[Array, ""]


class SearchResult(eqx.Module):
    """The best trial and its gradient; of length 0, the start, when no trial decreased the value enough."""

    best: Trial
    gradient: Float[Array, " n"]
    strong_wolfe: Bool[Array, ""]
    evaluations: Int[Array, ""]


def search_strong_wolfe(
    evaluate: Callable[[Array], tuple[Array, Array]],
    direction: Float[Array, " n"],
    value: Float[Array, ""],
    gradient: Float[Array, " n"],
    first_length: Float[Array, ""],
    *,
    decrease: float = 1e-4,
    curvature: float = 0.9,
    max_evaluations: int = 20,
) -> SearchResult:
    """Search along `direction`; `evaluate` gives the value and the gradient at a length.

    `decrease` is c1 and `curvature` c2. A trial whose value or slope is not finite bounds the search from above.
    """
    start = Trial(jnp.zeros_like(value), value, jnp.vdot(gradient, direction))
    unbounded = Trial(jnp.full_like(value, jnp.inf), value, start.slope)

    def unfinished(carry):
        _, _, _, _, accepted, evaluations = carry
        return ~accepted & (evaluations < max_evaluations)

    def iterate(carry):
        low, high, low_gradient, length, _, evaluations = carry
        trial_value, trial_gradient = evaluate(length)
        trial = Trial(length, trial_value, jnp.vdot(trial_gradient, direction))
        too_high = (trial.value > start.value + decrease * length * start.slope) | (trial.value >= low.value)
        too_high = too_high | ~jnp.isfinite(trial.value) | ~jnp.isfinite(trial.slope)
        accepted = ~too_high & (jnp.abs(trial.slope) <= -curvature * start.slope)

        passed_minimum = trial.slope * (high.length - low.length) >= 0
        next_high = _select(too_high, trial, _select(passed_minimum, low, high))
        next_low = _select(too_high, low, trial)
        next_length = jnp.where(
            jnp.isfinite(next_high.length), _interpolate(next_low, next_high), _extrapolate(low, trial)
        )
        low_gradient = jnp.where(too_high, low_gradient, trial_gradient)
        return next_low, next_high, low_gradient, next_length, accepted, evaluations + 1

    carry = (start, unbounded, gradient, first_length, jnp.asarray(False), jnp.asarray(0))
    best, _, best_gradient, _, accepted, evaluations = jax.lax.while_loop(unfinished, iterate, carry)
    return SearchResult(best, best_gradient, accepted, evaluations)


def _select(condition: Array, yes: Trial, no: Trial) -> Trial:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b), yes, no)


def _interpolate(low: Trial, high: Trial) -> Array:
    """A length between two trials: by cubic, else by quadratic interpolation, else their middle.

    A minimum close to `low` is approached by tenths, since the interpolation is not accurate over such a range.
    """
    width = high.length - low.length
    parabola = low.length - low.slope * width**2 / (2 * (high.value - low.value - low.slope * width))
    result = low.length + 0.5 * width
    for candidate in (parabola, _cubic_minimum(low, high)):
        share = (candidate - low.length) / width
        nearest = low.length + jnp.maximum(share, _MARGIN) * width
        result = jnp.where((share > 0) & (share <= 1 - _MARGIN), nearest, result)
    return result


def _extrapolate(low: Trial, trial: Trial) -> Array:
    """A length beyond a trial where the value still falls."""
    shortest, longest = _EXPANSION
    candidate = _cubic_minimum(low, trial)
    growth = jnp.where(jnp.isfinite(candidate), candidate / trial.length, shortest)
    return trial.length * jnp.clip(growth, shortest, longest)


def _cubic_minimum(first: Trial, second: Trial) -> Array:
    """The minimiser of the cubic with both values and slopes, not finite where there is none (N&W, Eq. 3.59)."""
    width = second.length - first.length
    d1 = first.slope + second.slope - 3 * (second.value - first.value) / width
    d2 = jnp.sign(width) * jnp.sqrt(d1**2 - first.slope * second.slope)
    return second.length - width * (second.slope + d2 - d1) / (second.slope - first.slope + 2 * d2)
