"""What a problem states, as operators on real fields in which the unknowns can be given other values.

Each is made of the problem, numbers and arrays, so that two of one problem are equal to `equinox.filter_jit`, also
where the problem makes its conditions anew whenever it is asked for them.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from ..dataflow import depends_on
from ..fields import apply_operator

if TYPE_CHECKING:
    from .base import EvolutionProblem
else:
    EvolutionProblem = Any  # which imports this module

Coefficients = Mapping[str, Float[Array, " _"]]


class Residual(eqx.Module):
    """The residual of a problem; what is unknown has the value of its coefficients."""

    problem: EvolutionProblem
    coefficients: Coefficients

    def __call__(self, *arguments: Any) -> Any:
        known = self.problem.with_unknowns(self.coefficients)
        return known.on_real_fields(known.residual)(*arguments)

    def bind(self, coefficients: Coefficients) -> "Residual":
        """The same with other coefficients."""
        return Residual(self.problem, coefficients)


class Boundary(eqx.Module):
    """B[u] - h on one face of a problem, by its number; what is unknown has the value of its coefficients."""

    problem: EvolutionProblem
    number: int = eqx.field(static=True)
    coefficients: Coefficients

    def __call__(self, *arguments: Any) -> Any:
        known = self.problem.with_unknowns(self.coefficients)
        with jax.ensure_compile_time_eval():  # a problem that makes its conditions when asked may look at its arrays
            face = known.boundary_faces[self.number]
        return known.on_real_fields(face.mismatch)(*arguments)

    def bind(self, coefficients: Coefficients) -> "Boundary":
        """The same with other coefficients."""
        return Boundary(self.problem, self.number, coefficients)

    @property
    def has_unknowns(self) -> bool:
        """Whether the condition depends on an unknown."""
        if not self.coefficients:
            return False
        shape = (1, 1, len(self.problem.outputs))
        asked, _ = self.problem.required_derivatives(self)
        where = jnp.zeros(1), jnp.zeros((1, self.problem.box.dimension))

        def mismatch(coefficients: Coefficients) -> Array:
            return apply_operator(self.bind(coefficients), {i: jnp.zeros(shape) for i in asked}, *where)

        return depends_on(mismatch, 0, self.coefficients)
