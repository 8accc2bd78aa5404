"""Time windows: parts of the interval that are solved one after the other, each starting from the one before."""

import dataclasses
from dataclasses import dataclass

import numpy as np

from ..domains import TimeInterval
from ..evaluation import predict
from ..networks import Network
from ..objective import InitialValues
from ..sampling import TrainingPoints


def nearly_equal(total: int, parts: int) -> tuple[int, ...]:
    """A whole number as a sum of nearly equal parts, larger ones first."""
    least, larger = divmod(total, parts)
    return (least + 1,) * larger + (least,) * (parts - larger)


def window_starts(interval: TimeInterval, num_times: int, windows: int) -> tuple[float, ...]:
    """When each window begins: on a time level."""
    levels = nearly_equal(num_times, windows)
    before = np.concatenate([[0], np.cumsum(levels)[:-1]])
    return tuple((interval.start + before * interval.duration / num_times).tolist())


def window_interval(interval: TimeInterval, num_times: int, windows: int) -> TimeInterval:
    """The interval on which the network of every window lives, by its own clock: that of the longest."""
    longest = max(nearly_equal(num_times, windows))
    return TimeInterval(interval.start, interval.start + longest * interval.duration / num_times)


def window_mesh(num_mesh_intervals: int, num_times: int, windows: int) -> int:
    """The intervals of the temporal mesh in the longest window."""
    return -(-num_mesh_intervals * max(nearly_equal(num_times, windows)) // num_times)


@dataclass(frozen=True)
class Window:
    """One part of the interval, and the values from which it starts."""

    number: int
    start: float
    end: float
    initial: InitialValues
    include_start: bool

    def select(self, points: TrainingPoints, horizon: float = 1.0) -> TrainingPoints:
        """The points at the times of the first part of this window."""
        slack = 1e-9 * (self.end - self.start)
        first = self.start - slack if self.include_start else self.start + slack
        last = self.start + horizon * (self.end - self.start) + slack
        inside = (points.times >= first) & (points.times <= last)
        if not inside.any():
            raise ValueError(
                f"horizon={horizon}: no time level lies in this part of the interval; choose a larger one."
            )
        return dataclasses.replace(points, times=points.times[inside])


def end_values(network: Network, duration: float) -> InitialValues:
    """The values of a network at the end of its window, `duration` after its start."""
    end = np.array([min(network.interval.start + duration, network.interval.end)])
    return lambda points: next(iter(predict(network, end, np.asarray(points)).values()))[0]
