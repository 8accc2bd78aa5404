"""What a user sees of a run while it goes on, and how they stop it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..networks import Network


@dataclass(frozen=True)
class TrainingView:
    """A run at one of its records: the step, all numbers of the record, the network of the present window.

    `start` and `end` are the times of that window; the network's own clock starts at its interval's start.
    """

    step: int
    record: Mapping[str, float]
    network: Network
    start: float
    end: float

    @property
    def loss(self) -> float:
        return self.record["loss"]


Callback = Callable[[TrainingView], bool | None]


def stop_when(condition: Callable[[TrainingView], bool]) -> Callback:
    """A callback that ends training, as converged, once a condition on the run holds."""
    return lambda view: bool(condition(view))
