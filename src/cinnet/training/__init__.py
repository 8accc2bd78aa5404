"""The shell around the optimizers: phases, strategies, windows, state, checkpoints."""

from .budget import Budget
from .callbacks import TrainingView, stop_when
from .position import Position, Solved, TrainingOutcome
from .strategies import BalancedWeights, CausalWeights, GrowingHorizon, Resampling, Strategy, TimeWindows
from .trainer import Trainer

__all__ = [
    "BalancedWeights",
    "Budget",
    "CausalWeights",
    "GrowingHorizon",
    "Position",
    "Resampling",
    "Solved",
    "Strategy",
    "TimeWindows",
    "Trainer",
    "TrainingOutcome",
    "TrainingView",
    "stop_when",
]
