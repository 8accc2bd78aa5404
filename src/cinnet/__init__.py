"""Physics-informed networks whose layers remember, for evolution equations u_t + N[u] = 0."""

import importlib
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

# Names are imported when first used, so that `cinnet --help` does not wait for JAX. Type checkers read the block below.
if TYPE_CHECKING:
    from .assess.error_estimate import ErrorEstimate
    from .assess.metrics import relative_error
    from .conditions import BoundaryCondition, dirichlet, neumann, robin
    from .config.serialize import register
    from .config.settings import Settings, Stage
    from .domains import Bounded, Box, Periodic, TimeInterval
    from .gridded import GridFunction, read_arrays
    from .history import Exponential, Monomial, TemporalMesh, TemporalWeight
    from .jets import Activation
    from .networks import MLP, CinNet, Network, PointwiseNetwork
    from .objective import ExtraTerm, LossWeights, Objective, Penalty, Term
    from .observations import Observations
    from .optimizers import (
        LBFGS,
        SOAP,
        Adam,
        Cosine,
        ExponentialDecay,
        GaussNewtonCG,
        LevenbergMarquardt,
        Optimizer,
        SelfScaledBroyden,
        StepInfo,
    )
    from .problems import (
        PROBLEMS,
        AllenCahn,
        AllenCahn2D,
        CahnHilliard,
        Complex,
        EvolutionProblem,
        Invariant,
        KortewegDeVries,
    )
    from .reference import reference_solution
    from .result import RunResult
    from .sampling import TrainingPoints, latin_hypercube, uniform_grid
    from .solution import Solution
    from .solver import extend, load, solve
    from .training import (
        BalancedWeights,
        Budget,
        CausalWeights,
        GrowingHorizon,
        Resampling,
        Strategy,
        TimeWindows,
        TrainingView,
        stop_when,
    )
    from .unknowns import Parameter, Unknown, UnknownField

_HOMES = {
    "assess.error_estimate": ("ErrorEstimate",),
    "assess.metrics": ("relative_error",),
    "conditions": ("BoundaryCondition", "dirichlet", "neumann", "robin"),
    "config.serialize": ("register",),
    "config.settings": ("Settings", "Stage"),
    "domains": ("Bounded", "Box", "Periodic", "TimeInterval"),
    "gridded": ("GridFunction", "read_arrays"),
    "history": ("Exponential", "Monomial", "TemporalMesh", "TemporalWeight"),
    "jets": ("Activation",),
    "networks": ("MLP", "CinNet", "Network", "PointwiseNetwork"),
    "objective": ("ExtraTerm", "LossWeights", "Objective", "Penalty", "Term"),
    "observations": ("Observations",),
    "optimizers": (
        *("LBFGS", "SOAP", "Adam", "Cosine", "ExponentialDecay", "GaussNewtonCG", "LevenbergMarquardt"),
        *("Optimizer", "SelfScaledBroyden", "StepInfo"),
    ),
    "problems": (
        *("PROBLEMS", "AllenCahn", "AllenCahn2D", "CahnHilliard", "Complex", "EvolutionProblem", "Invariant"),
        "KortewegDeVries",
    ),
    "reference": ("reference_solution",),
    "result": ("RunResult",),
    "sampling": ("TrainingPoints", "latin_hypercube", "uniform_grid"),
    "solution": ("Solution",),
    "solver": ("extend", "load", "solve"),
    "training": (
        *("BalancedWeights", "Budget", "CausalWeights", "GrowingHorizon", "Resampling", "Strategy", "TimeWindows"),
        *("TrainingView", "stop_when"),
    ),
    "unknowns": ("Parameter", "Unknown", "UnknownField"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "LBFGS",
    "MLP",
    "PROBLEMS",
    "SOAP",
    "Activation",
    "Adam",
    "AllenCahn",
    "AllenCahn2D",
    "BalancedWeights",
    "BoundaryCondition",
    "Bounded",
    "Box",
    "Budget",
    "CahnHilliard",
    "CausalWeights",
    "CinNet",
    "Complex",
    "Cosine",
    "ErrorEstimate",
    "EvolutionProblem",
    "Exponential",
    "ExponentialDecay",
    "ExtraTerm",
    "GaussNewtonCG",
    "GridFunction",
    "GrowingHorizon",
    "Invariant",
    "KortewegDeVries",
    "LevenbergMarquardt",
    "LossWeights",
    "Monomial",
    "Network",
    "Objective",
    "Observations",
    "Optimizer",
    "Parameter",
    "Penalty",
    "Periodic",
    "PointwiseNetwork",
    "Resampling",
    "RunResult",
    "SelfScaledBroyden",
    "Settings",
    "Solution",
    "Stage",
    "StepInfo",
    "Strategy",
    "TemporalMesh",
    "TemporalWeight",
    "Term",
    "TimeInterval",
    "TimeWindows",
    "TrainingPoints",
    "TrainingView",
    "Unknown",
    "UnknownField",
    "dirichlet",
    "extend",
    "latin_hypercube",
    "load",
    "neumann",
    "read_arrays",
    "reference_solution",
    "register",
    "relative_error",
    "robin",
    "solve",
    "stop_when",
    "uniform_grid",
]

try:
    __version__ = version("cinnet")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str):
    if name not in _HOME_OF:
        raise AttributeError(f"module 'cinnet' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOME_OF[name]}", __name__), name)


def __dir__():
    return [*globals(), *_HOME_OF]
