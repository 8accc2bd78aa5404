"""Maps of space that leave a solution unchanged.

A network that only sees invariant features has the symmetry exactly, and columns that are images of each other become
one.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .domains import Box


@dataclass(frozen=True)
class Symmetry:
    """For every axis how often the solution repeats along it and whether it is even about its centre.

    `exchange` says that the solution does not change when coordinates change places.
    """

    repeats: tuple[int, ...]
    even: tuple[bool, ...]
    exchange: bool = False

    @classmethod
    def none(cls, box: Box) -> "Symmetry":
        return cls((1,) * box.dimension, (False,) * box.dimension)

    @property
    def order(self) -> int:
        """How many images a general point has, itself included."""
        exchanges = math.factorial(len(self.even)) if self.exchange else 1
        return exchanges * math.prod(n * (1 + even) for n, even in zip(self.repeats, self.even, strict=True))

    def representative(self, points: Float[np.ndarray, "points dim"], box: Box) -> Float[np.ndarray, "points dim"]:
        """The image of every point in one cell of the symmetry: equal for points that are images of each other."""
        folded = [
            _fold(points[:, i], axis.lower, axis.length / n, (axis.lower + axis.upper) / 2 if even else None)
            if axis.periodic
            else points[:, i]
            for i, (axis, n, even) in enumerate(zip(box.axes, self.repeats, self.even, strict=True))
        ]
        stacked = np.stack(folded, axis=1) if folded else points
        return np.sort(stacked, axis=1) if self.exchange else stacked


def _fold(x: np.ndarray, lower: float, period: float, centre: float | None) -> np.ndarray:
    if centre is None:
        return lower + np.mod(x - lower, period)
    distance = np.mod(x - centre, period)
    return centre + np.minimum(distance, period - distance)
