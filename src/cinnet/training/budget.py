"""How long training may take, and how long it took."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Budget:
    """When to stop at the latest; a loss below `target_loss` is convergence."""

    seconds: float = float("inf")
    target_loss: float = 0.0

    def __post_init__(self):
        if not self.seconds > 0:
            raise ValueError(f"Budget(seconds={self.seconds}): give a positive number of seconds.")

    @classmethod
    def of(cls, budget: "float | Budget | None") -> "Budget":
        """A budget from a number of seconds, or none."""
        if budget is None:
            return cls()
        return budget if isinstance(budget, Budget) else cls(seconds=float(budget))


@dataclass(frozen=True)
class Share:
    """What a window may take of a budget: until when, and since which step."""

    deadline: float
    first_step: int


class Stopwatch:
    """Seconds that training has taken, those of earlier processes included."""

    def __init__(self, seconds: float = 0.0):
        self._begin = time.perf_counter() - seconds

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self._begin

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Do not count what is done inside."""
        stopped = time.perf_counter()
        try:
            yield
        finally:
            self._begin += time.perf_counter() - stopped
