"""The linear equation that the error of a solution obeys, on a grid, and one implicit step of it.

The error e = u_hat - u of a solution with residual r obeys, to first order,

    M e_t + sum over a of C_a D^a e = r,   B e = b at the boundary,   e(t0) = u_hat(t0) - g,

where M and C_a are the derivatives of the residual in u_t and D^a u, and b is what u_hat misses of the boundary values.
An equation without a time derivative makes a row of M zero: it is a constraint, which every stage of a step fulfils.
"""

import dataclasses
import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.linalg
from jaxtyping import Float, Int
from scipy.optimize import linear_sum_assignment

from ..fields import MultiIndex
from .linearised import BoundaryRows, Slopes
from .tensor_grid import TensorGrid

_GAMMA = 1 - 1 / math.sqrt(2)  # of the two-stage diagonally implicit Runge-Kutta method of order 2, which is L-stable
_LARGEST_CONDITION = 1e12
_MOST_EIGENVALUES = 400  # a dense eigenproblem with as many unknowns takes about a second

Vector = Float[np.ndarray, " unknowns"]
Matrix = Float[np.ndarray, "unknowns unknowns"]


@dataclass(frozen=True)
class ErrorEquation:
    """e' = A e + f, or M e' = A e + f with constraints, with the coefficients of every step.

    `mass` is None where M could be divided out. `free` are the components that are determined up to a constant only.
    """

    grid: TensorGrid
    step: float
    slopes: Slopes
    drive: Float[np.ndarray, "times points equations"]
    edges: BoundaryRows | None
    matrices: dict[MultiIndex, Float[np.ndarray, "points points"]]
    mass: Float[np.ndarray, "times points equations components"] | None = None
    free: tuple[int, ...] = ()

    @classmethod
    def of(
        cls,
        grid: TensorGrid,
        step: float,
        slopes: Slopes,
        residual: Float[np.ndarray, "times points equations"],
        edges: BoundaryRows | None,
    ) -> "ErrorEquation | None":
        """The equation for the slopes of a residual; None if its constraints do not determine the solution."""
        mass = slopes[(1, *(0,) * len(grid.axes))]
        slopes = {index: slope for index, slope in slopes.items() if not index[0]}
        matrices = {index: grid.derivative(index[1:]) for index in slopes}
        if np.all(np.abs(np.linalg.det(mass)) > 1e-12):
            divided = {index: np.linalg.solve(mass, slope) for index, slope in slopes.items()}
            drive = np.linalg.solve(mass, residual[..., None])[..., 0]
            return cls(grid, step, divided, drive, edges, matrices)
        order = _equation_of_component(mass, slopes)
        ordered = {index: slope[:, :, order] for index, slope in slopes.items()}
        equation = cls(grid, step, ordered, residual[..., order], edges, matrices, mass[:, :, order])
        equation = dataclasses.replace(equation, free=equation._free_components())
        return equation if equation._constraints_determine_the_solution() else None

    def matrix(self, number: int) -> Matrix:
        """A in the middle of a step."""
        total = sum(np.einsum("pij,pq->piqj", self.slopes[index][number], m) for index, m in self.matrices.items())
        size = self.drive[number].size
        return -np.reshape(total, (size, size))

    def advanced(self, error: Vector, number: int) -> Vector:
        """The error after a step."""
        scale = _GAMMA * self.step
        mass = self._mass_matrix(number)
        system = self._closed((np.eye(error.size) if mass is None else mass) - scale * self.matrix(number), number)
        plain = mass is None and self.edges is None
        solve = partial(np.matmul, np.linalg.inv(system)) if plain else partial(np.linalg.solve, system)

        def stage(before: Vector) -> Vector:
            right = (before if mass is None else mass @ before) + scale * self.drive[number].ravel()
            if self.edges is not None:
                right[self.edges.rows] = self.edges.values[number]
            return solve(right)

        first = stage(error)
        return self.without_free_constants(stage(error + (1 - _GAMMA) / _GAMMA * (first - error)))

    def without_free_constants(self, values: np.ndarray) -> np.ndarray:
        """Values, [..., unknowns], from which the mean of every free component is taken."""
        if not self.free:
            return values
        by_point = values.reshape(*values.shape[:-1], len(self.grid.points), -1).copy()
        for component in self.free:
            by_point[..., component] -= (by_point[..., component] @ self.grid.weights)[..., None]
        return by_point.reshape(values.shape)

    def is_ill_posed(self) -> bool:
        """Whether errors grow fastest at the finest scale, at the first step; only small systems are looked at."""
        matrix = self.matrix(0)
        if len(matrix) > _MOST_EIGENVALUES:
            return False
        mass = self._mass_matrix(0)
        mass = np.eye(len(matrix)) if mass is None else mass
        if self.edges is not None:
            matrix[self.edges.rows], mass[self.edges.rows] = self.edges.matrix[0], 0.0
        with np.errstate(divide="ignore", invalid="ignore"):
            rates, modes = (np.asarray(part) for part in scipy.linalg.eig(matrix, mass))
        growing = np.where(np.isfinite(rates), np.real(rates), -np.inf)
        fastest = modes[:, np.argmax(growing)]
        shapes = np.stack([np.real(fastest), np.imag(fastest)]).reshape(2, len(self.grid.points), -1)
        return bool(growing.max() > 0) and not self.grid.resolves(shapes)

    def _mass_matrix(self, number: int) -> Matrix | None:
        if self.mass is None:
            return None
        points, components = self.mass.shape[1:3]
        blocks = np.einsum("pij,pq->piqj", self.mass[number], np.eye(points))
        return blocks.reshape(points * components, points * components)

    def _closed(self, system: Matrix, number: int) -> Matrix:
        """A system with the boundary conditions in their rows, and with free constants pinned."""
        if self.edges is not None:
            system[self.edges.rows] = self.edges.matrix[number]
        for component in self.free:
            # The constraint leaves the constant free and its own mean over space unfulfilled; this ties one to the
            # other, and `without_free_constants` drops what comes of it.
            own = np.arange(component, len(system), self.drive.shape[-1])
            rows = own if self.edges is None else np.setdiff1d(own, self.edges.rows)
            system[np.ix_(rows, own)] += np.abs(system[np.ix_(rows, own)]).max() / own.size**2
        return system

    def _free_components(self) -> tuple[int, ...]:
        """Components of which neither the equations nor the boundary conditions see a constant."""
        assert self.mass is not None
        seen = np.abs(self.mass).max(axis=(0, 1, 2)) > 0
        value = self.slopes.get((0,) * (1 + len(self.grid.axes)))
        if value is not None:
            seen |= np.abs(value).max(axis=(0, 1, 2)) > 0
        if self.edges is not None:
            by_component = self.edges.matrix.reshape(*self.edges.matrix.shape[:2], -1, len(seen))
            constant, scale = np.abs(by_component.sum(axis=2)), np.abs(by_component).sum(axis=2)
            seen |= (constant > 1e-9 * np.maximum(scale, 1e-300)).any(axis=(0, 1))
        return tuple(np.flatnonzero(~seen).tolist())

    def _constraints_determine_the_solution(self) -> bool:
        """Whether M, with the constraints in its zero rows, can be inverted (index 1), at the first step."""
        mass = self._mass_matrix(0)
        assert mass is not None
        is_constraint = np.abs(mass).max(axis=1) == 0
        system = self._closed(np.where(is_constraint[:, None], self.matrix(0), mass), 0)
        system = system / np.maximum(np.abs(system).max(axis=1, keepdims=True), 1e-300)
        return bool(np.isfinite(system).all() and np.linalg.cond(system) < _LARGEST_CONDITION)


def _equation_of_component(
    mass: Float[np.ndarray, "times points equations components"], slopes: Slopes
) -> Int[np.ndarray, " components"]:
    """Which equation determines which component: one with its time derivative, or a constraint."""
    rates = np.abs(mass).max(axis=(0, 1))
    values = np.max([np.abs(slope).max(axis=(0, 1)) for slope in slopes.values()], axis=0)
    has_rate = rates.any(axis=0)
    strength = np.where(rates.any(axis=1, keepdims=True), rates, values * np.where(has_rate, 1e-3, 1.0))
    strength = strength / np.maximum(strength.max(axis=1, keepdims=True), 1e-300)
    return linear_sum_assignment(-strength.T)[1]
