"""The training objective: residual, initial and boundary terms, weighted, as one vector and as one number.

Both views come from the same rows. A row is a residual r at one time and point with a weight w that is never
differentiated; the vector holds sqrt(w) r and the loss is the sum of w r^2 (Eqs. loss, loss_terms). Causal
weighting (Appendix B) only changes the weights.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from .derivatives import Engine, JetEngine, resolve_engine
from .fields import MultiIndex, Operator, apply_operator, required_derivatives
from .networks import Network
from .problems.base import EvolutionProblem
from .sampling import TrainingPoints


@dataclasses.dataclass(frozen=True)
class LossWeights:
    """omega_res, omega_ic and omega_bc of Eq. loss; the defaults are the paper's."""

    residual: float = 1.0
    initial: float = 100.0
    boundary: float = 100.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"LossWeights({field.name}={value}): loss weights must be finite and not negative.")


class Term(eqx.Module):
    """One kind of residual on one set of columns, processed in chunks of columns so that memory has a bound."""

    name: str = eqx.field(static=True)
    operator: Operator
    derivatives: tuple[MultiIndex, ...] = eqx.field(static=True)
    engine: Engine
    plan: Any
    times: Float[Array, " times"]
    chunks: Float[Array, "chunks columns dim"]
    mask: Float[Array, "chunks columns"]
    weight: float = eqx.field(static=True)
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
        weight: float,
        memory_limit: int | None,
    ):
        self.name, self.operator, self.engine, self.weight = name, operator, engine, float(weight)
        dimension, components = problem.box.dimension, len(problem.components)
        derivatives, self.num_equations = required_derivatives(operator, dimension, components)
        self.derivatives = tuple(sorted(derivatives))
        self.plan = engine.prepare(network, points.times, points.points)
        self.times = jnp.asarray(points.times, network.dtype)
        elapsed = points.times[0] - problem.interval.start
        self.starts_at_initial_time = bool(elapsed <= 1e-6 * problem.interval.duration)
        self.num_points = len(points.points)
        columns = self.num_points
        if not engine.couples_columns:
            columns = columns_per_chunk(network, self.plan, self.derivatives, self.num_points, memory_limit)
        num_chunks = -(-self.num_points // columns)
        padded = np.resize(points.points, (num_chunks * columns, dimension))
        self.chunks = jnp.asarray(padded, network.dtype).reshape(num_chunks, columns, dimension)
        real = np.arange(num_chunks * columns) < self.num_points
        self.mask = jnp.asarray(real, network.dtype).reshape(num_chunks, columns)

    def residuals(
        self, network: Network, points: Float[Array, "columns dim"]
    ) -> Float[Array, "times columns equations"]:
        """The residuals of one chunk."""
        derivatives = self.engine(network, self.plan, self.times, points, self.derivatives)
        return apply_operator(self.operator, derivatives, self.times, points)

    def rows(
        self, network: Network, weights: Float[Array, " times"], points: Float[Array, "columns dim"]
    ) -> Float[Array, "columns times equations"]:
        """sqrt(w) r of one chunk, where w is the weight of the mean square at each time level."""
        scale = jnp.sqrt(weights / self.num_points)
        return jnp.moveaxis(scale[:, None, None] * self.residuals(network, points), 0, 1)

    @property
    def points(self) -> Float[Array, "points dim"]:
        return self.chunks.reshape(-1, self.chunks.shape[-1])[: self.num_points]

    def levels(
        self, network: Network, points: Float[Array, "columns dim"], mask: Float[Array, " columns"]
    ) -> Float[Array, " times"]:
        """A chunk's share of the mean square at each time level, L_res(t_i) (Eq. temporal_residual_loss)."""
        squares = jnp.sum(self.residuals(network, points) ** 2, axis=-1)
        return (squares @ mask) / self.num_points


class LossValue(eqx.Module):
    """The loss and what it is made of."""

    total: Float[Array, ""]
    parts: dict[str, Float[Array, ""]]
    causal_weights: Float[Array, " levels"] | None = None


class Objective(eqx.Module):
    """What training minimises, for a problem, a kind of network and a set of training points.

    With `causality`, the epsilon of Eq. temporal_weights, it is Eq. causal_loss; with None there are no causal
    weights. `memory_limit` bounds the bytes of intermediate values held at once.
    """

    terms: tuple[Term, ...]
    causality: Float[Array, ""] | None

    def __init__(
        self,
        problem: EvolutionProblem,
        network: Network,
        points: TrainingPoints,
        *,
        weights: LossWeights | None = None,
        causality: float | None = None,
        engine: str | Engine = "jets",
        memory_limit: int | None = None,
    ):
        weights = weights or LossWeights()
        _check(problem, network, points, causality, memory_limit)
        interior = resolve_engine(engine, problem.box, points.counts)
        at_conditions = JetEngine() if interior.couples_columns else interior
        start = dataclasses.replace(points, times=np.array([problem.interval.start]))
        terms = [("initial", initial_mismatch(problem), at_conditions, start, weights.initial)]
        terms.append(("residual", problem.residual, interior, points, weights.residual))
        for condition in problem.boundary:
            face = TrainingPoints(points.times, condition.project(problem.box, points.points))
            name = f"boundary {condition.axis} {condition.side}"
            terms.append((name, condition.mismatch, at_conditions, face, weights.boundary))
        self.terms = tuple(
            Term(name, operator, problem, network, engine, where, weight, memory_limit)
            for name, operator, engine, where, weight in terms
        )
        self.causality = None if causality is None else jnp.asarray(causality, network.dtype)

    def loss(self, network: Network) -> LossValue:
        """The loss; differentiable, with one forward pass repeated for each chunk when there are several."""
        return self._value(self._levels(network))

    def loss_and_gradient(self, network: Network) -> tuple[LossValue, Network]:
        """The loss and its gradient, chunk by chunk, without holding more than one chunk's intermediates."""
        if all(term.chunks.shape[0] == 1 for term in self.terms):

            def single(network):
                value = self.loss(network)
                return value.total, value

            (_, value), gradient = eqx.filter_value_and_grad(single, has_aux=True)(network)
            return value, gradient

        # Weights are not differentiated, so those that depend on the loss come from a pass before.
        known = None if self.causality is None else self._levels(network)
        row_weights = self._row_weights(known)

        all_levels, gradients = [], jax.tree.map(jnp.zeros_like, eqx.filter(network, eqx.is_inexact_array))
        for term, weights in zip(self.terms, row_weights, strict=True):
            levels, gradients = _accumulate(term, network, weights, gradients)
            all_levels.append(levels)
        return self._value(all_levels), gradients

    def residual_vector(self, network: Network) -> Float[Array, " rows"]:
        """sqrt(w) r for every row, term after term and column after column; its sum of squares is the loss."""
        return self.residuals(network, self.row_weights(network))

    def residuals(self, network: Network, row_weights: list[Array]) -> Float[Array, " rows"]:
        """The residual vector with given weights."""

        def rows(term: Term, weights: Array) -> Array:
            chunks = _over_chunks(lambda chunk: term.rows(network, weights, chunk[0]), term)
            return chunks.reshape(-1, *chunks.shape[2:])[: term.num_points].ravel()

        return jnp.concatenate([rows(term, w) for term, w in zip(self.terms, row_weights, strict=True)])

    def linearize(
        self, network: Network, row_weights: list[Array]
    ) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]:
        """The residual vector and its Jacobian in the flattened parameters, with the weights frozen."""
        parameters, static = eqx.partition(network, eqx.is_inexact_array)
        flat, unravel = ravel_pytree(parameters)
        parts = [
            _column_jacobians(term, lambda f: eqx.combine(unravel(f), static), flat, weights)
            for term, weights in zip(self.terms, row_weights, strict=True)
        ]
        return jnp.concatenate([r for r, _ in parts]), jnp.concatenate([j for _, j in parts])

    def row_weights(self, network: Network) -> list[Float[Array, " times"]]:
        """The weight of every term's mean square at every time level, at the present parameters."""
        return self._row_weights(None if self.causality is None else self._levels(network))

    def weighted_loss(self, network: Network, row_weights: list[Array]) -> Float[Array, ""]:
        """The loss with given weights."""
        return _weighted_sum(row_weights, self._levels(network))

    def causal_weights(self, network: Network) -> Float[Array, " levels"] | None:
        """w_i of Eq. temporal_weights at the present parameters, None without causal weighting."""
        return self.loss(network).causal_weights

    def _levels(self, network: Network) -> list[Float[Array, " times"]]:
        """L_term(t_i) for every term, without its weight."""
        return [_over_chunks(lambda c, term=term: term.levels(network, *c), term).sum(0) for term in self.terms]

    def _causal_weights(self, levels: list[Array]) -> Float[Array, " levels"]:
        """w_0 = 1, w_i = exp(-epsilon * sum over j < i of L(t_j)) (Eqs. temporal_loss, temporal_weights).

        L(t_0) = omega_ic L_ic, plus omega_res L_res(t_0) where the residual is enforced at t0 too.
        """
        assert self.causality is not None
        initial, residual = self.terms[:2]
        per_level = residual.weight * levels[1]
        for term, values in zip(self.terms[2:], levels[2:], strict=True):
            per_level = per_level + term.weight * values
        first = (initial.weight * levels[0])[0]
        if self.terms[1].starts_at_initial_time:
            per_level = per_level.at[0].add(first)
        else:
            per_level = jnp.concatenate([first[None], per_level])
        earlier = jnp.concatenate([jnp.zeros_like(per_level[:1]), jnp.cumsum(per_level)[:-1]])
        return jax.lax.stop_gradient(jnp.exp(-self.causality * earlier))

    def _row_weights(self, levels: list[Array] | None) -> list[Float[Array, " times"]]:
        """The weight of every term's mean square at every time level."""
        if self.causality is None:
            return [jnp.full_like(term.times, term.weight / term.times.size) for term in self.terms]
        assert levels is not None
        causal = self._causal_weights(levels)
        scale = 1.0 / causal.size
        later = causal if self.terms[1].starts_at_initial_time else causal[1:]
        return [scale * self.terms[0].weight * causal[:1]] + [scale * t.weight * later for t in self.terms[1:]]

    def _value(self, levels: list[Array]) -> LossValue:
        total = _weighted_sum(self._row_weights(levels), levels)
        parts = {term.name: level.mean() for term, level in zip(self.terms, levels, strict=True)}
        causal = None if self.causality is None else self._causal_weights(levels)
        return LossValue(total, parts, causal)


