"""SOAP: Adam in the slowly turning eigenbasis of Shampoo's factors (Vyas et al. 2024, arXiv:2409.11321).

For a matrix parameter with gradient G, exponential averages L of GG' and R of G'G have eigenvectors Q_L and Q_R.
Adam's first moment M is kept in the original space, its second moment V in the rotated one:

    M <- b1 M + (1 - b1) G                       V <- b2 V + (1 - b2) (Q_L' G Q_R)^2
    direction = Q_L [ Q_L' M Q_R / (1 - b1^t) / (sqrt(V / (1 - b2^t)) + epsilon) ] Q_R'

Every `refresh_every` steps the bases follow the factors by one power iteration and a QR decomposition,
Q <- qr(L Q), with the columns ordered by their estimated eigenvalues. V stays: its entries belong to the basis
vectors, so they are permuted with them and otherwise kept.
"""

from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from .base import LeastSquares, Optimizer, check_fraction, check_positive
from .gradient_step import GradientState, gradient_step, initial_state, refuse_options_of_numbers
from .schedules import Cosine


class SoapLeaf(eqx.Module):
    """One parameter's moments, and for each of its axes a factor and its eigenbasis; None where it is not turned."""

    momentum: Float[Array, "..."]
    second_moment: Float[Array, "..."]
    factors: tuple[Float[Array, "_ _"] | None, ...]
    bases: tuple[Float[Array, "_ _"] | None, ...]


class ScaleBySoapState(NamedTuple):
    count: Int[Array, ""]
    leaves: tuple[SoapLeaf, ...]


class SOAP(Optimizer):
    """SOAP with a number or any Optax schedule as learning rate, with defaults for physics-informed networks.

    With `decay_steps` a number falls to zero over so many steps, along half a cosine. The first step
    only measures the factors and does not move, as in the authors' code, so that no gradient is scaled in a basis made
    from itself alone. Axes longer than `max_dimension` are not turned; vectors see Adam.
    """

    learning_rate: float | optax.Schedule = eqx.field(static=True, default=3e-3)
    decay_steps: int | None = eqx.field(static=True, default=None)
    b1: float = eqx.field(static=True, default=0.95)
    b2: float = eqx.field(static=True, default=0.95)
    epsilon: float = eqx.field(static=True, default=1e-8)
    weight_decay: float = eqx.field(static=True, default=0.0)
    refresh_every: int = eqx.field(static=True, default=10)
    max_dimension: int = eqx.field(static=True, default=512)

    def __check_init__(self):
        check_positive(self, "epsilon", "refresh_every", "max_dimension")
        check_fraction(self, "b1", "b2")
        if callable(self.learning_rate):
            refuse_options_of_numbers(self, "decay_steps")
        else:
            check_positive(self, "learning_rate")
        if self.decay_steps is not None:
            check_positive(self, "decay_steps")
        if self.weight_decay < 0:
            raise ValueError(f"SOAP(weight_decay={self.weight_decay}): weight_decay must not be negative.")

    @property
    def _transformation(self) -> optax.GradientTransformation:
        soap = scale_by_soap(self.b1, self.b2, self.epsilon, self.refresh_every, self.max_dimension)
        return optax.chain(soap, optax.add_decayed_weights(self.weight_decay)) if self.weight_decay else soap

    @property
    def _schedule(self) -> optax.Schedule:
        if callable(self.learning_rate):
            return self.learning_rate
        if self.decay_steps is None:
            return optax.constant_schedule(self.learning_rate)
        return Cosine(self.learning_rate, self.decay_steps)

    def memory(self, num_rows: int, num_parameters: int, itemsize: int) -> int:
        """As if all parameters were in square matrices: two moments, two factors and two bases, before and after."""
        return 2 * 6 * itemsize * num_parameters + itemsize * num_parameters

    def init(self, model: PyTree) -> GradientState:
        return initial_state(self._transformation, model)

    def step(self, objective: LeastSquares, model: PyTree, state: GradientState):
        return gradient_step(self._transformation, self._schedule, objective, model, state)


