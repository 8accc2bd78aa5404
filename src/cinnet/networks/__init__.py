"""Networks: functions of (t, x) with parameters."""

from .base import Network
from .cinnet import CinNet
from .exact_boundary import ExactBoundary
from .exact_initial import ExactInitial
from .mlp import MLP
from .pointwise import PointwiseNetwork
from .windows import Windows
from .with_unknowns import WithUnknowns

__all__ = ["MLP", "CinNet", "ExactBoundary", "ExactInitial", "Network", "PointwiseNetwork", "Windows", "WithUnknowns"]
