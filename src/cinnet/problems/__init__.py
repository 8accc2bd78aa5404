"""The problems that come with the library, by name."""

from .allen_cahn import AllenCahn, AllenCahn2D
from .base import Complex, EvolutionProblem, Invariant
from .cahn_hilliard import CahnHilliard
from .korteweg_de_vries import KortewegDeVries

PROBLEMS: dict[str, type[EvolutionProblem]] = {
    "allen-cahn": AllenCahn,
    "kdv": KortewegDeVries,
    "cahn-hilliard": CahnHilliard,
    "allen-cahn-2d": AllenCahn2D,
}

__all__ = [
    "PROBLEMS",
    "AllenCahn",
    "AllenCahn2D",
    "CahnHilliard",
    "Complex",
    "EvolutionProblem",
    "Invariant",
    "KortewegDeVries",
]
