"""Which arguments the results of a function depend on, read from its trace."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

_CALLS = ("jit", "pjit")  # their equations can be looked into; any other is taken to mix all that goes in


def depends_on(function: Callable[..., Any], argument: int, *arguments: Any) -> bool:
    """Whether a result of `function(*arguments)` is computed from the given argument, whatever its value.

    A dependence that cancels, as in `t - t`, counts as one; `0 * t` does not.
    """
    leaves = [jax.tree.leaves(one) for one in arguments]
    marked = [number == argument for number, own in enumerate(leaves) for _ in own]
    return any(_reached(jax.make_jaxpr(function)(*arguments).jaxpr, marked))


def _reached(jaxpr: Any, marked: Sequence[bool]) -> list[bool]:
    """For every output whether an input that is marked leads to it."""
    reached = {variable for variable, mark in zip(jaxpr.invars, marked, strict=True) if mark}

    def is_reached(variable: Any) -> bool:
        return not hasattr(variable, "val") and variable in reached  # a literal has a value, and no hash

    for equation in jaxpr.eqns:
        inputs = [is_reached(variable) for variable in equation.invars]
        if equation.primitive.name == "mul" and any(_is_zero(factor) for factor in equation.invars):
            outputs = [False]
        elif equation.primitive.name in _CALLS:
            outputs = _reached(equation.params["jaxpr"].jaxpr, inputs)
        else:
            outputs = [any(inputs)] * len(equation.outvars)
        reached.update(variable for variable, mark in zip(equation.outvars, outputs, strict=True) if mark)
    return [is_reached(variable) for variable in jaxpr.outvars]


def _is_zero(factor: Any) -> bool:
    return hasattr(factor, "val") and not np.any(factor.val)