def scale_by_soap(
    b1: float = 0.95, b2: float = 0.95, epsilon: float = 1e-8, refresh_every: int = 10, max_dimension: int = 512
) -> optax.GradientTransformation:
    """SOAP's direction as an Optax transformation, to be scaled by minus the learning rate."""

    def init(parameters: PyTree) -> ScaleBySoapState:
        leaves = tuple(_initial_leaf(p, max_dimension) for p in jax.tree.leaves(parameters))
        return ScaleBySoapState(jnp.asarray(0, jnp.int32), leaves)

    def update(updates: PyTree, state: ScaleBySoapState, params: PyTree = None):
        del params
        gradients, structure = jax.tree.flatten(updates)
        directions, leaves = zip(
            *[_follow(leaf, g, state.count, b1, b2, epsilon) for leaf, g in zip(state.leaves, gradients, strict=True)],
            strict=True,
        )
        leaves = _refresh(leaves, state.count, refresh_every)
        return jax.tree.unflatten(structure, directions), ScaleBySoapState(state.count + 1, leaves)

    return optax.GradientTransformation(init, update)  # pyright: ignore[reportArgumentType]


def _initial_leaf(parameter: Array, max_dimension: int) -> SoapLeaf:
    turned = [parameter.ndim >= 2 and 1 < size <= max_dimension for size in parameter.shape]
    sides = list(zip(parameter.shape, turned, strict=True))
    return SoapLeaf(
        jnp.zeros_like(parameter),
        jnp.zeros_like(parameter),
        tuple(jnp.zeros((size, size), parameter.dtype) if turn else None for size, turn in sides),
        tuple(jnp.eye(size, dtype=parameter.dtype) if turn else None for size, turn in sides),
    )


def _follow(
    leaf: SoapLeaf, gradient: Array, count: Array, b1: float, b2: float, epsilon: float
) -> tuple[Array, SoapLeaf]:
    """The direction, and the moments and factors after this gradient. The first gradient only enters the factors."""
    measuring = count == 0
    factors = tuple(
        None if factor is None else b2 * factor + (1 - b2) * _outer(gradient, axis)
        for axis, factor in enumerate(leaf.factors)
    )
    momentum = jnp.where(measuring, leaf.momentum, b1 * leaf.momentum + (1 - b1) * gradient)
    rotated = _rotate(gradient, leaf.bases, 0)
    second_moment = jnp.where(measuring, leaf.second_moment, b2 * leaf.second_moment + (1 - b2) * rotated**2)

    steps = jnp.maximum(count, 1).astype(gradient.dtype)
    mean = _rotate(momentum, leaf.bases, 0) / (1 - b1**steps)
    spread = jnp.sqrt(second_moment / (1 - b2**steps)) + epsilon
    return _rotate(mean / spread, leaf.bases, 1), SoapLeaf(momentum, second_moment, factors, leaf.bases)


def _refresh(leaves: tuple[SoapLeaf, ...], count: Array, refresh_every: int) -> tuple[SoapLeaf, ...]:
    """Bases by eigendecomposition after the first gradient, by power iteration every `refresh_every` after that."""

    def later(leaves):
        due = count % refresh_every == 0
        return jax.lax.cond(due, lambda all_: tuple(map(_power_iteration, all_)), lambda all_: all_, leaves)

    return jax.lax.cond(count == 0, lambda all_: tuple(map(_eigenbasis, all_)), later, leaves)


def _eigenbasis(leaf: SoapLeaf) -> SoapLeaf:
    bases = tuple(None if factor is None else jnp.linalg.eigh(factor)[1][:, ::-1] for factor in leaf.factors)
    return SoapLeaf(leaf.momentum, leaf.second_moment, leaf.factors, bases)


def _power_iteration(leaf: SoapLeaf) -> SoapLeaf:
    second_moment, bases = leaf.second_moment, []
    for axis, (factor, basis) in enumerate(zip(leaf.factors, leaf.bases, strict=True)):
        if factor is None or basis is None:
            bases.append(None)
            continue
        powered = factor @ basis
        order = jnp.argsort(jnp.sum(basis * powered, axis=0), descending=True)
        second_moment = jnp.take(second_moment, order, axis=axis)
        bases.append(jnp.linalg.qr(powered[:, order])[0])
    return SoapLeaf(leaf.momentum, second_moment, leaf.factors, tuple(bases))


def _outer(gradient: Array, axis: int) -> Array:
    """GG' for axis 0 and G'G for axis 1 of a matrix: all other axes summed."""
    others = [other for other in range(gradient.ndim) if other != axis]
    return jnp.tensordot(gradient, gradient, axes=(others, others))


def _rotate(values: Array, bases: tuple[Array | None, ...], side: int) -> Array:
    """Q_L' values Q_R into the eigenbasis with side 0, Q_L values Q_R' back with side 1."""
    for basis in bases:
        # Each turn consumes the first axis and appends the result, so all axes end where they began.
        values = jnp.moveaxis(values, 0, -1) if basis is None else jnp.tensordot(values, basis, axes=(0, side))
    return values
