"""The plan of a run: phases, each some steps of one optimizer on one window."""

from dataclasses import dataclass

from ..config.presets import make_optimizer
from ..config.settings import Settings
from ..optimizers import Optimizer
from ..problems.base import EvolutionProblem
from .strategies import Strategy, TimeWindows


@dataclass(frozen=True)
class Phase:
    """Some steps of one optimizer on one window; what a strategy's `plan` may cut, repeat and change.

    `columns` of the training points are used, all if None, and the time levels in the first part of the window that
    `horizon` gives as a fraction. Phases of one `window` follow each other; `stage` is the number of the stage in the
    settings.
    """

    optimizer: Optimizer
    steps: int
    start: float
    end: float
    window: int = 0
    stage: int = 0
    columns: int | None = None
    horizon: float = 1.0


def plan_phases(problem: EvolutionProblem, settings: Settings, strategies: tuple[Strategy, ...]) -> tuple[Phase, ...]:
    """The phases of the settings' stages, as the strategies change them."""
    interval = problem.interval
    phases = tuple(
        Phase(make_optimizer(stage), stage.steps, interval.start, interval.end, 0, number, stage.columns, stage.horizon)
        for number, stage in enumerate(settings.stages)
    )
    for strategy in (TimeWindows(settings.windows), *strategies):
        phases = strategy.plan(phases, problem, settings)
    if not phases:
        raise ValueError("strategies: a plan without phases trains nothing.")
    return phases
