"""Reference solutions by a Fourier spectral method, from the same problem object a network is trained on."""

from .cache import cache_directory
from .known import ClosedForm, KnownSolution, known_solution
from .solution import ReferenceSolution
from .solver import NotConvergedError, cached_reference, reference_solution

__all__ = [
    "ClosedForm",
    "KnownSolution",
    "NotConvergedError",
    "ReferenceSolution",
    "cache_directory",
    "cached_reference",
    "known_solution",
    "reference_solution",
]