def _weighted_sum(weights: list[Array], levels: list[Array]) -> Float[Array, ""]:
    return jnp.sum(jnp.stack([w @ level for w, level in zip(weights, levels, strict=True)]))


def initial_mismatch(problem: EvolutionProblem) -> Operator:
    """u(t0, x) - g(x) for every component."""

    def mismatch(*arguments):
        fields, coordinates = arguments[: len(problem.components)], arguments[len(problem.components) + 1 :]
        values = problem.initial(*coordinates)
        values = values if isinstance(values, tuple | list) else (values,)
        return tuple(u - g for u, g in zip(fields, values, strict=True))

    return mismatch


def _accumulate(term: Term, network: Network, weights: Array, gradients: Network) -> tuple[Array, Network]:
    """Add the gradient of weights @ levels to `gradients`, one chunk after the other."""

    def chunk_loss(network: Network, chunk: tuple[Array, Array]) -> tuple[Array, Array]:
        levels = term.levels(network, *chunk)
        return weights @ levels, levels

    def add_chunk(total, chunk):
        (_, levels), gradient = eqx.filter_value_and_grad(chunk_loss, has_aux=True)(network, chunk)
        return jax.tree.map(jnp.add, total, (levels, gradient)), None

    return jax.lax.scan(add_chunk, (jnp.zeros_like(term.times), gradients), (term.chunks, term.mask))[0]


