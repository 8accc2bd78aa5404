"""Residuals of an operator on columns: rows, mean squares, gradient, Jacobian, in chunks that fit the cache."""

from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..derivatives import Engine
from ..fields import MultiIndex, Operator, apply_operator
from ..networks import Network
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .term import Rebuild, Term

_JACOBIAN_COLUMNS = 8  # measured fastest: the rows of more columns at once leave the cache
_CACHE_FRIENDLY_BYTES = 1_400_000  # of one array in a chunk: measured fastest, it keeps a layer in the L3 cache


class ColumnTerm(Term):
    """Residuals of an operator, processed in chunks of columns so that memory has a bound.

    `shares` is what part of the mean over space each column stands for; it is 0 for columns that only fill up the
    last chunk. `targets` are the values that the operator should take at every column and time, zero if None. Times
    are those of the equation; the network's own clock is `delay` behind. With `scattered`, every column has one time
    of its own and `times` is only a label of the single level that all of them make up.
    """

    name: str = eqx.field(static=True)
    causal: bool = eqx.field(static=True)
    enforced: bool = eqx.field(static=True)
    operator: Operator
    derivatives: tuple[MultiIndex, ...] = eqx.field(static=True)
    engine: Engine
    plan: Any
    times: Float[Array, " times"]
    chunks: Float[Array, "chunks columns dim"]
    shares: Float[Array, "chunks columns"]
    targets: Float[Array, "chunks columns equations"] | None
    own_times: Float[Array, "chunks columns"] | None
    num_points: int = eqx.field(static=True)
    num_equations: int = eqx.field(static=True)
    starts_at_initial_time: bool = eqx.field(static=True)

    def __init__(
        self,
        name: str,
        operator: Operator,
        problem: EvolutionProblem,
        network: Network,
        engine: Engine,
        points: TrainingPoints,
        *,
        causal: bool = False,
        enforced: bool = False,
        memory_limit: int | None = None,
        targets: Callable[[np.ndarray], Array | np.ndarray] | None = None,
        delay: float = 0.0,
        scattered: Float[np.ndarray, " points"] | None = None,
    ):
        self.name, self.operator, self.engine = name, operator, engine
        self.causal, self.enforced = causal, enforced
        dimension = problem.box.dimension
        derivatives, self.num_equations = problem.required_derivatives(operator)
        self.derivatives = tuple(sorted(derivatives))
        if not engine.couples_columns and scattered is None:
            points = points.distinct(network.symmetry, network.box)
        own_times = points.times - delay
        self.plan = engine.prepare(network, own_times, points.points) if scattered is None else None
        self.times = jnp.asarray(points.times, network.dtype)
        elapsed = own_times[0] - network.interval.start
        self.starts_at_initial_time = bool(elapsed <= 1e-6 * network.interval.duration)
        self.num_points = len(points.points)
        columns = self.num_points
        if not engine.couples_columns:
            plan = engine.prepare(network, own_times[:1, None], points.points[:1]) if self.plan is None else self.plan
            columns = columns_per_chunk(network, plan, self.derivatives, self.num_points, memory_limit)
        num_chunks = -(-self.num_points // columns)
        padding = num_chunks * columns - self.num_points
        padded = np.resize(points.points, (num_chunks * columns, dimension))
        self.chunks = jnp.asarray(padded, network.dtype).reshape(num_chunks, columns, dimension)
        self.targets = None
        if targets is not None:
            values = jnp.asarray(targets(padded), network.dtype)
            self.targets = values.reshape(num_chunks, columns, self.num_equations)
        shares = np.pad(points.shares, (0, padding))
        self.shares = jnp.asarray(shares, network.dtype).reshape(num_chunks, columns)
        self.own_times = None
        if scattered is not None:
            resized = np.resize(scattered - delay, num_chunks * columns)
            self.own_times = jnp.asarray(resized, network.dtype).reshape(num_chunks, columns)

    @property
    def _columns(self) -> "Columns":
        return Columns(self.chunks, self.shares, self.targets, self.own_times)

    @property
    def is_single_chunk(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.chunks.shape[0] == 1

    @property
    def num_rows(self) -> int:
        return self.num_points * self.times.size * self.num_equations

    @property
    def points(self) -> Float[Array, "points dim"]:
        return _joined(self.chunks)[: self.num_points]

    def residuals(self, network: Network, columns: "Columns") -> Float[Array, "times columns equations"]:
        """The residuals of one chunk."""
        plan, times = self.plan, self.times
        if columns.own_times is not None:
            times = columns.own_times[None]
            plan = self.engine.prepare(network, times, columns.points)
        derivatives = self.engine(network, plan, times, columns.points, self.derivatives)
        values = apply_operator(network.bound(self.operator), derivatives, times, columns.points)
        return values if columns.targets is None else values - columns.targets

    def chunk_rows(
        self, network: Network, weights: Float[Array, " times"], columns: "Columns"
    ) -> Float[Array, "columns times equations"]:
        """sqrt(w) r of one chunk, where w is the weight of the mean square at each time level."""
        scale = jnp.sqrt(weights[:, None] * columns.shares)
        return jnp.moveaxis(scale[:, :, None] * self.residuals(network, columns), 0, 1)

    def chunk_levels(self, network: Network, columns: "Columns") -> Float[Array, " times"]:
        """A chunk's share of the mean square at each time level, L_res(t_i) (Eq. temporal_residual_loss)."""
        return jnp.sum(self.residuals(network, columns) ** 2, axis=-1) @ columns.shares

    def levels(self, network: Network) -> Float[Array, " times"]:
        """The mean square at each time level."""
        return self._over_chunks(lambda chunk: self.chunk_levels(network, chunk)).sum(0)

    def rows(self, network: Network, weights: Float[Array, " times"]) -> Float[Array, " rows"]:
        """sqrt(w) r column after column."""
        rows = self._over_chunks(lambda chunk: self.chunk_rows(network, weights, chunk))
        return _joined(rows)[: self.num_points].ravel()

    def add_gradient(
        self, network: Network, weights: Float[Array, " times"], gradients: Network
    ) -> tuple[Float[Array, " times"], Network]:
        """The levels, and `gradients` plus the gradient of weights @ levels, one chunk after the other."""

        def chunk_loss(network: Network, columns: Columns) -> tuple[Array, Array]:
            levels = self.chunk_levels(network, columns)
            return weights @ levels, levels

        def add_chunk(total, chunk):
            (_, levels), gradient = eqx.filter_value_and_grad(chunk_loss, has_aux=True)(network, chunk)
            return jax.tree.map(jnp.add, total, (levels, gradient)), None

        return jax.lax.scan(add_chunk, (jnp.zeros_like(self.times), gradients), self._columns)[0]

    def jacobian(
        self, rebuild: Rebuild, flat: Float[Array, " parameters"], weights: Float[Array, " times"]
    ) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]:
        """Rows and their gradients, column by column, since a column's residuals depend on no other column."""
        if self.engine.couples_columns:
            raise ValueError(
                "the spectral engine couples all columns, so the Jacobian does not split over them; "
                "use engine='jets' with this optimizer."
            )

        def column(columns: Columns) -> tuple[Array, Array]:
            single = jax.tree.map(lambda leaf: leaf[None], columns)
            rows, pull_back = jax.vjp(lambda f: self.chunk_rows(rebuild(f), weights, single).ravel(), flat)
            (jacobian,) = jax.vmap(pull_back)(jnp.eye(rows.size, dtype=rows.dtype))
            return rows, jacobian

        columns = jax.tree.map(lambda leaf: _joined(leaf)[: self.num_points], self._columns)
        rows, jacobian = jax.lax.map(column, columns, batch_size=min(_JACOBIAN_COLUMNS, self.num_points))
        return rows.ravel(), jacobian.reshape(-1, flat.size)

    def _over_chunks(self, function: Callable[["Columns"], Array]) -> Array:
        """Apply to every chunk, recomputing instead of storing for the backward pass when there are several."""
        if self.is_single_chunk:
            return function(jax.tree.map(lambda leaf: leaf[0], self._columns))[None]
        return jax.lax.map(jax.checkpoint(function), self._columns)


def _joined(chunks: Array) -> Array:
    """Chunk after chunk; written out because an ODE's points have no coordinates and -1 cannot be inferred."""
    return chunks.reshape(chunks.shape[0] * chunks.shape[1], *chunks.shape[2:])


class Columns(eqx.Module):
    """What a term knows of some columns."""

    points: Float[Array, "*columns dim"]
    shares: Float[Array, "*columns"]
    targets: Float[Array, "*columns equations"] | None
    own_times: Float[Array, "*columns"] | None


def columns_per_chunk(
    network: Network, plan: Any, derivatives: tuple[MultiIndex, ...], num_points: int, memory_limit: int | None
) -> int:
    """How many columns to process at once: few enough for the cache and for the memory limit in bytes."""
    rows = plan.num_rows if plan is not None else 1
    widths = network.widths
    array_bytes = rows * max(widths) * network.dtype.itemsize
    columns = max(1, _CACHE_FRIENDLY_BYTES // array_bytes)
    if memory_limit is not None:
        # The backward pass keeps local and history features, activations and cotangents of every layer and jet.
        held = rows * sum(widths) * network.dtype.itemsize * 8 * (1 + len(derivatives))
        if held > memory_limit:
            raise ValueError(
                f"memory_limit={memory_limit} bytes is below the {held} that one column needs; raise it, or use a "
                "smaller network or temporal mesh."
            )
        columns = min(columns, memory_limit // held)
    columns = min(columns, num_points)
    return -(-num_points // -(-num_points // columns))  # equal chunks: as few padded columns as possible
