"""CinNet: every layer adds to its local feature a causal integral of features over the past (Sec. 3)."""

from collections.abc import Callable, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PRNGKeyArray

from ..domains import Box, TimeInterval
from ..embeddings import Embedding
from ..history import (
    Quadrature,
    TemporalMesh,
    TemporalWeight,
    history_weights,
    per_layer,
    resolve_quadrature,
    resolve_weight,
)
from ..jets import Activation, Jet, JetSpace, resolve_activation
from ..precision import resolve_dtype
from ..symmetry import Symmetry
from .base import Layer, LayeredNetwork, check_hidden, glorot
from .columns import History, TimePlan, rowwise, scattered_plan, shared_plan


class CausalIntegral(Layer):
    """z * F + (1 - z) * I, with F = y W_F + b_F, V = y W_V + b_V, I the integral of A V, z = sigmoid(eta).

    Eq. cinnet_layer before its activation. `gate` holds eta; None fixes z = 0.5, the ablation.
    """

    local_weight: Float[Array, "inputs outputs"]
    local_bias: Float[Array, " outputs"]
    history_weight: Float[Array, "inputs outputs"]
    history_bias: Float[Array, " outputs"]
    gate: Float[Array, " outputs"] | None

    def __init__(self, inputs: int, outputs: int, *, learn_gate: bool, gain: float, key: PRNGKeyArray, dtype: np.dtype):
        local_key, history_key = jax.random.split(key)
        self.local_weight = glorot(local_key, inputs, outputs, dtype, gain)
        self.local_bias = jnp.zeros(outputs, dtype)
        self.history_weight = glorot(history_key, inputs, outputs, dtype)
        self.history_bias = jnp.zeros(outputs, dtype)
        self.gate = jnp.zeros(outputs, dtype) if learn_gate else None

    @property
    def num_outputs(self) -> int:
        return self.local_bias.size

    @property
    def openness(self) -> tuple[Array | float, Array | float]:
        """z and 1 - z, the shares of the local feature and of the integral."""
        return (0.5, 0.5) if self.gate is None else (jax.nn.sigmoid(self.gate), jax.nn.sigmoid(-self.gate))

    @property
    def gated(self) -> tuple[Array, Array, Array, Array]:
        """W_F, b_F, W_V, b_V with the gate folded in."""
        z, rest = self.openness
        return z * self.local_weight, z * self.local_bias, rest * self.history_weight, rest * self.history_bias

    def enter(self, embedded: Jet, plan: TimePlan, index: int, space: JetSpace, clock_rate: float):
        local, local_bias, past, past_bias = self.gated
        history, zero = plan.histories[index], space.spatial[0]
        one_and_clock = jnp.concatenate([jnp.ones_like(plan.clock), plan.clock], axis=-1)
        integrals = _integrate(history, one_and_clock, plan.num_nodes)
        total, first = integrals[..., :1], integrals[..., 1:]

        spatial = {key: (v @ local[1:], v @ past[1:]) for key, v in embedded.items()}
        spatial[zero] = spatial[zero][0] + local_bias, spatial[zero][1] + past_bias
        values = {key: f + total * v for key, (f, v) in spatial.items()}
        values[zero] = values[zero] + plan.clock * local[0] + first * past[0]
        if not space.rates:
            return values, {}

        rate_of_input = jnp.array([0.0, clock_rate], plan.clock.dtype)
        integral_rates = _integrate_rates(history, one_and_clock, rate_of_input, plan)
        total_rate, first_rate = integral_rates[..., :1], integral_rates[..., 1:]
        rates = {key: total_rate * spatial[key][1] for key in space.rates}
        rates[zero] = rates[zero] + clock_rate * local[0] + first_rate * past[0]
        return values, rates

    def propagate(self, values: Jet, rates: Jet, plan: TimePlan, index: int):
        local, local_bias, past, past_bias = self.gated
        history, zero = plan.histories[index], min(values, key=sum)
        rows = plan.clock.shape[0] if history.own is not None else plan.num_nodes
        features = {key: rowwise(y[:rows], past) for key, y in values.items()}
        features[zero] = features[zero] + past_bias
        mixed = {
            key: rowwise(y, local) + _integrate(history, features[key], plan.num_nodes) for key, y in values.items()
        }
        mixed[zero] = mixed[zero] + local_bias
        mixed_rates = {
            key: rowwise(rate, local) + _integrate_rates(history, features[key], lambda r=rate: rowwise(r, past), plan)
            for key, rate in rates.items()
        }
        return mixed, mixed_rates


def _integrate(history: History, features: Array, num_nodes: int) -> Array:
    """I at every row from V at the nodes, and at the row itself where the rule uses it."""
    integral = history.values(features[:num_nodes])
    return integral if history.own is None else integral + history.own.rows * features


def _integrate_rates(history: History, features: Array, feature_rates: Array | Callable, plan: TimePlan) -> Array:
    """dI/dt at every query; `feature_rates` is V_t at the queries, computed only if the rule needs it."""
    integral = history.rates(features[: plan.num_nodes])
    if history.own is None:
        return integral
    rates = feature_rates() if callable(feature_rates) else feature_rates
    own = history.own
    return integral + own.query_rates * plan.at_queries(features) + own.queries * rates


