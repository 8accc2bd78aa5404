"""What training minimises: terms of residuals on columns, their weights, and their sum."""

from .build import InitialValues, LossWeights, observations_by_term
from .columns import ColumnTerm
from .objective import LossValue, Objective
from .term import ExtraTerm, Penalty, Term

__all__ = [
    "ColumnTerm",
    "ExtraTerm",
    "InitialValues",
    "LossValue",
    "LossWeights",
    "Objective",
    "Penalty",
    "Term",
    "observations_by_term",
]
