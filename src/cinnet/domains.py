"""Where an evolution equation lives: a time interval and a box whose axes are periodic or bounded."""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

AXIS_NAMES = ("x", "y", "z")


def _check_ends(owner: str, lower: float, upper: float) -> tuple[float, float]:
    try:
        lower, upper = float(lower), float(upper)
    except (TypeError, ValueError):
        raise TypeError(f"{owner}({lower!r}, {upper!r}): both ends must be numbers.") from None
    if not (math.isfinite(lower) and math.isfinite(upper) and lower < upper):
        raise ValueError(f"{owner}({lower}, {upper}): the ends must be finite and the first below the second.")
    return lower, upper


@dataclass(frozen=True)
class TimeInterval:
    """The interval [t0, T] on which the equation is solved; t0 need not be 0."""

    start: float
    end: float

    def __post_init__(self):
        start, end = _check_ends("TimeInterval", self.start, self.end)
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "end", end)

    @property
    def duration(self) -> float:
        return self.end - self.start

    def check(self, times: np.ndarray, name: str = "t") -> None:
        """Raise if a time lies outside the interval by more than rounding."""
        times = np.asarray(times, dtype=np.float64)
        slack = 1e-6 * self.duration
        outside = ~((times >= self.start - slack) & (times <= self.end + slack))
        if outside.any():
            raise ValueError(
                f"{name}={times[outside].flat[0]} lies outside the time interval [{self.start}, {self.end}]; "
                "choose times inside it or widen the problem's `time`."
            )


@dataclass(frozen=True)
class Axis:
    """One spatial axis; use `Periodic` or `Bounded`."""

    lower: float
    upper: float

    def __post_init__(self):
        if type(self) is Axis:
            raise TypeError("Axis is abstract; use Periodic(lower, upper) or Bounded(lower, upper).")
        lower, upper = _check_ends(type(self).__name__, self.lower, self.upper)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def length(self) -> float:
        return self.upper - self.lower

    @property
    def periodic(self) -> bool:
        return isinstance(self, Periodic)

    def uniform_points(self, count: int) -> Float[np.ndarray, " count"]:
        """`count` equidistant points: both ends on a bounded axis, the lower one only on a periodic axis."""
        if count < 1:
            raise ValueError(f"count={count}: an axis needs at least one point.")
        return np.linspace(self.lower, self.upper, count, endpoint=not self.periodic)


@dataclass(frozen=True)
class Periodic(Axis):
    """An axis whose two ends are the same point."""


@dataclass(frozen=True)
class Bounded(Axis):
    """An axis with a boundary at each end."""


@dataclass(frozen=True, init=False)
class Box:
    """A product of up to three axes named x, y, z. `Box()` has no axis: an ordinary differential equation."""

    axes: tuple[Axis, ...]

    def __init__(self, *axes: Axis):
        if len(axes) > len(AXIS_NAMES):
            raise ValueError(f"Box with {len(axes)} axes: at most {len(AXIS_NAMES)} are supported.")
        for axis in axes:
            if not isinstance(axis, Axis):
                raise TypeError(f"Box({axis!r}): every axis must be Periodic(lower, upper) or Bounded(lower, upper).")
        object.__setattr__(self, "axes", tuple(axes))

    @classmethod
    def of(cls, space: "Box | Axis | None") -> "Box":
        """A box from what a problem may state as its `space`."""
        if space is None:
            return cls()
        if isinstance(space, Axis):
            return cls(space)
        if isinstance(space, Box):
            return space
        raise TypeError(
            f"space={space!r} is not a domain; use Periodic(a, b), Bounded(a, b), Box(axis, axis) or None for an ODE."
        )

    @property
    def dimension(self) -> int:
        return len(self.axes)

    @property
    def names(self) -> tuple[str, ...]:
        return AXIS_NAMES[: self.dimension]

    @property
    def periodic(self) -> bool:
        """Whether all axes are; not for the empty box of an ODE."""
        return bool(self.axes) and all(axis.periodic for axis in self.axes)

    @property
    def volume(self) -> float:
        return math.prod((axis.length for axis in self.axes), start=1.0)

    def axis_index(self, name: str) -> int:
        if name not in self.names:
            raise ValueError(f"axis {name!r} does not exist here; this domain has {list(self.names)}.")
        return self.names.index(name)

    def check(self, points: np.ndarray, name: str = "points") -> None:
        """Raise if a point is not finite, or lies beyond a boundary by more than rounding."""
        points = np.asarray(points, dtype=np.float64)
        if points.shape[-1] != self.dimension:
            raise ValueError(
                f"{name} has shape {points.shape}; this domain has {self.dimension} axes: give [..., dim]."
            )
        for axis_name, axis, values in zip(self.names, self.axes, np.moveaxis(points, -1, 0), strict=True):
            slack = np.inf if axis.periodic else 1e-6 * axis.length
            outside = ~(np.isfinite(values) & (values >= axis.lower - slack) & (values <= axis.upper + slack))
            if outside.any():
                raise ValueError(
                    f"{name} has {axis_name}={values[outside].flat[0]}, which is not in [{axis.lower}, {axis.upper}]; "
                    "choose points inside the domain."
                )

    def uniform_grid(self, counts: tuple[int, ...]) -> Float[np.ndarray, "points dim"]:
        """Tensor grid of equidistant points, the last axis running fastest."""
        if len(counts) != self.dimension:
            raise ValueError(
                f"counts={counts}: this domain has {self.dimension} axes, so give {self.dimension} counts."
            )
        grids = np.meshgrid(*(axis.uniform_points(n) for axis, n in zip(self.axes, counts, strict=True)), indexing="ij")
        return np.stack([g.ravel() for g in grids], axis=-1) if grids else np.zeros((1, 0))