def _column_jacobians(
    term: Term, rebuild: Callable[[Array], Network], flat: Float[Array, " parameters"], weights: Array
) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]:
    """Rows and their gradients, column by column, since a column's residuals depend on no other column."""
    if term.engine.couples_columns:
        raise ValueError(
            "the spectral engine couples all columns, so the Jacobian does not split over them; "
            "use engine='jets' with this optimizer."
        )

    def column(point: Float[Array, " dim"]) -> tuple[Array, Array]:
        rows, pull_back = jax.vjp(lambda f: term.rows(rebuild(f), weights, point[None]).ravel(), flat)
        (jacobian,) = jax.vmap(pull_back)(jnp.eye(rows.size, dtype=rows.dtype))
        return rows, jacobian

    rows, jacobian = jax.lax.map(column, term.points, batch_size=_JACOBIAN_COLUMNS)
    return rows.ravel(), jacobian.reshape(-1, flat.size)


_JACOBIAN_COLUMNS = 32


def _over_chunks(function: Callable, term: Term) -> Array:
    """Apply to every chunk, recomputing instead of storing for the backward pass when there are several."""
    if term.chunks.shape[0] == 1:
        return function((term.chunks[0], term.mask[0]))[None]
    return jax.lax.map(jax.checkpoint(function), (term.chunks, term.mask))


