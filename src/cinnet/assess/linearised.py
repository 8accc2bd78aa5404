"""Operators linearised at a solution: the residual and the boundary conditions that its error obeys."""

from collections.abc import Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from ..conditions import BoundaryCondition
from ..evaluation import predict
from ..fields import MultiIndex, Operator, apply_operator
from ..networks import Network
from ..problems.base import EvolutionProblem
from ..reference.split import double_precision
from .tensor_grid import TensorGrid

Slopes = dict[MultiIndex, Float[np.ndarray, "times points equations components"]]


@dataclass(frozen=True)
class Linearised:
    """An operator at a solution: its values, and its derivatives in every D^a u."""

    values: Float[np.ndarray, "times points equations"]
    slopes: Slopes


def linearised(
    problem: EvolutionProblem, operator: Operator, network: Network, times: np.ndarray, points: np.ndarray
) -> Linearised:
    """An operator on real fields at a network, at all times and points."""
    order = sorted(problem.required_derivatives(operator)[0])
    known = predict(network, times, points, frozenset(order))

    def at_point(state, t, x):
        derivatives = {index: state[k][None, None] for k, index in enumerate(order)}
        return apply_operator(operator, derivatives, t[None], x[None])[0, 0]

    def both(state, t, x):
        return at_point(state, t, x), jax.jacobian(at_point)(state, t, x)

    with double_precision():
        states = jnp.asarray(np.stack([known[index] for index in order], axis=2), jnp.float64)
        over = jax.jit(jax.vmap(jax.vmap(both, in_axes=(0, None, 0)), in_axes=(0, 0, None)))
        values, slopes = over(states, jnp.asarray(times, jnp.float64), jnp.asarray(points, jnp.float64))
    slopes = np.asarray(slopes)
    return Linearised(np.asarray(values), {index: slopes[..., k, :] for k, index in enumerate(order)})


def residual_on_grid(
    problem: EvolutionProblem, network: Network, times: np.ndarray, fine: TensorGrid, grid: TensorGrid
) -> Float[np.ndarray, "times points equations"]:
    """The residual on a grid, without what is too fine for it; computed on a finer one."""
    operator = network.bound(problem.residual_operator)
    known = predict(network, times, fine.points, problem.derivatives)
    with double_precision():
        derivatives = {index: jnp.asarray(values, jnp.float64) for index, values in known.items()}
        values = jax.jit(lambda d: apply_operator(operator, d, jnp.asarray(times), jnp.asarray(fine.points)))(
            derivatives
        )
    return fine.restricted(np.asarray(values), grid)


@dataclass(frozen=True)
class BoundaryRows:
    """Which rows of the system the boundary conditions take the place of, and what they say."""

    rows: Int[np.ndarray, " conditions"]
    matrix: Float[np.ndarray, "times conditions unknowns"]
    values: Float[np.ndarray, "times conditions"]


def boundary_rows(
    problem: EvolutionProblem, network: Network, times: np.ndarray, grid: TensorGrid
) -> BoundaryRows | None:
    """The linearised boundary conditions, None if there are none.

    Each stands for the equation of the component that it says most about; a second condition on one face takes the
    next layer of points.
    """
    components = len(problem.outputs)
    rows, matrices, values, layers = [], [], [], {}
    for condition in problem.boundary_faces:
        for component, matrix, value in _conditions_on_face(problem, condition, network, times, grid):
            layer = layers.get((condition.name, component), 0)
            layers[condition.name, component] = layer + 1
            stands_for = _face(problem, condition, grid, layer)
            for place, row in enumerate(stands_for * components + component):
                if row not in rows:
                    rows.append(int(row))
                    matrices.append(matrix[:, place])
                    values.append(value[:, place])
    if not rows:
        return None
    return BoundaryRows(np.array(rows), np.stack(matrices, axis=1), np.stack(values, axis=1))


def _face(
    problem: EvolutionProblem, condition: BoundaryCondition, grid: TensorGrid, layer: int = 0
) -> Int[np.ndarray, " face"]:
    """The points of a layer parallel to a face, counted from it."""
    axis = problem.box.axis_index(condition.axis)
    nodes = np.unique(grid.points[:, axis])
    place = nodes[layer if condition.side == "lower" else -1 - layer]
    return np.flatnonzero(grid.points[:, axis] == place)


def _conditions_on_face(
    problem: EvolutionProblem, condition: BoundaryCondition, network: Network, times: np.ndarray, grid: TensorGrid
) -> Iterator[tuple[int, Float[np.ndarray, "times face unknowns"], Float[np.ndarray, "times face"]]]:
    """For every equation of a boundary condition: the component it says most about, its rows, and what u misses."""
    on_face = _face(problem, condition, grid)
    operator = problem.on_real_fields(condition.mismatch)
    linear = linearised(problem, operator, network, times, grid.points[on_face])
    rows = np.zeros(())
    for index, slope in linear.slopes.items():
        rows = rows + np.einsum("tpij,pq->tpiqj", slope, grid.derivative(index[1:])[on_face])
    rows = rows.reshape(*linear.values.shape, -1)
    strength = sum(np.abs(slope).max(axis=(0, 1)) for slope in linear.slopes.values())
    for equation, component in enumerate(np.argmax(strength, axis=1)):
        yield int(component), rows[:, :, equation], linear.values[:, :, equation]
