"""Where the equation is enforced: time levels, and spatial points shared by all of them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.stats import qmc

from .domains import Box, TimeInterval
from .symmetry import Symmetry


@dataclass(frozen=True)
class TrainingPoints:
    """Columns to train on: every point at every time, and the initial value at every point.

    `counts` is the shape of the spatial grid where the points form a uniform one, else None. `multiplicity` says how
    many points each one stands for.
    """

    times: Float[np.ndarray, " times"]
    points: Float[np.ndarray, "points dim"]
    counts: tuple[int, ...] | None = None
    multiplicity: Float[np.ndarray, " points"] | None = None

    def __post_init__(self):
        if np.ndim(self.times) != 1 or np.size(self.times) < 1:
            raise ValueError(f"times has shape {np.shape(self.times)}; give one row of at least one time.")
        if np.ndim(self.points) != 2 or np.shape(self.points)[0] < 1:
            raise ValueError(f"points has shape {np.shape(self.points)}; give [points, dimension], at least one point.")

    @property
    def shares(self) -> Float[np.ndarray, " points"]:
        """What part of the mean over space each point stands for."""
        multiplicity = np.ones(len(self.points)) if self.multiplicity is None else self.multiplicity
        return multiplicity / multiplicity.sum()

    def distinct(self, symmetry: Symmetry, box: Box) -> "TrainingPoints":
        """The same means over space from one of each set of points that are images of each other."""
        if symmetry.order == 1:
            return self
        images = symmetry.representative(self.points, box)
        _, first, which = np.unique(images.round(_DECIMALS), axis=0, return_index=True, return_inverse=True)
        multiplicity = np.bincount(which.ravel(), weights=self.shares * len(self.points))
        return TrainingPoints(self.times, images[first], multiplicity=multiplicity)


_DECIMALS = 12  # to which images of one point agree


def uniform_times(interval: TimeInterval, num_times: int, include_start: bool = True) -> Float[np.ndarray, " times"]:
    """The levels t_i = t0 + i (T - t0) / N_t for i = 0, ..., N_t; without t_0 there are exactly N_t (Appendix B)."""
    if num_times < 1:
        raise ValueError(f"num_times={num_times}: at least one time level after t0 is needed.")
    times = np.linspace(interval.start, interval.end, num_times + 1)
    return times if include_start else times[1:]


def uniform_grid(
    interval: TimeInterval,
    box: Box,
    num_times: int,
    points_per_axis: int | tuple[int, ...],
    include_start: bool = True,
) -> TrainingPoints:
    """N_t time levels after t0 and N_x equidistant points, the paper's (N_t, N_x).

    The residual is enforced at t0 too unless `include_start` is False, as in the paper's count N_t * N_x.
    """
    counts = (points_per_axis,) * box.dimension if isinstance(points_per_axis, int) else tuple(points_per_axis)
    return TrainingPoints(uniform_times(interval, num_times, include_start), box.uniform_grid(counts), counts)


def latin_hypercube(
    interval: TimeInterval, box: Box, num_times: int, num_points: int, *, seed: int, include_start: bool = True
) -> TrainingPoints:
    """Uniform time levels, and one set of Latin hypercube points in space shared by all of them (Sec. 4.4)."""
    if num_points < 1:
        raise ValueError(f"num_points={num_points}: at least one point is needed.")
    if box.dimension == 0:
        raise ValueError("Latin hypercube points need a spatial axis; use a uniform grid for an ODE.")
    unit = qmc.LatinHypercube(box.dimension, rng=np.random.default_rng(seed)).random(num_points)
    lower, upper = [axis.lower for axis in box.axes], [axis.upper for axis in box.axes]
    return TrainingPoints(uniform_times(interval, num_times, include_start), qmc.scale(unit, lower, upper))
