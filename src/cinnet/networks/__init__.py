"""Networks: functions of (t, x) with parameters."""

from .base import Network
from .cinnet import CinNet
from .mlp import MLP

__all__ = ["MLP", "CinNet", "Network"]
