"""One hash of all that decides the solution of a problem.

The functions of a problem are known by their traces in double precision: operations in order, numbers and arrays that
they close over by value. Names, comments and where a number comes from do not matter. Another version of JAX may trace
a function into other operations, and so give another hash.
"""

import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jax
import numpy as np
from jaxtyping import Array

from ..fields import apply_operator
from .base import EvolutionProblem
from .operators import Boundary, Residual

_VERSION = 1


def fingerprint(problem: EvolutionProblem) -> str | None:
    """The SHA-256 of residual, initial value, boundary conditions, domain, components, unknowns and observations.

    Equal in every process. None where a function of the problem holds what only an address names, such as a Python
    callback: it may change without a trace.
    """
    facts = [
        _VERSION,
        [(component, two) for component, two in zip(problem.components, problem.is_complex, strict=True)],
        [(type(axis).__name__, axis.lower, axis.upper) for axis in problem.box.axes],
        (problem.interval.start, problem.interval.end),
        {name: (type(one).__name__, dataclasses.asdict(one)) for name, one in problem.unknowns.items()},
        [one.digest for one in problem.observations],
        [(face.axis, face.side) for face, _ in problem.boundary_operators],
    ]
    digest = Digest()
    try:
        digest.update(facts)
        with jax.enable_x64(True), jax.default_device(jax.local_devices(backend="cpu")[0]):
            for trace in _traces(problem):
                digest.update(trace)
    except UnnameableError:
        return None
    return digest.hexdigest()


def _traces(problem: EvolutionProblem) -> Iterator[Any]:
    point = np.zeros(problem.box.dimension)
    yield jax.make_jaxpr(problem.initial_values)(point[None])
    for operator in (problem.residual_operator, *(mismatch for _, mismatch in problem.boundary_operators)):
        indices = sorted(problem.required_derivatives(operator)[0])
        values = np.zeros((len(indices), len(problem.outputs)))
        coefficients = {name: np.zeros(len(one)) for name, one in operator.coefficients.items()}
        yield indices
        yield jax.make_jaxpr(_at_point(operator, indices))(values, coefficients, np.zeros(()), point)


def _at_point(operator: Residual | Boundary, indices: list) -> Callable[..., Array]:
    def at_point(values: Array, coefficients: Mapping[str, Array], t: Array, x: Array) -> Array:
        derivatives = {index: values[number][None, None] for number, index in enumerate(indices)}
        return apply_operator(operator.bind(coefficients), derivatives, t[None], x[None])

    return at_point


class UnnameableError(ValueError):
    """A trace holds something that is known by its address only."""


class Digest:
    """A SHA-256 of nested values and of the traces of functions."""

    def __init__(self):
        self._hash = hashlib.sha256()

    def hexdigest(self) -> str:
        return self._hash.hexdigest()

    def update(self, value: Any) -> None:
        """Add a number, text, array, trace, or a collection of these."""
        if hasattr(value, "consts"):
            self.update((value.consts, value.jaxpr))
        elif hasattr(value, "eqns"):
            self._update_trace(value)
        elif hasattr(value, "__array__"):
            array = np.asarray(value)
            self._write(f"array {array.dtype.str} {array.shape}")
            self._hash.update(np.ascontiguousarray(array).tobytes())
        elif isinstance(value, Mapping):
            self.update(sorted(value.items()))
        elif isinstance(value, tuple | list):
            self._write(f"collection {len(value)}")
            for item in value:
                self.update(item)
        else:
            text = repr(value)
            if " at 0x" in text:
                raise UnnameableError(text)
            self._write(text)

    def _write(self, text: str) -> None:
        self._hash.update(text.encode() + b"\0")

    def _update_trace(self, jaxpr: Any) -> None:
        """Operations in order, their variables numbered as they appear."""
        numbers: dict[Any, int] = {}

        def update_variables(variables: list) -> None:
            for variable in variables:
                if hasattr(variable, "val"):  # a literal, which has no hash
                    self.update(variable.val)
                else:
                    self._write(f"v{numbers.setdefault(variable, len(numbers))} {variable.aval}")

        update_variables([*jaxpr.constvars, *jaxpr.invars])
        for equation in jaxpr.eqns:
            name = equation.primitive.name
            self._write(name)
            update_variables(equation.invars)
            called = _BODIES.get(name)
            self.update(equation.params if called is None else equation.params[called])
            update_variables(equation.outvars)
        self._write("results")
        update_variables(jaxpr.outvars)


# Calls, of which only the body counts: not its name, where it runs, or how it is differentiated.
_BODIES = {"jit": "jaxpr", "pjit": "jaxpr", "custom_jvp_call": "call_jaxpr", "custom_vjp_call": "call_jaxpr"}
