"""Learning rates over a run: functions of the step, as Optax's schedules are, that can be written down and compared.

Any Optax schedule will do as the learning rate of an optimizer. These are dataclasses of numbers, so a run folder can
hold them, and two of equal numbers share one compiled program.
"""

from dataclasses import dataclass

import optax
from jax.typing import ArrayLike

from .base import check_positive


@dataclass(frozen=True)
class Cosine:
    """From `peak` to `final` along half a cosine over `steps` steps, after a linear rise from zero over `warmup`."""

    peak: float
    steps: int
    warmup: int = 0
    final: float = 0.0

    def __post_init__(self):
        check_positive(self, "peak", "steps")
        if self.warmup < 0:
            raise ValueError(f"Cosine(warmup={self.warmup}): warmup must not be negative.")
        if not 0 <= self.final <= self.peak:
            raise ValueError(f"Cosine(final={self.final}): final must be between 0 and peak={self.peak}.")

    def __call__(self, step: ArrayLike) -> ArrayLike:
        fall = optax.cosine_decay_schedule(self.peak, self.steps, self.final / self.peak)
        if not self.warmup:
            return fall(step)
        return optax.join_schedules([optax.linear_schedule(0.0, self.peak, self.warmup), fall], [self.warmup])(step)


@dataclass(frozen=True)
class ExponentialDecay:
    """start * factor^(step / every), with the exponent rounded down if `staircase` is set."""

    start: float
    factor: float
    every: int
    staircase: bool = False

    def __post_init__(self):
        check_positive(self, "start", "factor", "every")

    def __call__(self, step: ArrayLike) -> ArrayLike:
        return optax.exponential_decay(self.start, self.every, self.factor, staircase=self.staircase)(step)