_CACHE_FRIENDLY_BYTES = 1_400_000  # of one array in a chunk: measured fastest, it keeps a layer in the L3 cache


def columns_per_chunk(
    network: Network, plan: Any, derivatives: tuple[MultiIndex, ...], num_points: int, memory_limit: int | None
) -> int:
    """How many columns to process at once: few enough for the cache and for the memory limit in bytes."""
    rows = plan.clock.shape[0] if plan is not None else 1
    widths = [leaf.shape[-1] for leaf in jax.tree.leaves(network.layers) if leaf.ndim == 2]
    array_bytes = rows * max(widths) * network.dtype.itemsize
    columns = max(1, _CACHE_FRIENDLY_BYTES // array_bytes)
    if memory_limit is not None:
        # The backward pass keeps the pre-activations, activations and their cotangents of every layer and jet.
        held = rows * sum(widths) * network.dtype.itemsize * 4 * (1 + len(derivatives))
        if held > memory_limit:
            raise ValueError(
                f"memory_limit={memory_limit} bytes is below the {held} that one column needs; raise it, or use a "
                "smaller network or temporal mesh."
            )
        columns = min(columns, memory_limit // held)
    columns = min(columns, num_points)
    return -(-num_points // -(-num_points // columns))  # equal chunks: as few padded columns as possible


def _check(
    problem: EvolutionProblem,
    network: Network,
    points: TrainingPoints,
    causality: float | None,
    memory_limit: int | None,
) -> None:
    problem.interval.check(points.times, "times")
    problem.box.check(points.points)
    if network.embedding.box != problem.box or network.interval != problem.interval:
        raise ValueError(
            f"the network was built for {network.embedding.box} and {network.interval}, "
            f"but {problem.name} lives on {problem.box} and {problem.interval}."
        )
    outputs = network.layers[-1].num_outputs
    if outputs != len(problem.components):
        raise ValueError(
            f"the network has {outputs} output(s), but {problem.name} has components {problem.components}."
        )
    if causality is not None and not (np.isfinite(causality) and causality > 0):
        raise ValueError(f"causality={causality}: epsilon must be positive and finite, or None for no causal weights.")
    if causality is not None and (np.diff(points.times) <= 0).any():
        raise ValueError(f"times={points.times.tolist()}: causal weights need increasing time levels.")
    if memory_limit is not None and memory_limit <= 0:
        raise ValueError(f"memory_limit={memory_limit}: give a positive number of bytes, or None.")
