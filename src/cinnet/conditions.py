"""Conditions that single out one solution: at the boundary, B[u] = h on one face of the box or on two."""

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from .domains import Box
from .fields import Field, Operator

Factor = float | Array
Value = Factor | Callable[..., Factor | tuple]


def _all_components(*arguments: Any) -> tuple:
    return tuple(argument for argument in arguments if isinstance(argument, Field))


@dataclass(frozen=True)
class ValueAndSlope:
    """a u + b du/dn of all components, or of those numbered, with the derivative along the outward normal.

    Which way that is, depends on the side; None stands for both and cannot be applied.
    """

    axis: str
    value_factor: Factor
    slope_factor: Factor
    of: tuple[int, ...] | None = None
    side: str | None = None

    def on(self, side: str) -> "ValueAndSlope":
        return dataclasses.replace(self, side=side)

    def __call__(self, *arguments: Any) -> tuple:
        fields = _all_components(*arguments)
        chosen = fields if self.of is None else [fields[number] for number in self.of]
        outward = self.slope_factor * (-1.0 if self.side == "lower" else 1.0)
        return tuple(self._combination(field, outward) for field in chosen)

    def _combination(self, field: Field, outward: Factor) -> Any:
        if _is_zero(self.slope_factor):
            return self.value_factor * field
        slope = outward * getattr(field, self.axis)
        return slope if _is_zero(self.value_factor) else slope + self.value_factor * field


def _is_zero(factor: Factor) -> bool:
    return isinstance(factor, float) and not factor


@dataclass(frozen=True)
class BoundaryCondition:
    """`B[u](t, x) = h(t, x)` on the faces where `axis` is at its "lower" or "upper" end, or at "both".

    `operator(u, t, x, ...)` may use any derivatives, as a residual does; it defaults to u itself, every component.
    `value` is h, a number or a function `value(t, x, ...)`. `dirichlet`, `neumann` and `robin` make the usual ones.
    """

    axis: str
    side: str = "both"
    operator: Operator = _all_components
    value: Value = 0.0

    def __post_init__(self):
        if self.side not in ("lower", "upper", "both"):
            raise ValueError(f"BoundaryCondition(side={self.side!r}): use 'lower', 'upper' or 'both'.")

    def faces(self) -> "Iterable[BoundaryCondition]":
        """The same condition on each of its faces."""
        for side in ("lower", "upper") if self.side == "both" else (self.side,):
            oriented = self.operator.on(side) if isinstance(self.operator, ValueAndSlope) else self.operator
            yield dataclasses.replace(self, side=side, operator=oriented)

    @property
    def name(self) -> str:
        return f"boundary {self.axis} {self.side}"

    def check(self, box: Box) -> None:
        if box.axes[box.axis_index(self.axis)].periodic:
            raise ValueError(
                f"BoundaryCondition(axis={self.axis!r}): this axis is periodic and has no boundary; "
                "make it Bounded or drop the condition."
            )

    def mismatch(self, *arguments) -> tuple:
        """B[u] - h at one point, the operator whose square the boundary loss averages."""
        coordinates = [a for a in arguments if not isinstance(a, Field)]
        left = self.operator(*arguments)
        right = self.value(*coordinates) if callable(self.value) else self.value
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


def dirichlet(axis: str, side: str = "both", value: Value = 0.0, of: int | None = None) -> BoundaryCondition:
    """u = value; of every component, or of the one with the number `of`."""
    return robin(axis, side, value, 1.0, 0.0, of)


def neumann(axis: str, side: str = "both", value: Value = 0.0, of: int | None = None) -> BoundaryCondition:
    """du/dn = value, the derivative along the outward normal; of every component, or of the one numbered `of`."""
    return robin(axis, side, value, 0.0, 1.0, of)


def robin(
    axis: str, side: str = "both", value: Value = 0.0, a: Factor = 1.0, b: Factor = 1.0, of: int | None = None
) -> BoundaryCondition:
    """a u + b du/dn = value, with the derivative along the outward normal; the factors may be unknown."""
    a, b = (factor if isinstance(factor, Tracer) else float(factor) for factor in (a, b))
    if not all(isinstance(one, Tracer) or np.isfinite(one) for one in (a, b)) or (_is_zero(a) and _is_zero(b)):
        raise ValueError(f"robin(a={a}, b={b}): the factors must be finite and not both zero.")
    chosen = None if of is None else (of,)
    return BoundaryCondition(axis, side, ValueAndSlope(axis, a, b, chosen), value)
