"""A network that has the initial value exactly, by a correction that fades out."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..fields import MultiIndex
from ..jets import JetSpace
from ..nested import partial_derivative
from .base import Network
from .wrapper import Wrapper

FADING_TIME = 0.05  # of the interval's duration: short, so that a corner of g is not kept for ever


class FadingPlan(eqx.Module):
    """The plans of the queries and of t0, and the fading factor at the queries."""

    queries: Any
    start: Any
    fading: Float[Array, "queries #columns 1"]

    @property
    def num_rows(self) -> int:
        return self.queries.num_rows


class ExactInitial(Wrapper):
    """N(t, x) + exp(-s / 0.05) (g(x) - N(t0, x)) with s = (t - t0) / (T - t0): equal to g at t0 for any N.

    Unlike g + s N, which carries every corner of g to all times, the correction and its corners fade within a
    fraction of the interval, and vanish where N has learned g. `initial` gives the outputs of g at a point [dim].
    """

    inner: Network
    initial: Callable[[Array], Array] = eqx.field(static=True)

    def __init__(self, inner: Network, initial: Callable[[Array], Array]):
        self.inner, self.initial = inner, initial

    def _fading(self, times) -> Array:
        elapsed = (jnp.asarray(times, self.dtype) - self.interval.start) / self.interval.duration
        return jnp.exp(-elapsed / FADING_TIME)

    def _initial(self, x: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        return self.initial(x).astype(self.dtype)

    def __call__(self, t, x=()):
        point = jnp.atleast_1d(jnp.asarray(x, self.dtype))
        start = jnp.asarray(self.interval.start, self.dtype)
        return self.inner(t, x) + self._fading(t) * (self._initial(point) - self.inner(start, x))

    def plan(self, times):
        fading = self._fading(times)
        start = self.inner.plan(np.array([self.interval.start]))
        return FadingPlan(self.inner.plan(times), start, fading.reshape(fading.shape[0], -1, 1))

    def jets(self, plan, points, space):
        spatial = {(0, *index[1:]) for index in space.wanted}
        at_start = self.inner.jets(plan.start, points, JetSpace.of(spatial))
        rate = -1.0 / (FADING_TIME * self.interval.duration)
        results = self.inner.jets(plan.queries, points, space)
        for index in results:
            gap = self._initial_derivative(points, index) - at_start[(0, *index[1:])]
            results[index] = results[index] + rate ** index[0] * plan.fading * gap
        return results

    def _initial_derivative(self, points: Float[Array, "columns dim"], index: MultiIndex) -> Array:
        """A spatial derivative of g at every point."""
        return jax.vmap(partial_derivative(self._initial, index[1:]))(points.astype(self.dtype))
