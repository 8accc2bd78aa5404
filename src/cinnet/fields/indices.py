"""Derivatives by name: the order in t, in x, in y, and so on."""

import itertools
import math
from collections.abc import Iterable

from ..domains import AXIS_NAMES

MultiIndex = tuple[int, ...]


def below(index: MultiIndex) -> Iterable[MultiIndex]:
    """All multi-indices that are componentwise at most `index`, itself included, in lexicographic order."""
    return itertools.product(*(range(order + 1) for order in index))


def subtract(index: MultiIndex, other: MultiIndex) -> MultiIndex:
    return tuple(i - j for i, j in zip(index, other, strict=True))


def factorial(index: MultiIndex) -> int:
    return math.prod(math.factorial(order) for order in index)


def derivative_name(index: MultiIndex) -> str:
    """`(1, 0, 2)` -> `u.tyy`, for messages."""
    letters = "".join(name * order for name, order in zip(("t", *AXIS_NAMES), index, strict=False))
    return f"u.{letters}" if letters else "u"


def parse_derivative(name: str, dimension: int) -> MultiIndex | None:
    """The multi-index of an attribute such as `txx`; None if the name is not made of t, x, y, z."""
    if not name or set(name) - {"t", *AXIS_NAMES}:
        return None
    axes = AXIS_NAMES[:dimension]
    for letter in name:
        if letter != "t" and letter not in axes:
            raise ValueError(
                f"u.{name}: there is no axis {letter!r} in a domain with axes {list(axes)}; "
                "use only existing axes, or add the axis to the problem's `space`."
            )
    if name.count("t") > 1:
        raise ValueError(
            f"u.{name}: second time derivatives are not offered; write the equation as a first-order system "
            "with components ('u', 'v') and v = u.t."
        )
    return (name.count("t"), *(name.count(axis) for axis in axes))
