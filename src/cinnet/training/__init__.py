"""The shell around the optimizers: loop, state, checkpoints, progress."""

from ..storage.checkpoint import CheckpointError
from .trainer import Budget, Trainer, TrainingOutcome

__all__ = ["Budget", "CheckpointError", "Trainer", "TrainingOutcome"]
