"""What every network is: a function u(t, x), and jets of it over columns."""

import abc
from collections.abc import Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..domains import Box, TimeInterval
from ..embeddings import Embedding
from ..fields import MultiIndex, Operator
from ..jets import Activation, Jet, JetSpace, compose, multiply, shift
from ..symmetry import Symmetry
from .columns import TimePlan


class Layer(eqx.Module):
    """One layer's map from features to pre-activations, on both streams of a set of columns."""

    @property
    @abc.abstractmethod
    def num_outputs(self) -> int: ...

    @abc.abstractmethod
    def enter(self, embedded: Jet, plan: TimePlan, index: int, space: JetSpace, clock_rate: float) -> tuple[Jet, Jet]:
        """The first layer, whose input (clock, v(x)) is a sum of a function of t and one of x.

        Everything it computes is an outer product of the two, so no product over rows times columns is needed.
        """

    @abc.abstractmethod
    def propagate(self, values: Jet, rates: Jet, plan: TimePlan, index: int) -> tuple[Jet, Jet]:
        """A later layer."""


class Network(eqx.Module):
    """A function u(t, x) with parameters.

    `network(t, x)` evaluates at one point and is differentiable by plain JAX transformations in t, x and the
    parameters. `network.jets` gives many derivatives over many columns at once, faster. `PointwiseNetwork` needs the
    former only.
    """

    box: eqx.AbstractVar[Box]
    interval: eqx.AbstractVar[TimeInterval]

    @property
    def symmetry(self) -> Symmetry:
        """The maps of space that leave the network unchanged whatever its parameters."""
        return Symmetry.none(self.box)

    @abc.abstractmethod
    def __call__(self, t: Float[Array, ""], x: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        """u at one point; x is a number in one dimension or a vector, and may be left out for an ODE."""

    @abc.abstractmethod
    def plan(self, times: Float[np.ndarray, " times"] | Float[Array, "times columns"]) -> Any:
        """Prepare the query times, shared by all columns [times] or their own for each [times, columns]."""

    @abc.abstractmethod
    def jets(
        self, plan: Any, points: Float[Array, "columns dim"], space: JetSpace
    ) -> dict[MultiIndex, Float[Array, "queries columns outputs"]]:
        """The derivatives in `space.wanted` at every query time of every column."""

    def bound(self, operator: Operator) -> Operator:
        """An operator with whatever the network knows of its parameters; see `WithUnknowns`."""
        return operator

    @property
    @abc.abstractmethod
    def dtype(self) -> np.dtype: ...

    @property
    @abc.abstractmethod
    def widths(self) -> tuple[int, ...]:
        """The number of features after each layer; the last is the number of outputs."""


class LayeredNetwork(Network):
    """Layers with an activation between them, on the input (clock, v(x))."""

    embedding: eqx.AbstractVar[Embedding]
    activation: eqx.AbstractVar[Activation]
    layers: eqx.AbstractVar[tuple]

    @property
    def box(self) -> Box:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.embedding.box

    @property
    def symmetry(self) -> Symmetry:
        return self.embedding.symmetry

    @property
    def widths(self) -> tuple[int, ...]:
        return tuple(layer.num_outputs for layer in self.layers)

    def jets(self, plan, points, space):
        embedded = self.embedding.jets(points.astype(self.dtype), space.spatial)
        values, rates = self.layers[0].enter(embedded, plan, 0, space, 1.0 / self.interval.duration)
        for index, layer in enumerate(self.layers[1:], start=1):
            values, rates = _activate(self.activation, values, rates, plan, space)
            values, rates = layer.propagate(values, rates, plan, index)
        values = {key: jnp.broadcast_to(plan.at_queries(v), self._shape(plan, points, v)) for key, v in values.items()}
        return space.derivatives(values, rates)

    def _shape(self, plan: TimePlan, points: Array, value: Array) -> tuple[int, int, int]:
        return len(plan.query_rows), points.shape[0], value.shape[-1]

    def _input(self, t: Any, x: Any) -> tuple[Array, Array]:
        """The clock and the spatial features at one point, given as anything that JAX can make an array of."""
        dtype = self.dtype
        t, x = jnp.asarray(t, dtype), jnp.atleast_1d(jnp.asarray(x, dtype))
        if t.shape != () or x.shape != (self.embedding.box.dimension,):
            raise ValueError(
                f"network(t, x) takes one point: t of shape () and x of shape ({self.embedding.box.dimension},), "
                f"got {t.shape} and {x.shape}; use jax.vmap or `jets` for many."
            )
        return (t - self.interval.start) / self.interval.duration, self.embedding(x)


def _activate(activation: Activation, values: Jet, rates: Jet, plan: TimePlan, space: JetSpace) -> tuple[Jet, Jet]:
    """Apply the activation to both streams: y = f(g) and y_t = f'(g) g_t."""
    zero, order = space.spatial[0], sum(space.spatial[-1])
    rate_order = sum(space.rates[-1]) + 1 if space.rates else 0
    coefficients = activation.taylor(values[zero], max(order, rate_order))
    activated = compose(coefficients, values, space.spatial)
    if not space.rates:
        return activated, {}
    slopes = [plan.at_queries(c) for c in shift(coefficients[: rate_order + 1])]
    queried = {index: plan.at_queries(values[index]) for index in space.rates}
    return activated, multiply(compose(slopes, queried, space.rates), rates, space.rates)


def glorot(key: PRNGKeyArray, fan_in: int, fan_out: int, dtype: np.dtype, gain: float = 1.0) -> Array:
    """Glorot normal initial weights, variance 2 / (fan_in + fan_out) times the square of the gain."""
    return jnp.asarray(gain, dtype) * jax.nn.initializers.glorot_normal()(key, (fan_in, fan_out), dtype)


def check_hidden(hidden: Sequence[int], outputs: int) -> tuple[int, ...]:
    """Hidden widths as a checked tuple."""
    widths = tuple(hidden)
    if not widths or any(not isinstance(width, int | np.integer) or width < 1 for width in widths):
        raise ValueError(f"hidden={hidden!r}: give at least one hidden layer, each of width 1 or more.")
    if outputs < 1:
        raise ValueError(f"outputs={outputs}: a network has at least one output.")
    return tuple(int(width) for width in widths)
