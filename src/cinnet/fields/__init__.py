"""What a residual sees as u, u.t, u.xx; which derivatives it needs.

Derivatives are named by a multi-index (order in t, order in x, order in y, ...).
"""

from .field import Field
from .indices import MultiIndex, below, derivative_name, factorial, parse_derivative, subtract
from .operators import Operator, apply_operator, real_form, required_derivatives, split_complex

__all__ = [
    "Field",
    "MultiIndex",
    "Operator",
    "apply_operator",
    "below",
    "derivative_name",
    "factorial",
    "parse_derivative",
    "real_form",
    "required_derivatives",
    "split_complex",
    "subtract",
]
