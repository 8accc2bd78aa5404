"""What is checked of a problem when it is made."""

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from ..conditions import BoundaryCondition
from ..domains import Box

if TYPE_CHECKING:
    from .base import EvolutionProblem
else:
    EvolutionProblem = Any  # which imports this module

_POINTS_PER_AXIS = 17
_EXACT_TOLERANCE = 1e-4  # single precision, where the difference may be one of large terms


def check(problem: EvolutionProblem) -> None:
    """Raise for what cannot be right, naming it."""
    where = f"problem {problem.name}"
    box = problem.box
    if not problem.components or len(set(problem.components)) != len(problem.components):
        raise ValueError(f"{where}: components={problem.components!r} must be distinct names, at least one.")
    _check_residual(problem, where)
    _check_initial(problem, where, box)
    guessed = problem.with_guesses()
    for condition in guessed.boundary:
        if not isinstance(condition, BoundaryCondition):
            raise TypeError(f"{where}: boundary holds {condition!r}; use dirichlet, neumann, robin, BoundaryCondition.")
        condition.check(box)
    for _, operator in problem.boundary_operators:
        problem.required_derivatives(operator)
    for invariant in guessed.invariants().values():
        problem.required_derivatives(problem.on_real_fields(invariant.density))
    for observed in problem.observations:
        observed.check(problem.interval, box)
        problem.required_derivatives(problem.on_real_fields(observed.operator(problem.components)))


def _check_residual(problem: EvolutionProblem, where: str) -> None:
    _ = problem.interval
    asked, equations = problem.required_derivatives(problem.residual_operator)
    if equations != len(problem.outputs):
        raise ValueError(
            f"{where}: residual returns {equations} equation(s) for {len(problem.outputs)} component(s) "
            f"{problem.outputs}; return one for each, as a tuple."
        )
    if not any(index[0] for index in asked):
        raise ValueError(f"{where}: residual never reads u.t, so this is not an evolution equation.")


def _check_initial(problem: EvolutionProblem, where: str, box: Box) -> None:
    points = box.uniform_grid((_POINTS_PER_AXIS,) * box.dimension)
    try:
        values = problem.initial_values(jnp.asarray(points))
    except TypeError as error:
        if not problem.unknowns:
            raise
        raise ValueError(
            f"{where}: initial failed with {error}; it must not depend on the unknowns {sorted(problem.unknowns)}."
        ) from None
    if values.shape[1:] != (len(problem.outputs),):
        raise ValueError(
            f"{where}: initial returns values of shape {values.shape[1:]} at a point, "
            f"expected one number for each of the components {problem.outputs}."
        )
    if isinstance(values, Tracer):
        return
    finite = np.isfinite(values).all(axis=-1)
    if not finite.all():
        bad = np.flatnonzero(~finite)[0]
        raise ValueError(
            f"{where}: the initial value is {np.asarray(values[bad]).tolist()} at {box.names} = "
            f"{points[bad].tolist()}; it must be finite everywhere in the domain."
        )

    if problem.has_exact_solution and not problem.unknowns:
        exact = jax.vmap(problem.exact_at, in_axes=(None, 0))(jnp.asarray(problem.interval.start), jnp.asarray(points))
        gap = np.abs(np.asarray(exact) - np.asarray(values)).max(axis=-1)
        if not gap.max() <= _EXACT_TOLERANCE * max(1.0, float(np.abs(values).max())):
            raise ValueError(
                f"{where}: exact and initial differ by {gap.max():.1e} at t = {problem.interval.start} and "
                f"{box.names} = {points[gap.argmax()].tolist()}."
            )
