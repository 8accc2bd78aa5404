"""The unit of work: a column, one spatial point with all the times that matter to it.

Two streams flow through the layers of a network. The *values* (with their spatial jets) live on rows: the mesh
nodes that lie in the past of some query, then the query times that are not nodes. The *rates* (time
derivatives) live on the query times only. A query on a node shares that node's row.

Arrays are time-major, [rows, columns, features], so that every product with a weight matrix and every sum over
history is one plain GEMM.
"""

from collections.abc import Callable, Sequence
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import TimeInterval
from ..history import HistoryWeights, Quadrature, TemporalMesh, TemporalWeight, history_weights


class Mixing(eqx.Module):
    """Sums over history for some rows: `shared` rows have the same times in all columns, `scattered` rows do not."""

    shared: Float[Array, "shared nodes"]
    scattered: Float[Array, "scattered nodes columns"] | None = None

    def __call__(self, features: Float[Array, "nodes columns width"]) -> Float[Array, "rows columns width"]:
        nodes, columns, width = features.shape
        mixed = (self.shared @ features.reshape(nodes, columns * width)).reshape(-1, columns, width)
        if self.scattered is None:
            return mixed
        return jnp.concatenate([mixed, jnp.einsum("rnc,ncw->rcw", self.scattered, features)])


def rowwise(features: Float[Array, "rows columns inputs"], weight: Float[Array, "inputs outputs"]) -> Array:
    """features @ weight, flattened so that the product and its transposes are plain GEMMs."""
    rows, columns, inputs = features.shape
    return (features.reshape(rows * columns, inputs) @ weight).reshape(rows, columns, -1)


class OwnFeature(eqx.Module):
    """The part of a time's own feature in its integral, and in the rate of that integral."""

    rows: Float[Array, "rows #columns 1"]
    queries: Float[Array, "queries #columns 1"]
    query_rates: Float[Array, "queries #columns 1"]


class History(eqx.Module):
    """The causal integral of one layer as linear maps; `own` is None for rules that do not use the feature at t."""

    values: Mixing
    rates: Mixing
    own: OwnFeature | None = None


class TimePlan(eqx.Module):
    """Everything about the times of a set of columns that does not depend on the network's parameters."""

    clock: Float[Array, "rows #columns 1"]
    query_rows: tuple[int, ...] = eqx.field(static=True)
    num_nodes: int = eqx.field(static=True)
    histories: tuple[History, ...] = ()

    @property
    def num_rows(self) -> int:
        return self.clock.shape[0]

    def at_queries(self, rows: Float[Array, "rows ..."]) -> Float[Array, "queries ..."]:
        return _take_rows(rows, self.query_rows)


def _take_rows(array: Array, rows: tuple[int, ...]) -> Array:
    """array[rows], by a strided slice when the rows are evenly spaced (a gather costs far more on a CPU)."""
    if rows == tuple(range(array.shape[0])):
        return array
    steps = set(np.diff(rows).tolist())
    if len(rows) == 1 or (len(steps) == 1 and min(steps) > 0):
        step = steps.pop() if steps else 1
        return array[rows[0] : rows[-1] + 1 : step]
    return array[np.array(rows)]


def pointwise_plan(
    times: Float[np.ndarray, "times ..."] | Float[Array, "times ..."], interval: TimeInterval, dtype: np.dtype
) -> TimePlan:
    """The plan of a network without memory: every query time is a row."""
    clock = _clock(times, interval, dtype)
    return TimePlan(clock, query_rows=tuple(range(clock.shape[0])), num_nodes=0)


def _clock(times, interval: TimeInterval, dtype: np.dtype) -> Array:
    scaled = jnp.asarray((times - interval.start) / interval.duration, dtype)
    return scaled.reshape(scaled.shape[0], -1, 1)


Rule = tuple[TemporalWeight, Quadrature]


def _host_weights(times: np.ndarray, mesh: TemporalMesh, rule: Rule) -> HistoryWeights:
    """Weights over the duration of the interval in float64, whatever the precision around and even while tracing."""
    with jax.ensure_compile_time_eval(), jax.enable_x64(True):
        weights = eqx.filter_jit(history_weights)(jnp.asarray(times, np.float64), mesh, *rule)
        return jax.tree.map(lambda w: np.asarray(w) / mesh.interval.duration, weights)


def _node_mixing(num_nodes: int, mesh: TemporalMesh, rule: Rule) -> np.ndarray:
    """Sums over history for the first nodes; a node's own feature is itself a history node, so it is the diagonal."""
    weights = _host_weights(np.array(mesh.nodes[:num_nodes]), mesh, rule)
    return np.asarray(weights.nodes)[:, :num_nodes] + np.diag(weights.own)


