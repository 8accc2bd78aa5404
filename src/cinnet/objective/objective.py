"""The training objective: residual, initial and boundary terms, weighted, as one vector and as one number.

Both views come from the same rows. A row is a residual r at one time and point with a weight w that is never
differentiated; the vector holds sqrt(w) r and the loss is the sum of w r^2 (Eqs. loss, loss_terms). Causal
weighting (Appendix B) only changes the weights.
"""

import dataclasses
from collections.abc import Callable, Iterable

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from ..derivatives import Engine, JetEngine, resolve_engine
from ..fields import Operator
from ..networks import Network
from ..observations import Observations
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .prior import Prior
from .term import Term


@dataclasses.dataclass(frozen=True)
class LossWeights:
    """omega_res, omega_ic and omega_bc of Eq. loss, the defaults are the paper's, and the weight of observations."""

    residual: float = 1.0
    initial: float = 100.0
    boundary: float = 100.0
    observation: float = 1.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"LossWeights({field.name}={value}): loss weights must be finite and not negative.")


InitialValues = Callable[[np.ndarray], Array | np.ndarray]


class LossValue(eqx.Module):
    """The loss and what it is made of."""

    total: Float[Array, ""]
    parts: dict[str, Float[Array, ""]]
    causal_weights: Float[Array, " levels"] | None = None


class Objective(eqx.Module):
    """What training minimises, for a problem, a kind of network and a set of training points.

    With `causality`, the epsilon of Eq. temporal_weights, it is Eq. causal_loss; with None there are no causal
    weights. `memory_limit` bounds the bytes of intermediate values held at once.

    `start` is the time at which the network's interval begins, the problem's t0 if None, and `initial` its values
    there, a function of points: with both, a network of one short interval is trained on any window of a long one.
    Observations count up to `end`, that of the network's interval if None.
    """

    terms: tuple[Term | Prior, ...]
    weights: Float[Array, " terms"]
    causality: Float[Array, ""] | None
    num_causal: int = eqx.field(static=True)

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
        start: float | None = None,
        end: float | None = None,
        initial: InitialValues | None = None,
    ):
        weights = weights or LossWeights()
        if start is None and network.interval != problem.interval:
            raise ValueError(
                f"the network was built for {network.interval}, but {problem.name} lives on {problem.interval}; "
                "give `start` to train it on one window of the interval."
            )
        start = problem.interval.start if start is None else float(start)
        delay = start - network.interval.start
        _check(problem, network, points, delay, causality, memory_limit)
        interior = resolve_engine(engine, problem.box, points.counts)
        at_conditions = JetEngine() if interior.couples_columns else interior
        at_start = dataclasses.replace(points, times=np.array([start]))
        terms: list[tuple[str, Operator, Engine, TrainingPoints, float]] = []
        terms.append(("initial", AllComponents(len(problem.outputs)), at_conditions, at_start, weights.initial))
        terms.append(("residual", problem.residual_operator, interior, points, weights.residual))
        for condition, mismatch in problem.boundary_operators:
            face = TrainingPoints(points.times, condition.project(problem.box, points.points))
            before = sum(name.startswith(condition.name) for name, *_ in terms)
            name = f"{condition.name} {before + 1}" if before else condition.name
            terms.append((name, mismatch, at_conditions, face, weights.boundary))
        targets = {"initial": initial or problem.initial_values}
        enforced = [
            Term(name, operator, problem, network, engine, where, memory_limit, targets.get(name), delay)
            for name, operator, engine, where, _ in terms
        ]
        end = start + network.interval.duration if end is None else end
        observed = [
            _observed_term(problem, network, name, inside, memory_limit, delay)
            for name, one in observations_by_term(problem).items()
            if (inside := one.between(start, end)) is not None
        ]
        scales = {name: unknown.scales(problem.box) for name, unknown in problem.unknowns.items()}
        scales = {name: scale for name, scale in scales.items() if scale.any()}
        priors = [Prior(scales, network.dtype)] if scales else []
        self.terms = (*enforced, *observed, *priors)
        self.num_causal = len(enforced)
        beyond = [weights.observation] * len(observed) + [1.0] * len(priors)
        self.weights = jnp.asarray([weight for *_, weight in terms] + beyond, network.dtype)
        self.causality = None if causality is None else jnp.asarray(causality, network.dtype)

    @property
    def num_rows(self) -> int:
        """The length of the residual vector."""
        return sum(term.num_points * term.times.size * term.num_equations for term in self.terms)

    def loss(self, network: Network) -> LossValue:
        """The loss; differentiable, with one forward pass repeated for each chunk when there are several."""
        return self._value(self._levels(network))

    def loss_and_gradient(self, network: Network) -> tuple[LossValue, Network]:
        """The loss and its gradient, chunk by chunk, without holding more than one chunk's intermediates."""
        if all(term.is_single_chunk for term in self.terms):

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
            levels, gradients = term.add_gradient(network, weights, gradients)
            all_levels.append(levels)
        return self._value(all_levels), gradients

    def residual_vector(self, network: Network) -> Float[Array, " rows"]:
        """sqrt(w) r for every row, term after term and column after column; its sum of squares is the loss."""
        return self.residuals(network, self.row_weights(network))

    def residuals(self, network: Network, row_weights: list[Array]) -> Float[Array, " rows"]:
        """The residual vector with given weights."""
        return jnp.concatenate([term.rows(network, w) for term, w in zip(self.terms, row_weights, strict=True)])

    def linearize(
        self, network: Network, row_weights: list[Array]
    ) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]:
        """The residual vector and its Jacobian in the flattened parameters, with the weights frozen."""
        parameters, static = eqx.partition(network, eqx.is_inexact_array)
        flat, unravel = ravel_pytree(parameters)
        parts = [
            term.jacobian(lambda f: eqx.combine(unravel(f), static), flat, weights)
            for term, weights in zip(self.terms, row_weights, strict=True)
        ]
        return jnp.concatenate([r for r, _ in parts]), jnp.concatenate([j for _, j in parts])

    def gradient_norms(self, network: Network) -> Float[Array, " terms"]:
        """The norm of the gradient of every term's mean square, without its weight."""
        zeros = jax.tree.map(jnp.zeros_like, eqx.filter(network, eqx.is_inexact_array))
        means = [jnp.full_like(term.times, 1 / term.times.size) for term in self.terms]
        gradients = [term.add_gradient(network, mean, zeros)[1] for term, mean in zip(self.terms, means, strict=True)]
        return jnp.stack([jnp.linalg.norm(ravel_pytree(gradient)[0]) for gradient in gradients])

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
        return [term.levels(network) for term in self.terms]

    def _causal_weights(self, levels: list[Array]) -> Float[Array, " levels"]:
        """w_0 = 1, w_i = exp(-epsilon * sum over j < i of L(t_j)) (Eqs. temporal_loss, temporal_weights).

        L(t_0) = omega_ic L_ic, plus omega_res L_res(t_0) where the residual is enforced at t0 too.
        """
        assert self.causality is not None
        causal = slice(1, self.num_causal)
        per_level = jnp.sum(self.weights[causal, None] * jnp.stack(levels[causal]), axis=0)
        first = (self.weights[0] * levels[0])[0]
        if self.residual_term.starts_at_initial_time:
            per_level = per_level.at[0].add(first)
        else:
            per_level = jnp.concatenate([first[None], per_level])
        earlier = jnp.concatenate([jnp.zeros_like(per_level[:1]), jnp.cumsum(per_level)[:-1]])
        return jax.lax.stop_gradient(jnp.exp(-self.causality * earlier))

    def _row_weights(self, levels: list[Array] | None) -> list[Float[Array, " times"]]:
        """The weight of every term's mean square at every time level."""
        plain = [
            jnp.full_like(term.times, 1 / term.times.size) * weight
            for term, weight in zip(self.terms, self.weights, strict=True)
        ]
        if self.causality is None:
            return plain
        assert levels is not None
        causal = self._causal_weights(levels)
        scale = 1.0 / causal.size
        later = causal if self.residual_term.starts_at_initial_time else causal[1:]
        enforced = [scale * weight * later for weight in self.weights[1 : self.num_causal]]
        return [scale * self.weights[0] * causal[:1], *enforced, *plain[self.num_causal :]]

    @property
    def residual_term(self) -> Term:
        residual = self.terms[1]
        assert isinstance(residual, Term)
        return residual

    def _value(self, levels: list[Array]) -> LossValue:
        total = _weighted_sum(self._row_weights(levels), levels)
        parts = {term.name: level.mean() for term, level in zip(self.terms, levels, strict=True)}
        causal = None if self.causality is None else self._causal_weights(levels)
        return LossValue(total, parts, causal)


