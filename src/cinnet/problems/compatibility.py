"""Whether what a problem states about the edge of its domain fits together, and what happens where it does not."""

import itertools
from collections.abc import Iterator, Sequence

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
_CONSEQUENCE = ", so that the solution has a corner there, which costs accuracy"


def incompatibilities(problem: EvolutionProblem) -> list[str]:
    """A sentence for everything stated about the edge of the domain that does not fit together.

    These are boundary conditions that the initial value or a condition on another face contradicts, an initial value
    that is not periodic on a periodic axis, and axes without the boundary conditions that they need.
    """
    known_faces = problem.known_faces
    problem = problem.with_guesses()
    points = problem.box.uniform_grid((_POINTS_PER_AXIS,) * problem.box.dimension)
    return [*_open_axes(problem), *_jumps(problem, points), *_corners(problem, known_faces, points)]


def _open_axes(problem: EvolutionProblem) -> Iterator[str]:
    """Bounded axes along which the residual differentiates, without a condition at either end."""
    with_condition = {face.axis for face in problem.boundary_faces}
    for number, (name, axis) in enumerate(zip(problem.box.names, problem.box.axes, strict=True)):
        differentiated = any(index[1 + number] for index in problem.derivatives)
        if differentiated and not axis.periodic and name not in with_condition:
            yield (
                f"the bounded axis {name} has no boundary condition, so that many solutions fit and training ends at "
                "any one of them; state one in `boundary`, or make the axis Periodic"
            )


def _jumps(problem: EvolutionProblem, points: Float[np.ndarray, "points dim"]) -> Iterator[str]:
    """Periodic axes on whose two ends, which are one point, the initial value differs."""
    for number, (name, axis) in enumerate(zip(problem.box.names, problem.box.axes, strict=True)):
        if not axis.periodic:
            continue
        ends = [np.array(points), np.array(points)]
        ends[0][:, number], ends[1][:, number] = axis.lower, axis.upper
        lower, upper = (np.asarray(problem.initial_values(end)) for end in ends)
        gap = np.abs(upper - lower).max()
        if gap > _TOLERANCE * np.abs(problem.initial_values(points)).max():
            yield (
                f"the initial value jumps by {gap:.1e} from one end of the periodic axis {name} to the other, which "
                "are one point; networks are smooth there, so the solution is wrong near the jump"
            )


def _corners(
    problem: EvolutionProblem, faces: Sequence[BoundaryCondition], points: Float[np.ndarray, "points dim"]
) -> Iterator[str]:
    """Conditions that contradict the initial value or each other."""
    tolerance = _TOLERANCE * max(1.0, float(np.abs(problem.initial_values(points)).max()))
    for face in faces:
        gap = _initial_gap(problem, face, face.project(problem.box, points))
        if gap > tolerance:
            yield f"the initial value misses the condition on {face.name} by {gap:.1e} at t0{_CONSEQUENCE}"
    for one, other in itertools.combinations(faces, 2):
        gap = _corner_gap(problem, one, other, points)
        if gap > tolerance:
            yield f"the values on {one.name} and {other.name} differ by {gap:.1e} where the faces meet{_CONSEQUENCE}"


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
