"""Measurements of a solution: scattered in time and space, of any component or derivative, with noise."""

import hashlib
import json
from dataclasses import dataclass
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import Float

from .domains import Box, TimeInterval
from .fields import Operator


@dataclass(frozen=True, eq=False, init=False)
class Observations:
    """Values of one quantity at n places.

    `t` has n times, `x` n points: [n] on a line, [n, dimension] otherwise, None for an ODE. `of` says what was
    measured: a component by its name, "u", or a derivative or a part of it, "u.x", "psi.real". `noise` is the standard
    deviation of an error of measurement where it is known; otherwise it is estimated.
    """

    times: Float[np.ndarray, " n"]
    points: Float[np.ndarray, "n dim"]
    values: Float[np.ndarray, " n"]
    of: str | None
    noise: float | None

    def __init__(self, t: Any, x: Any, values: Any, of: str | None = None, noise: float | None = None):
        times, values = (np.atleast_1d(np.asarray(a, np.float64)) for a in (t, values))
        points = np.zeros((times.size, 0)) if x is None else np.asarray(x, np.float64)
        points = points[:, None] if points.ndim == 1 else points
        if times.ndim != 1 or values.shape != times.shape or points.shape[:1] != times.shape or points.ndim != 2:
            raise ValueError(
                f"Observations: t has shape {times.shape}, x {points.shape} and values {values.shape}; give n times, "
                "n points and n values."
            )
        if not times.size:
            raise ValueError("Observations: there is not a single one.")
        if not np.isfinite(values).all():
            raise ValueError(f"Observations: values[{np.flatnonzero(~np.isfinite(values))[0]}] is not finite.")
        if noise is not None and not (np.isfinite(noise) and noise > 0):
            raise ValueError(
                f"Observations(noise={noise}): give a positive standard deviation, or None to estimate it."
            )
        for name, value in (("times", times), ("points", points), ("values", values), ("of", of), ("noise", noise)):
            object.__setattr__(self, name, value)

    def between(self, start: float, end: float) -> "Observations | None":
        """Those between two times, None if there are none."""
        slack = 1e-9 * (end - start)
        inside = (self.times >= start - slack) & (self.times <= end + slack)
        if not inside.any():
            return None
        return Observations(self.times[inside], self.points[inside], self.values[inside], self.of, self.noise)

    def check(self, interval: TimeInterval, box: Box) -> None:
        """Raise for a measurement outside the domain."""
        interval.check(self.times, "observations: t")
        box.check(self.points, "observations: x")

    def operator(self, components: tuple[str, ...]) -> Operator:
        """What was measured, as an operator on the fields."""
        name, *attributes = (self.of or components[0]).split(".")
        if name not in components:
            raise ValueError(f"Observations(of={self.of!r}): there is no component {name!r}, only {list(components)}.")
        return _Reading(components.index(name), tuple(attributes))

    @property
    def digest(self) -> str:
        content = json.dumps([self.of, self.noise]).encode()
        arrays = (np.ascontiguousarray(a).tobytes() for a in (self.times, self.points, self.values))
        return hashlib.sha256(content + b"".join(arrays)).hexdigest()


class _Reading(eqx.Module):
    """Reads an attribute of one of the fields."""

    component: int = eqx.field(static=True)
    attributes: tuple[str, ...] = eqx.field(static=True)

    def __call__(self, *arguments):
        quantity = arguments[self.component]
        for name in self.attributes:
            quantity = getattr(quantity, name)
        return quantity