class CinNet(LayeredNetwork):
    """y_0 = (t, v(x)); y_l = f(z_l * F_l + (1 - z_l) * I_l) for l < L, without f for l = L (Eq. cinnet_layer).

    `num_mesh_intervals` is the paper's N_s for a uniform mesh; `mesh` gives any other. `temporal_weight`
    (an exponent q, a TemporalWeight or a function A(t, s)) and `quadrature` are one for all layers or one for
    each. `gate` is "learnable" or "fixed" (z = 0.5). Because z starts at 0.5, local features start half as large as
    those of an MLP; `initial_gain` = 2 makes up for it.

    Differs from paper: t enters as (t - t0) / (T - t0) and integrals are divided by T - t0; both change nothing
    in the paper's problems, where the interval is [0, 1].
    """

    embedding: Embedding
    interval: TimeInterval = eqx.field(static=True)
    activation: Activation
    mesh: TemporalMesh = eqx.field(static=True)
    temporal_weights: tuple[TemporalWeight, ...]
    quadratures: tuple[Quadrature, ...]
    layers: tuple[CausalIntegral, ...]

    def __init__(
        self,
        box: Box,
        interval: TimeInterval,
        *,
        hidden: Sequence[int] = (128, 128, 128, 128),
        outputs: int = 1,
        num_mesh_intervals: int | None = None,
        mesh: TemporalMesh | Sequence[float] | None = None,
        temporal_weight=2.0,
        quadrature="left-rectangle",
        gate: str = "learnable",
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
        if gate not in ("learnable", "fixed"):
            raise ValueError(f"gate={gate!r}: use 'learnable' or 'fixed' (z = 0.5).")
        self.embedding = Embedding(box, harmonics, tensor, symmetry, mirrored, bounded_harmonics)
        self.interval = interval
        self.activation = resolve_activation(activation)
        self.mesh = _resolve_mesh(mesh, num_mesh_intervals, interval)
        widths = (1 + self.embedding.num_features, *check_hidden(hidden, outputs), outputs)
        depth = len(widths) - 1
        self.temporal_weights = per_layer(temporal_weight, depth, resolve_weight, "temporal_weight")
        self.quadratures = per_layer(quadrature, depth, resolve_quadrature, "quadrature")
        keys = jax.random.split(key, depth)
        resolved = resolve_dtype(dtype)
        self.layers = tuple(
            CausalIntegral(n, m, learn_gate=gate == "learnable", gain=initial_gain, key=k, dtype=resolved)
            for n, m, k in zip(widths[:-1], widths[1:], keys, strict=True)
        )

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(self.layers[0].local_weight.dtype)

    @property
    def rules(self) -> list[tuple[TemporalWeight, Quadrature]]:
        return list(zip(self.temporal_weights, self.quadratures, strict=True))

    def plan(self, times):
        if np.ndim(times) == 1:
            return shared_plan(np.asarray(times), self.mesh, self.rules, self.dtype)
        return scattered_plan(jnp.asarray(times), self.mesh, self.rules, self.dtype)

    def __call__(self, t, x=()):
        clock, features = self._input(t, x)
        duration = self.interval.duration
        nodes = jnp.asarray(self.mesh.nodes[:-1], self.dtype)
        node_clock = (nodes - self.interval.start) / duration
        y = jnp.concatenate([clock[None], features])
        y_nodes = jnp.concatenate([node_clock[:, None], jnp.tile(features, (nodes.size, 1))], axis=1)
        t = jnp.asarray(t, self.dtype)
        for number, (layer, (weight, rule)) in enumerate(zip(self.layers, self.rules, strict=True), start=1):
            activation = self.activation if number < len(self.layers) else lambda g: g
            z, rest = layer.openness
            past = y_nodes @ layer.history_weight + layer.history_bias
            own = y @ layer.history_weight + layer.history_bias
            from_nodes, from_own = rule(t, self.mesh, weight)
            on_mesh = history_weights(nodes, self.mesh, weight, rule)
            integral = (from_nodes @ past + from_own * own) / duration
            integral_nodes = (on_mesh.nodes @ past + on_mesh.own[:, None] * past) / duration
            y = activation(z * (y @ layer.local_weight + layer.local_bias) + rest * integral)
            y_nodes = activation(z * (y_nodes @ layer.local_weight + layer.local_bias) + rest * integral_nodes)
        return y


def _resolve_mesh(mesh, num_mesh_intervals: int | None, interval: TimeInterval) -> TemporalMesh:
    if (mesh is None) == (num_mesh_intervals is None):
        raise ValueError(f"mesh={mesh!r} and num_mesh_intervals={num_mesh_intervals!r}: give exactly one of the two.")
    if num_mesh_intervals is not None:
        return TemporalMesh.uniform(interval, num_mesh_intervals)
    resolved = mesh if isinstance(mesh, TemporalMesh) else TemporalMesh(tuple(mesh))
    gaps = resolved.nodes[0] - interval.start, resolved.nodes[-1] - interval.end
    if np.abs(gaps).max() > 1e-12 * max(interval.duration, abs(interval.start), abs(interval.end)):
        raise ValueError(
            f"mesh runs from {resolved.nodes[0]} to {resolved.nodes[-1]}, but the time interval is "
            f"[{interval.start}, {interval.end}]; the mesh must span it."
        )
    return resolved
