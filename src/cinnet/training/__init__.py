"""The shell around the optimizers: loop, state, checkpoints, progress."""

from .checkpoint import CheckpointError
from .loop import Budget, Trainer, TrainingOutcome

__all__ = ["Budget", "CheckpointError", "Trainer", "TrainingOutcome"]
