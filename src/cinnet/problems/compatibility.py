"""Whether initial and boundary values fit together: where they do not, the solution has a corner."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..conditions import BoundaryCondition, ValueAndSlope
from ..fields import MultiIndex, apply_operator
from ..nested import partial_derivative
from .base import EvolutionProblem

_POINTS_PER_AXIS = 9
_TOLERANCE = 1e-3  # of the size of the initial value: single precision, and derivatives of it


def incompatibilities(problem: EvolutionProblem) -> list[str]:
    """A sentence for every boundary condition that the initial value, or a condition on another face, contradicts."""
    if not problem.boundary:
        return []
    problem = problem.with_guesses()
    points = problem.box.uniform_grid((_POINTS_PER_AXIS,) * problem.box.dimension)
    scale = max(1.0, float(np.abs(problem.initial_values(points)).max()))
    found = []
    for face in problem.boundary_faces:
        gap = _initial_gap(problem, face, face.project(problem.box, points))
        if gap > _TOLERANCE * scale:
            found.append(f"the initial value misses the condition on {face.name} by {gap:.1e} at t0")
    for one, other in itertools.combinations(problem.boundary_faces, 2):
        gap = _corner_gap(problem, one, other, points)
        if gap > _TOLERANCE * scale:
            found.append(f"the values on {one.name} and {other.name} differ by {gap:.1e} where the faces meet")
    return found


def _initial_gap(problem: EvolutionProblem, face: BoundaryCondition, points: Float[np.ndarray, "face dim"]) -> float:
    operator = problem.on_real_fields(face.mismatch)
    asked, _ = problem.required_derivatives(operator)
    if any(index[0] for index in asked):
        return 0.0
    where, start = jnp.asarray(points), jnp.asarray(problem.interval.start)
    known = {index: _initial_derivative(problem, where, index)[None] for index in asked}
    return float(np.abs(apply_operator(operator, known, start[None], where)).max())


def _initial_derivative(problem: EvolutionProblem, points: Float[Array, "points dim"], index: MultiIndex) -> Array:
    def initial(x: Array) -> Array:
        return problem.initial_values(x[None])[0]

    return jax.vmap(partial_derivative(initial, index[1:]))(points)


def _corner_gap(
    problem: EvolutionProblem, one: BoundaryCondition, other: BoundaryCondition, points: Float[np.ndarray, "points dim"]
) -> float:
    """By how much two given values differ on the edge of two faces, at the middle and the end of the interval."""
    values_only = all(isinstance(f.operator, ValueAndSlope) and not f.operator.slope_factor for f in (one, other))
    if one.axis == other.axis or not values_only or one.operator.of != other.operator.of:
        return 0.0
    edge = other.project(problem.box, one.project(problem.box, points))
    interval = problem.interval
    times = ((interval.start + interval.end) / 2, interval.end)
    here, there = (np.array([[_value(face, t, x) for x in edge] for t in times]) for face in (one, other))
    return float(np.abs(here - there).max())


def _value(face: BoundaryCondition, t: float, x: np.ndarray) -> np.ndarray:
    value = face.value(jnp.asarray(t), *jnp.asarray(x)) if callable(face.value) else face.value
    return np.atleast_1d(np.asarray(value, complex)) / face.operator.value_factor