def term_names(record: Iterable[str]) -> list[str]:
    """Which entries of a training record are terms of the loss."""
    kinds = ("initial", "residual", "boundary", "observations", "prior")
    return [name for name in record if name.split(" ")[0] in kinds]


def _weighted_sum(weights: list[Array], levels: list[Array]) -> Float[Array, ""]:
    return jnp.sum(jnp.stack([w @ level for w, level in zip(weights, levels, strict=True)]))


def observations_by_term(problem: EvolutionProblem) -> dict[str, Observations]:
    """The measurements of a problem under the names of their terms."""
    return {f"observations {i}" if i else "observations": one for i, one in enumerate(problem.observations)}


def _observed_term(
    problem: EvolutionProblem,
    network: Network,
    name: str,
    observed: Observations,
    memory_limit: int | None,
    delay: float,
) -> Term:
    """The mismatch of every observation."""
    operator = problem.on_real_fields(observed.operator(problem.components))
    where = TrainingPoints(observed.times[:1], observed.points)
    values = np.asarray(observed.values)

    def targets(points: np.ndarray) -> np.ndarray:
        return np.resize(values, len(points))[:, None]

    return Term(
        name,
        operator,
        problem,
        network,
        JetEngine(),
        where,
        memory_limit,
        targets,
        delay,
        scattered=observed.times,
    )


class AllComponents(eqx.Module):
    """The operator that gives u itself, every component."""

    count: int = eqx.field(static=True)

    def __call__(self, *arguments):
        return arguments[: self.count]


def _check(
    problem: EvolutionProblem,
    network: Network,
    points: TrainingPoints,
    delay: float,
    causality: float | None,
    memory_limit: int | None,
) -> None:
    problem.interval.check(points.times, "times")
    problem.box.check(points.points)
    if network.embedding.box != problem.box:
        raise ValueError(
            f"the network was built for {network.embedding.box}, but {problem.name} lives on {problem.box}."
        )
    network.interval.check(points.times - delay, "times")
    outputs = network.widths[-1]
    if outputs != len(problem.outputs):
        raise ValueError(f"the network has {outputs} output(s), but {problem.name} has components {problem.outputs}.")
    if causality is not None and not (np.isfinite(causality) and causality > 0):
        raise ValueError(f"causality={causality}: epsilon must be positive and finite, or None for no causal weights.")
    if causality is not None and (np.diff(points.times) <= 0).any():
        raise ValueError(f"times={points.times.tolist()}: causal weights need increasing time levels.")
    if memory_limit is not None and memory_limit <= 0:
        raise ValueError(f"memory_limit={memory_limit}: give a positive number of bytes, or None.")
