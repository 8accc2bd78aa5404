"""Physics-informed networks whose layers remember, for evolution equations u_t + N[u] = 0."""

import importlib
from importlib.metadata import PackageNotFoundError, version

# Names are imported when first used, so that `cinnet --help` does not wait for JAX.
_HOMES = {
    "Activation": "jets",
    "AllenCahn": "problems",
    "AllenCahn2D": "problems",
    "BoundaryCondition": "conditions",
    "Bounded": "domains",
    "Box": "domains",
    "CahnHilliard": "problems",
    "CinNet": "networks",
    "Complex": "problems",
    "EvolutionProblem": "problems",
    "Exponential": "history",
    "GridFunction": "gridded",
    "Invariant": "problems",
    "KortewegDeVries": "problems",
    "LossWeights": "objective",
    "MLP": "networks",
    "Monomial": "history",
    "Objective": "objective",
    "Observations": "observations",
    "PROBLEMS": "problems",
    "Parameter": "unknowns",
    "Periodic": "domains",
    "Solution": "solution",
    "TemporalMesh": "history",
    "TimeInterval": "domains",
    "TrainingPoints": "sampling",
    "Unknown": "unknowns",
    "UnknownField": "unknowns",
    "dirichlet": "conditions",
    "extend": "solver",
    "latin_hypercube": "sampling",
    "load": "solver",
    "neumann": "conditions",
    "read_arrays": "gridded",
    "reference_solution": "reference",
    "relative_error": "assess.metrics",
    "robin": "conditions",
    "solve": "solver",
    "uniform_grid": "sampling",
}

__all__ = sorted(_HOMES)

try:
    __version__ = version("cinnet")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module 'cinnet' has no attribute {name!r}")
    return getattr(importlib.import_module(f".{_HOMES[name]}", __name__), name)


def __dir__():
    return [*globals(), *_HOMES]
