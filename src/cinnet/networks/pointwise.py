"""A network of one's own: only its value at one point has to be written."""

import abc

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..nested import partial_derivative
from .base import Network


class PointwisePlan(eqx.Module):
    """The query times."""

    times: Float[Array, "times *columns"]

    @property
    def num_rows(self) -> int:
        return self.times.shape[0]


class PointwiseNetwork(Network):
    """A network that is given by `__call__(self, t, x)` alone; JAX differentiates it as often as an equation needs.

    A subclass has the fields `box` and `interval`, parameters that are arrays, and returns a vector with one entry for
    each component. Forward mode inside forward mode costs twice as much with every order; `Network.jets` is the place
    for something faster.
    """

    @abc.abstractmethod
    def __call__(self, t: Float[Array, ""], x: Float[Array, " dim"]) -> Float[Array, " outputs"]: ...

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(jnp.result_type(*jax.tree.leaves(eqx.filter(self, eqx.is_inexact_array))))

    @property
    def widths(self) -> tuple[int, ...]:
        point = jax.ShapeDtypeStruct((), self.dtype), jax.ShapeDtypeStruct((self.box.dimension,), self.dtype)
        return eqx.filter_eval_shape(self, *point).shape

    def plan(self, times):
        return PointwisePlan(jnp.asarray(times, self.dtype))

    def jets(self, plan, points, space):
        points = points.astype(self.dtype)
        own_times = 0 if plan.times.ndim == 2 else None

        def derivatives(t: Array, x: Array) -> dict:
            here = jnp.concatenate([t[None], x])
            return {i: partial_derivative(lambda z: self(z[0], z[1:]), i)(here) for i in space.wanted}

        over_columns = jax.vmap(derivatives, in_axes=(own_times, 0))
        return jax.vmap(over_columns, in_axes=(0, None))(plan.times, points)
