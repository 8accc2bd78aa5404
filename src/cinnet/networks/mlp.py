"""The multilayer perceptron: a network without memory, the one of a plain PINN."""

from collections.abc import Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..domains import Box, TimeInterval
from ..embeddings import Embedding
from ..jets import Activation, Jet, JetSpace, resolve_activation
from ..precision import resolve_dtype
from ..symmetry import Symmetry
from .base import Layer, LayeredNetwork, check_hidden, glorot
from .columns import TimePlan, pointwise_plan


class Dense(Layer):
    """y W + b."""

    weight: Float[Array, "inputs outputs"]
    bias: Float[Array, " outputs"]

    def __init__(self, inputs: int, outputs: int, *, gain: float, key: PRNGKeyArray, dtype: np.dtype):
        self.weight = glorot(key, inputs, outputs, dtype, gain)
        self.bias = jnp.zeros(outputs, dtype)

    @property
    def num_outputs(self) -> int:
        return self.bias.size

    def enter(self, embedded: Jet, plan: TimePlan, index: int, space: JetSpace, clock_rate: float):
        zero = space.spatial[0]
        values = {key: (v @ self.weight[1:])[None] for key, v in embedded.items()}
        values[zero] = values[zero] + self.bias + plan.clock * self.weight[0]
        shape = (len(plan.query_rows), *values[zero].shape[1:])
        values = {key: jnp.broadcast_to(v, shape) for key, v in values.items()}
        return values, {zero: jnp.broadcast_to(clock_rate * self.weight[0], shape)} if space.rates else {}

    def propagate(self, values: Jet, rates: Jet, plan: TimePlan, index: int):
        zero = min(values, key=sum)
        values = {key: v @ self.weight for key, v in values.items()}
        values[zero] = values[zero] + self.bias
        return values, {key: v @ self.weight for key, v in rates.items()}


class MLP(LayeredNetwork):
    """y_0 = (t, v(x));  y_l = f(y_(l-1) W_l + b_l) for l < L;  u = y_(L-1) W_L + b_L (Eq. mlp).

    Differs from paper: t enters as (t - t0) / (T - t0), which is t itself in all the paper's problems.
    """

    embedding: Embedding
    interval: TimeInterval = eqx.field(static=True)
    activation: Activation
    layers: tuple[Dense, ...]

    def __init__(
        self,
        box: Box,
        interval: TimeInterval,
        *,
        hidden: Sequence[int] = (128, 128, 128, 128),
        outputs: int = 1,
        harmonics: int | Sequence[int] = 10,
        tensor: str = "paper",
        symmetry: Symmetry | None = None,
        mirrored: tuple[bool, ...] | None = None,
        bounded_harmonics: int = 0,
        activation: str | Activation = "tanh",
        initial_gain: float = 1.0,
        dtype: str = "float32",
        key: PRNGKeyArray,
    ):
        self.embedding = Embedding(box, harmonics, tensor, symmetry, mirrored, bounded_harmonics)
        self.interval = interval
        self.activation = resolve_activation(activation)
        widths = (1 + self.embedding.num_features, *check_hidden(hidden, outputs), outputs)
        keys = jax.random.split(key, len(widths) - 1)
        resolved = resolve_dtype(dtype)
        self.layers = tuple(
            Dense(n, m, gain=initial_gain, key=k, dtype=resolved)
            for n, m, k in zip(widths[:-1], widths[1:], keys, strict=True)
        )

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.layers[0].weight.dtype)

    def plan(self, times):
        return pointwise_plan(times, self.interval, self.dtype)

    def __call__(self, t, x=()):
        clock, features = self._input(t, x)
        y = jnp.concatenate([clock[None], features])
        for layer in self.layers[:-1]:
            y = self.activation(y @ layer.weight + layer.bias)
        return y @ self.layers[-1].weight + self.layers[-1].bias
