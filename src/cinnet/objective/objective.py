"""The training objective: residual, initial and boundary terms, weighted, as one vector and as one number.

Both views come from the same rows. A row is a residual r at one time and point with a weight w that is never
differentiated; the vector holds sqrt(w) r and the loss is the sum of w r^2 (Eqs. loss, loss_terms). Causal
weighting (Appendix B) only changes the weights.
"""

from collections.abc import Mapping, Sequence

import equinox as eqx
import jax
import jax.numpy as jnp
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Float

from ..derivatives import Engine
from ..networks import Network
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .build import InitialValues, LossWeights, Weighted, check, make_terms
from .causal import causal_weights
from .columns import ColumnTerm
from .term import ExtraTerm, Term


class LossValue(eqx.Module):
    """The loss and what it is made of."""

    total: Float[Array, ""]
    parts: dict[str, Float[Array, ""]]
    causal_weights: Float[Array, " levels"] | None = None


class Objective(eqx.Module):
    """What training minimises, for a problem, a kind of network and a set of training points (Eqs. loss, causal_loss).

    With `causality`, the epsilon of Eq. temporal_weights, it is Eq. causal_loss; with None there are no causal
    weights. `memory_limit` bounds the bytes of intermediate values held at once.

    `start` is the time at which the network's interval begins, the problem's t0 if None, and `initial` its values
    there, a function of points: with both, a network of one short interval is trained on any window of a long one.
    Observations count up to `end`, that of the network's interval if None.
    """

    terms: tuple[Term, ...]
    weights: Float[Array, " terms"]
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
        start: float | None = None,
        end: float | None = None,
        initial: InitialValues | None = None,
        extra_terms: Sequence[ExtraTerm | Term] = (),
    ):
        if start is None and network.interval != problem.interval:
            raise ValueError(
                f"the network was built for {network.interval}, but {problem.name} lives on {problem.interval}; "
                "give `start` to train it on one window of the interval."
            )
        start = problem.interval.start if start is None else float(start)
        end = start + network.interval.duration if end is None else end
        check(problem, network, points, start - network.interval.start, causality, memory_limit)
        made: list[Weighted] = make_terms(
            problem, network, points, weights or LossWeights(), engine, memory_limit, (start, end), initial, extra_terms
        )
        self.terms = tuple(term for term, _ in made)
        self.weights = jnp.asarray([weight for _, weight in made], network.dtype)
        self.causality = None if causality is None else jnp.asarray(causality, network.dtype)

    @property
    def num_rows(self) -> int:
        """The length of the residual vector."""
        return sum(term.num_rows for term in self.terms)

    def term(self, name: str) -> Term:
        """A term by its name."""
        return self.terms[self._number(name)]

    def _number(self, name: str) -> int:
        names = [term.name for term in self.terms]
        if name not in names:
            raise ValueError(f"the loss has no term {name!r}, only {names}.")
        return names.index(name)

    @property
    def residual_term(self) -> ColumnTerm:
        residual = self.term("residual")
        assert isinstance(residual, ColumnTerm)
        return residual

    def weight(self, name: str) -> Float[Array, ""]:
        """The weight of a term by its name."""
        return self.weights[self._number(name)]

    def with_weights(self, weights: Mapping[str, float | Array]) -> "Objective":
        """The same objective with other weights of the terms that are named."""
        changed = self.weights
        for name, weight in weights.items():
            changed = changed.at[self._number(name)].set(jnp.asarray(weight, changed.dtype))
        return eqx.tree_at(lambda o: o.weights, self, changed)

    def with_causality(self, epsilon: float | Array | None) -> "Objective":
        """The same objective with another epsilon of the causal weights."""
        new = None if epsilon is None else jnp.asarray(epsilon, self.weights.dtype)
        return eqx.tree_at(lambda o: o.causality, self, new, is_leaf=lambda leaf: leaf is None)

    def with_weights_of(self, other: "Objective") -> "Objective":
        """The same objective with the epsilon of another one and its weights of the terms that both have."""
        known = {term.name for term in self.terms}
        shared = {term.name: other.weights[i] for i, term in enumerate(other.terms) if term.name in known}
        return self.with_weights(shared).with_causality(other.causality)

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
        """The weights of Eq. temporal_weights from the levels of all terms."""
        assert self.causality is not None
        first = self._number("initial")
        later = [i for i, term in enumerate(self.terms) if term.causal and i != first]
        weights = jnp.stack([self.weights[i] for i in later])
        per_level = jnp.sum(weights[:, None] * jnp.stack([levels[i] for i in later]), axis=0)
        at_start = (self.weights[first] * levels[first])[0]
        return causal_weights(at_start, per_level, self.causality, self.residual_term.starts_at_initial_time)

    def _row_weights(self, levels: list[Array] | None) -> list[Float[Array, " times"]]:
        """The weight of every term's mean square at every time level (Eq. causal_loss with causal weights)."""
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
        first = self._number("initial")
        return [
            plain[i] if not term.causal else scale * self.weights[i] * (causal[:1] if i == first else later)
            for i, term in enumerate(self.terms)
        ]

    def _value(self, levels: list[Array]) -> LossValue:
        total = _weighted_sum(self._row_weights(levels), levels)
        parts = {term.name: level.mean() for term, level in zip(self.terms, levels, strict=True)}
        causal = None if self.causality is None else self._causal_weights(levels)
        return LossValue(total, parts, causal)


def _weighted_sum(weights: list[Array], levels: list[Array]) -> Float[Array, ""]:
    return jnp.sum(jnp.stack([w @ level for w, level in zip(weights, levels, strict=True)]))