def _each_once(rules: Sequence[Rule], make: Callable[[Rule], History]) -> tuple[History, ...]:
    """A history for every layer; layers with equal rules share one."""
    made = {first: make(rules[first]) for first in {rules.index(rule) for rule in rules}}
    return tuple(made[rules.index(rule)] for rule in rules)


def shared_plan(
    times: Float[np.ndarray, " times"], mesh: TemporalMesh, rules: Sequence[Rule], dtype: np.dtype
) -> TimePlan:
    """The plan of columns that share their query times.

    Nodes after the last query are left out: nothing that is asked for depends on them.
    """
    times = _snap_to_nodes(np.asarray(times), mesh)
    past = np.array(mesh.nodes[:-1]) < times.max()
    num_nodes = max(1, int(past.sum()))  # at t0 alone dI/dt = A(t0, t0) V(t0) still needs the first node
    nodes = np.array(mesh.nodes[:num_nodes])
    extra = np.unique(times[~np.isin(times, nodes)])
    rows = np.concatenate([nodes, extra])
    query_rows = tuple(int(np.flatnonzero(rows == t)[0]) for t in times)
    # A few extra rows cost less as nodes of weight zero than a copy of all node rows costs in every layer.
    num_history_rows = len(rows) if 8 * len(extra) <= num_nodes else num_nodes

    def padded(weights: np.ndarray) -> np.ndarray:
        return np.pad(weights[:, :num_nodes], ((0, 0), (0, num_history_rows - num_nodes)))

    def cast(array: Any) -> Array:
        return jnp.asarray(np.asarray(array).astype(dtype))

    def history(rule: Rule) -> History:
        at_extra, at_queries = _host_weights(extra, mesh, rule), _host_weights(times, mesh, rule)
        mixing = padded(np.concatenate([_node_mixing(num_nodes, mesh, rule), at_extra.nodes[:, :num_nodes]]))
        values, rates = Mixing(cast(mixing)), Mixing(cast(padded(np.asarray(at_queries.nodes_rate))))
        if not rule[1].uses_own_feature:
            return History(values, rates)
        own = np.concatenate([np.zeros(num_nodes), at_extra.own])
        parts = (own, at_queries.own, at_queries.own_rate)
        return History(values, rates, OwnFeature(*(cast(w[:, None, None]) for w in parts)))

    return TimePlan(_clock(rows, mesh.interval, dtype), query_rows, num_history_rows, _each_once(rules, history))


def _snap_to_nodes(times: np.ndarray, mesh: TemporalMesh) -> np.ndarray:
    """Times in float64, those within rounding of a node moved onto it."""
    nodes = np.array(mesh.nodes)
    precision = np.finfo(times.dtype if times.dtype.kind == "f" else np.float64).eps
    slack = 8 * precision * max(mesh.interval.duration, np.abs(nodes).max())
    nearest = nodes[np.abs(times[:, None] - nodes).argmin(axis=1)]
    return np.where(np.abs(times - nearest) <= slack, nearest, times.astype(np.float64))


def scattered_plan(
    times: Float[Array, "times columns"], mesh: TemporalMesh, rules: Sequence[Rule], dtype: np.dtype
) -> TimePlan:
    """The plan of columns with query times of their own; traceable, so it can be built inside a compiled function."""
    times = jnp.asarray(times, dtype)
    num_queries, num_columns = times.shape
    num_nodes = mesh.num_intervals
    weights_of = jax.vmap(history_weights, in_axes=(0, None, None, None))

    def history(rule: Rule) -> History:
        weights = jax.tree.map(lambda w: w / mesh.interval.duration, weights_of(times, mesh, *rule))
        node_rows = jnp.asarray(_node_mixing(num_nodes, mesh, rule).astype(dtype))
        values = Mixing(node_rows, weights.nodes.swapaxes(1, 2))
        rates = Mixing(jnp.zeros((0, num_nodes), dtype), weights.nodes_rate.swapaxes(1, 2))
        if not rule[1].uses_own_feature:
            return History(values, rates)
        own = jnp.concatenate([jnp.zeros((num_nodes, num_columns), dtype), weights.own])
        return History(values, rates, OwnFeature(*(w[..., None] for w in (own, weights.own, weights.own_rate))))

    node_clock = _clock(np.array(mesh.nodes[:-1]), mesh.interval, dtype)
    node_clock = jnp.broadcast_to(node_clock, (num_nodes, num_columns, 1))
    clock = jnp.concatenate([node_clock, _clock(times, mesh.interval, dtype)])
    query_rows = tuple(range(num_nodes, num_nodes + num_queries))
    return TimePlan(clock, query_rows, num_nodes, _each_once(rules, history))
