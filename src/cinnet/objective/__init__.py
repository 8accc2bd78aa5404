"""What training minimises: terms of residuals on columns, their weights, and their sum."""

from .objective import InitialValues, LossValue, LossWeights, Objective
from .term import Term

__all__ = ["InitialValues", "LossValue", "LossWeights", "Objective", "Term"]
