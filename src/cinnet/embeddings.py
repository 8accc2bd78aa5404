"""What the network sees of space: periodic features (Appendix A) and scaled bounded coordinates, with their jets."""

import itertools
import math
from collections.abc import Sequence

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .domains import Box
from .fields import MultiIndex, factorial
from .jets import Jet
from .symmetry import Symmetry


def default_harmonics(box: Box, spatial_order: int) -> tuple[int, ...]:
    """The paper's choice: 10 in one dimension, 5 for fourth-order equations, 2 for each axis in more."""
    periodic = sum(axis.periodic for axis in box.axes)
    if periodic == 1:
        return (5,) if spatial_order >= 4 else (10,)
    return (2,) * periodic


_MIRRORED_HARMONICS = 5


class Embedding(eqx.Module):
    """Maps a point of a box to the spatial input features of a network.

    Periodic axes enter by trigonometric features: in one dimension (Eq. periodic_embedding_1d)

        v(x) = (1, cos(w x), sin(w x), ..., cos(M w x), sin(M w x)),    w = 2 pi / period,

    in two (Eq. periodic_embedding_2d) and three by all products of one cosine or sine for each axis. These
    products, the paper's, hold no constant and no function of one coordinate alone, so that even u = cos(w x)
    is not linear in them. `tensor="complete"` takes products of the full one-dimensional features instead,
    constant included. Bounded axes enter as one coordinate each, scaled to [-1, 1], and `bounded_harmonics` cosines and
    sines of period twice their length; those that are `mirrored`, as cosines whose slope is zero at both ends, so that
    the slope of any function of them is zero there too.

    With a `symmetry` only features that have it enter: on an even axis cosines about its centre, along a repeating
    axis harmonics of the shorter period, and for axes that may be exchanged means over all exchanges.
    """

    box: Box = eqx.field(static=True)
    harmonics: tuple[int, ...] = eqx.field(static=True)
    tensor: str = eqx.field(static=True)
    symmetry: Symmetry = eqx.field(static=True)
    mirrored: tuple[bool, ...] = eqx.field(static=True)
    bounded_harmonics: int = eqx.field(static=True)

    def __init__(
        self,
        box: Box,
        harmonics: int | Sequence[int] = 10,
        tensor: str = "paper",
        symmetry: Symmetry | None = None,
        mirrored: tuple[bool, ...] | None = None,
        bounded_harmonics: int = 0,
    ):
        if bounded_harmonics < 0:
            raise ValueError(f"bounded_harmonics={bounded_harmonics}: give 0 or more.")
        self.bounded_harmonics = bounded_harmonics
        periodic = sum(axis.periodic for axis in box.axes)
        counts = (harmonics,) * periodic if isinstance(harmonics, int) else tuple(harmonics)
        if len(counts) != periodic:
            raise ValueError(f"harmonics={harmonics!r}: give one number for each of the {periodic} periodic axes.")
        if any(not isinstance(count, int) or count < 1 for count in counts):
            raise ValueError(f"harmonics={harmonics!r}: every periodic axis needs at least one harmonic (M >= 1).")
        if tensor not in ("paper", "complete"):
            raise ValueError(f"tensor={tensor!r}: use 'paper' or 'complete'.")
        self.box, self.harmonics, self.tensor = box, counts, tensor
        self.symmetry = Symmetry.none(box) if symmetry is None else symmetry
        self.mirrored = (False,) * box.dimension if mirrored is None else mirrored
        if self.symmetry.exchange and len(set(counts)) > 1:
            raise ValueError(f"harmonics={counts}: axes that are exchanged need the same number of harmonics.")

    @property
    def num_features(self) -> int:
        widths = (_MIRRORED_HARMONICS if mirror else 1 + 2 * self.bounded_harmonics for mirror in self.mirrored)
        bounded = sum(width for axis, width in zip(self.box.axes, widths, strict=True) if not axis.periodic)
        if not self.harmonics:
            return bounded
        return bounded + len(self._selection())

    def _selection(self) -> list[tuple[int, ...]]:
        """Which products of one-dimensional features enter; feature 2m-1 is cos(m w x) and 2m is sin(m w x)."""
        even = [even for axis, even in zip(self.box.axes, self.symmetry.even, strict=True) if axis.periodic]
        if len(self.harmonics) == 1 or self.tensor == "complete":
            complete = [
                [0, *range(1, 2 * count, 2)] if cosines else range(2 * count + 1)
                for count, cosines in zip(self.harmonics, even, strict=True)
            ]
            products = list(itertools.product(*complete))
        else:
            kinds = list(itertools.product(*((1,) if cosines else (1, 0) for cosines in even)))
            orders = list(itertools.product(*(range(1, count + 1) for count in self.harmonics)))
            products = [
                tuple(2 * m - c for m, c in zip(order, kind, strict=True)) for kind in kinds for order in orders
            ]
        return [p for p in products if list(p) == sorted(p)] if self.symmetry.exchange else products

    def _axis_features(self, x: Float[Array, " points"], i: int, count: int, order: int) -> Array:
        """The `order`-th derivative of (1, cos(w x), sin(w x), ...) along axis i at every point."""
        axis, repeats = self.box.axes[i], self.symmetry.repeats[i]
        origin = (axis.lower + axis.upper) / 2 if self.symmetry.even[i] else 0.0
        frequency = np.arange(1, count + 1) * (2 * np.pi * repeats / axis.length)
        phase = (x - origin)[:, None] * frequency.astype(x.dtype)
        scale = (frequency**order).astype(x.dtype)
        cosine, sine = jnp.cos(phase), jnp.sin(phase)
        derivatives = ((cosine, sine), (-sine, cosine), (-cosine, -sine), (sine, -cosine))
        pairs = jnp.stack([scale * part for part in derivatives[order % 4]], axis=-1).reshape(x.shape[0], -1)
        return jnp.concatenate([jnp.full_like(x[:, None], 0.0 if order else 1.0), pairs], axis=1)

    def _cosines(
        self, x: Float[Array, " points"], i: int, order: int, count: int, shift: float = 0.0
    ) -> Float[Array, "points features"]:
        """The `order`-th derivative of cos(m pi xi + shift), m = 1, ..., count, with xi from 0 to 1 along axis i."""
        axis = self.box.axes[i]
        frequency = np.arange(1, count + 1) * (np.pi / axis.length)
        phase = (x - axis.lower)[:, None] * frequency.astype(x.dtype) + np.asarray(shift + order * np.pi / 2, x.dtype)
        return jnp.asarray(frequency**order, x.dtype) * jnp.cos(phase)

    def _bounded_features(self, x: Float[Array, " points"], i: int, order: int) -> Float[Array, "points features"]:
        """The `order`-th derivative of what a bounded axis enters as."""
        if self.mirrored[i]:
            return self._cosines(x, i, order, _MIRRORED_HARMONICS)
        slope = 2.0 / self.box.axes[i].length
        if order == 0:
            scaled = slope * (x - self.box.axes[i].lower) - 1.0
        else:
            scaled = jnp.full_like(x, slope if order == 1 else 0.0)
        waves = [self._cosines(x, i, order, self.bounded_harmonics, shift) for shift in (0.0, -np.pi / 2)]
        return jnp.concatenate([scaled[:, None], *waves], axis=1)

    def jets(self, points: Float[Array, "points dim"], indices: Sequence[MultiIndex]) -> Jet:
        """Taylor coefficients of the features at many points, each [points, features]."""
        return {index: self._derivative(points, index) / factorial(index) for index in indices}

    def _derivative(self, points: Float[Array, "points dim"], index: MultiIndex) -> Array:
        periodic = [i for i, axis in enumerate(self.box.axes) if axis.periodic]
        bounded = [i for i, axis in enumerate(self.box.axes) if not axis.periodic]
        parts = []
        if periodic:
            axes = [
                self._axis_features(points[:, i], i, count, index[i])
                for i, count in zip(periodic, self.harmonics, strict=True)
            ]
            product = self._products(axes)
            parts.append(jnp.zeros_like(product) if any(index[i] for i in bounded) else product)
        for i in bounded:
            others = sum(order for j, order in enumerate(index) if j != i)
            features = self._bounded_features(points[:, i], i, index[i])
            parts.append(jnp.zeros_like(features) if others else features)
        return jnp.concatenate(parts, axis=1) if parts else jnp.zeros((points.shape[0], 0), points.dtype)

    def _products(self, axes: list[Float[Array, "points _"]]) -> Float[Array, "points products"]:
        """The selected products of one feature for each axis, or their means over exchanges of axes."""
        selection = np.array(self._selection())
        straight = tuple(range(len(axes)))
        orders = list(itertools.permutations(straight)) if self.symmetry.exchange else [straight]
        products = [
            math.prod(
                (axis[:, selection[:, k]] for axis, k in zip(axes[1:], order[1:], strict=True)),
                start=axes[0][:, selection[:, order[0]]],
            )
            for order in orders
        ]
        return sum(products[1:], start=products[0]) / len(orders) if len(orders) > 1 else products[0]

    def __call__(self, x: Float[Array, " dim"]) -> Float[Array, " features"]:
        return self._derivative(x[None, :], (0,) * self.box.dimension)[0]
