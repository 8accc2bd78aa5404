"""Optimizers, one file a method; each is a pure step on a least-squares objective."""

from .adam import Adam
from .base import LeastSquares, Optimizer, SecondOrder, StepInfo
from .best_so_far import BestSoFar, BestSoFarState
from .levenberg_marquardt import LevenbergMarquardt
from .newton_cg import GaussNewtonCG
from .quasi_newton import LBFGS, SelfScaledBroyden
from .schedules import Cosine, ExponentialDecay
from .soap import SOAP, scale_by_soap

OPTIMIZERS: dict[str, type[Optimizer]] = {
    "adam": Adam,
    "soap": SOAP,
    "levenberg-marquardt": LevenbergMarquardt,
    "gauss-newton-cg": GaussNewtonCG,
    "l-bfgs": LBFGS,
    "ss-broyden": SelfScaledBroyden,
}

__all__ = [
    "LBFGS",
    "OPTIMIZERS",
    "SOAP",
    "Adam",
    "BestSoFar",
    "BestSoFarState",
    "Cosine",
    "ExponentialDecay",
    "GaussNewtonCG",
    "LeastSquares",
    "LevenbergMarquardt",
    "Optimizer",
    "SecondOrder",
    "SelfScaledBroyden",
    "StepInfo",
    "scale_by_soap",
]
