"""Conditions that single out one solution: at the boundary, B[u] = h on one face of the box."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float

from .domains import Box
from .fields import Field, Operator


def _identity(u, *_):
    return u


def _zero(*_):
    return 0.0


@dataclass(frozen=True)
class BoundaryCondition:
    """`B[u](t, x) = h(t, x)` on the face where `axis` is at its lower or upper end.

    `operator(u, t, x, ...)` may use any derivatives, as a residual does; it defaults to u itself.
    `value(t, x, ...)` is h and defaults to zero.
    """

    axis: str
    side: str
    operator: Operator = _identity
    value: Callable[..., Array | float | tuple] = _zero

    def __post_init__(self):
        if self.side not in ("lower", "upper"):
            raise ValueError(f"BoundaryCondition(side={self.side!r}): use 'lower' or 'upper'.")

    def check(self, box: Box) -> None:
        if box.axes[box.axis_index(self.axis)].periodic:
            raise ValueError(
                f"BoundaryCondition(axis={self.axis!r}): this axis is periodic and has no boundary; "
                "make it Bounded or drop the condition."
            )

    def mismatch(self, *arguments) -> tuple:
        """B[u] - h at one point, the operator whose square the boundary loss averages."""
        coordinates = [a for a in arguments if not isinstance(a, Field)]
        left, right = self.operator(*arguments), self.value(*coordinates)
        left = left if isinstance(left, tuple) else (left,)
        right = right if isinstance(right, tuple) else (right,) * len(left)
        return tuple(a - b for a, b in zip(left, right, strict=True))

    def project(self, box: Box, points: Float[np.ndarray, "points dim"]) -> Float[np.ndarray, "face dim"]:
        """Move points onto the face, each place once."""
        index = box.axis_index(self.axis)
        axis = box.axes[index]
        on_face = np.array(points, dtype=np.float64)
        on_face[:, index] = axis.lower if self.side == "lower" else axis.upper
        return np.unique(on_face, axis=0)
