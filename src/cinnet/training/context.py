"""What a strategy knows of the run it is part of."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..config.settings import Settings
from ..objective import LossValue, Objective
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .points import chosen_columns
from .windows import Window

if TYPE_CHECKING:
    from .phases import Phase


@dataclass(frozen=True)
class Context:
    """The present place in a run: problem, settings, phase and window, the step that was just made.

    `losses` is the value of the loss after this step where it was recorded, else None. `points` are all columns at the
    times of the present phase, `chosen(points)` those columns that the phase uses, and `build(points)` makes an
    objective on any.
    """

    problem: EvolutionProblem
    settings: Settings
    phase: "Phase"
    window: Window
    step: int
    points: TrainingPoints
    build: Callable[[TrainingPoints], Objective]
    losses: LossValue | None = None

    def chosen(self, points: TrainingPoints) -> TrainingPoints:
        return chosen_columns(points, self.phase.columns)

    def random(self) -> np.random.Generator:
        """Random numbers that are the same whenever this step of this run is made."""
        return np.random.default_rng((self.settings.seed, self.window.number, self.step))
