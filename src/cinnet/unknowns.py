"""What is learned together with the solution: scalars and spatial fields in a problem's equation."""

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .domains import Axis, Box


@dataclass(frozen=True)
class _Bounds:
    """A guess and the open interval that the value stays in; None means that it has no end there."""

    guess: float
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self):
        name = type(self).__name__
        if not math.isfinite(self.guess):
            raise ValueError(f"{name}(guess={self.guess}): the guess must be finite.")
        if self.lower is not None and not self.lower < self.guess:
            raise ValueError(f"{name}(guess={self.guess}, lower={self.lower}): the guess must be above the lower end.")
        if self.upper is not None and not self.guess < self.upper:
            raise ValueError(f"{name}(guess={self.guess}, upper={self.upper}): the guess must be below the upper end.")

    def link(self, raw: Float[Array, "..."]) -> Float[Array, "..."]:
        """The value that an unconstrained number stands for; 0 stands for the guess."""
        lower, upper, guess = self.lower, self.upper, self.guess
        if lower is not None and upper is not None:
            offset = math.log((guess - lower) / (upper - guess))
            return lower + (upper - lower) * jax.nn.sigmoid(raw + offset)
        if lower is not None:
            return lower + (guess - lower) * jnp.exp(raw)
        if upper is not None:
            return upper - (upper - guess) * jnp.exp(raw)
        return guess + (abs(guess) or 1.0) * raw


@dataclass(frozen=True)
class Unknown(_Bounds):
    """A number in an equation that is to be learned: give it to a problem in place of the number.

    `Unknown(1.0, lower=0.0)` is positive and starts at 1; `lower` and `upper` are never reached.
    """

    def num_coefficients(self, box: Box) -> int:
        return 1

    def scales(self, box: Box) -> Float[np.ndarray, " coefficients"]:
        return np.zeros(1)

    def realise(self, coefficients: Float[Array, " coefficients"], box: Box) -> Float[Array, ""]:
        return self.link(coefficients[0])


@dataclass(frozen=True)
class UnknownField(_Bounds):
    """A function of space in an equation that is to be learned; the equation calls it: `self.conductivity(x)`.

    It is a sum of the products of `order` harmonics on periodic axes and polynomials up to degree `order` on bounded
    ones, then bent into its bounds. `smoothness` weighs a penalty on the coefficients that grows with their order;
    more of it makes noisy data harmless and detail invisible.
    """

    order: int = 4
    smoothness: float = 1e-6

    def __post_init__(self):
        super().__post_init__()
        if self.order < 1:
            raise ValueError(f"UnknownField(order={self.order}): at least 1 is needed.")
        if not self.smoothness >= 0:
            raise ValueError(f"UnknownField(smoothness={self.smoothness}): give a number of 0 or more.")

    def num_coefficients(self, box: Box) -> int:
        return len(self._selection(box))

    def scales(self, box: Box) -> Float[np.ndarray, " coefficients"]:
        """The square root of the penalty of every coefficient."""
        orders = [
            sum((k + 1) // 2 if axis.periodic else k for k, axis in zip(choice, box.axes, strict=True))
            for choice in self._selection(box)
        ]
        return math.sqrt(self.smoothness) * np.array(orders, float)

    def realise(self, coefficients: Float[Array, " coefficients"], box: Box) -> "LearnedField":
        return LearnedField(coefficients, self, box)

    def _selection(self, box: Box) -> list[tuple[int, ...]]:
        counts = [2 * self.order + 1 if axis.periodic else self.order + 1 for axis in box.axes]
        return list(itertools.product(*(range(count) for count in counts)))

    def basis(self, x: Float[Array, " dim"], box: Box) -> Float[Array, " coefficients"]:
        axes = [self._axis_basis(x[i], axis) for i, axis in enumerate(box.axes)]
        products = [math.prod(axes[i][k] for i, k in enumerate(choice)) for choice in self._selection(box)]
        return jnp.stack([jnp.asarray(product) for product in products])

    def _axis_basis(self, x: Float[Array, ""], axis: Axis) -> list[Array]:
        scaled = (x - axis.lower) / axis.length
        if axis.periodic:
            phases = [2 * np.pi * m * scaled for m in range(1, self.order + 1)]
            return [jnp.ones_like(x), *(wave(phase) for phase in phases for wave in (jnp.cos, jnp.sin))]
        chebyshev = [jnp.ones_like(x), 2 * scaled - 1]
        while len(chebyshev) <= self.order:
            chebyshev.append(2 * chebyshev[1] * chebyshev[-1] - chebyshev[-2])
        return chebyshev


class LearnedField(eqx.Module):
    """An unknown field with coefficients: a function of the coordinates."""

    coefficients: Float[Array, " coefficients"]
    field: UnknownField = eqx.field(static=True)
    box: Box = eqx.field(static=True)

    def __call__(self, *coordinates) -> Float[Array, ""]:
        if len(coordinates) != self.box.dimension:
            raise ValueError(f"an unknown field takes the coordinates {self.box.names}, got {len(coordinates)}.")
        point = jnp.stack([jnp.asarray(x, self.coefficients.dtype) for x in coordinates])
        return self.field.link(self.field.basis(point, self.box) @ self.coefficients)

    def on(self, points: Float[np.ndarray, "points dim"]) -> Float[np.ndarray, " points"]:
        """Values at many points."""
        return np.asarray(jax.vmap(lambda x: self(*x))(jnp.asarray(points)))


AnyUnknown = Unknown | UnknownField
# The annotation of a number in an equation that may be unknown. To a type checker it is anything, because equations
# only ever see the number.
if TYPE_CHECKING:
    Parameter = Any
else:
    Parameter = float | Unknown
