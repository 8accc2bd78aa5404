"""How wrong a solution is, judged by the equation alone.

The error e = u_hat - u of a solution with residual r obeys, to first order,

    M e_t + sum over a of C_a D^a e = r,   B e = b at the boundary,   e(t0) = u_hat(t0) - g,

where M and C_a are the derivatives of the residual in u_t and D^a u, and b is what u_hat misses of the boundary values.
Two things are made of it: an *estimate*, this linear equation solved on a coarse grid, and the *bound* of Eq.
error_propagation, which only asks for how fast an error can grow at most.
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
import scipy.fft
from jaxtyping import Float, Int

from ..derivatives import fourier_differentiation
from ..domains import Axis
from ..evaluation import predict
from ..fields import MultiIndex, Operator, apply_operator
from ..networks import Network
from ..problems.base import EvolutionProblem
from ..reference.split import double_precision

_POINTS = {0: 1, 1: 192, 2: 22, 3: 8}  # along an axis: at most a few hundred unknowns a component
_BOUNDED_POINTS = {1: 65, 2: 21, 3: 9}
_REFINEMENT = {0: 1, 1: 4, 2: 2, 3: 2}
_STEPS_PER_LEVEL = 4
_LEAST_STEPS, _MOST_STEPS = 200, 400
_EMPTY = 1e-4  # of the energy
_GAMMA = 1 - 1 / math.sqrt(2)  # of the two-stage diagonally implicit Runge-Kutta method of order 2, which is L-stable


@dataclass(frozen=True)
class ErrorEstimate:
    """Relative L2 errors over time: the estimate, and the bound where it is known."""

    times: Float[np.ndarray, " times"]
    estimate: Float[np.ndarray, " times"]
    bound: Float[np.ndarray, " times"] | None
    overall: float

    @property
    def largest_bound(self) -> float | None:
        return None if self.bound is None else float(self.bound.max())


def error_estimate(problem: EvolutionProblem, network: Network, num_times: int) -> ErrorEstimate | None:
    """The error of a network by its residual at times that training did not see.

    `num_times` is the number of levels trained on. None where it cannot be had: u_t has no invertible factor, or the
    solution is too fine for the grid of the error equation. The bound needs the problem's `stability`, which is
    computed on periodic boxes and for ODEs where it is not stated.
    """
    interval, grid, stability = problem.interval, _Grid.of(problem), problem.stability
    steps = min(_MOST_STEPS, max(_LEAST_STEPS, _STEPS_PER_LEVEL * num_times + 1))
    step = interval.duration / steps
    middles = interval.start + step * (np.arange(steps) + 0.5)
    ends = middles + step / 2
    values = next(iter(predict(network, np.append(interval.start, ends), grid.points).values()))
    if not np.isfinite(values).all():
        return ErrorEstimate(ends, np.full(steps, np.inf), None, math.inf)
    if not grid.resolves(values):
        return None
    linear = _linearised(problem, network.bound(problem.residual_operator), network, middles, grid.points)
    mass = linear.slopes[(1, *(0,) * problem.box.dimension)]
    if not np.all(np.abs(np.linalg.det(mass)) > 1e-12):
        return None
    drive = np.linalg.solve(mass, _residual(problem, network, middles, grid)[..., None])[..., 0]
    fine = grid.refined()
    start_values = next(iter(predict(network, np.array([interval.start]), fine.points).values()))
    start = fine.restricted(start_values - np.asarray(problem.initial_values(fine.points)), grid)[0]
    edges = _boundary_rows(problem, network, ends, grid)
    matrices = {index: grid.derivative(index[1:]) for index in linear.slopes if not index[0]}
    computes_rates = stability is None and all(axis.periodic for axis in problem.box.axes)
    error, errors, rates = start.ravel(), [], []
    for number in range(steps):
        total = sum(
            np.einsum("pij,pq->piqj", np.linalg.solve(mass[number], linear.slopes[index][number]), matrix)
            for index, matrix in matrices.items()
        )
        matrix = -np.reshape(total, (error.size, error.size))
        if computes_rates:
            rates.append(_largest_rate(matrix, number, rates))
        error = _advance(matrix, drive[number].ravel(), error, step, None if edges is None else edges.at(number))
        errors.append(grid.norm(error.reshape(start.shape)))
    sizes = np.maximum([grid.norm(value) for value in values[1:]], np.finfo(np.float64).tiny)
    bound = None
    if computes_rates or stability is not None:
        growth = np.array(rates) if stability is None else np.full(steps, stability)
        bound = _bound(growth, np.array([grid.norm(one) for one in drive]), grid.norm(start), step) / sizes
    overall = float(np.linalg.norm(errors) / np.linalg.norm(sizes))
    return ErrorEstimate(ends, np.array(errors) / sizes, bound, overall)


@dataclass(frozen=True)
class _Grid:
    """A tensor grid with differentiation matrices: Fourier on periodic axes, Chebyshev on bounded ones."""

    points: Float[np.ndarray, "points dim"]
    weights: Float[np.ndarray, " points"]
    axes: tuple[tuple[Axis, int], ...]

    @classmethod
    def of(cls, problem: EvolutionProblem) -> "_Grid":
        dimension = problem.box.dimension
        counts = (_POINTS[dimension] if a.periodic else _BOUNDED_POINTS[dimension] for a in problem.box.axes)
        return cls.with_counts(tuple(zip(problem.box.axes, counts, strict=True)))

    def refined(self) -> "_Grid":
        factor = _REFINEMENT[len(self.axes)]
        return self.with_counts(
            tuple((axis, factor * n if axis.periodic else factor * (n - 1) + 1) for axis, n in self.axes)
        )

    @classmethod
    def with_counts(cls, axes: tuple[tuple[Axis, int], ...]) -> "_Grid":
        nodes = [_nodes(axis, count) for axis, count in axes]
        mesh = np.meshgrid(*nodes, indexing="ij")
        points = np.stack([m.ravel() for m in mesh], axis=-1) if mesh else np.zeros((1, 0))
        weights = np.ones(1)
        for axis, count in axes:
            weights = np.kron(weights, _mean_weights(axis, count))
        return cls(points, weights, axes)

    def restricted(self, values: Float[np.ndarray, "times points components"], coarse: "_Grid") -> np.ndarray:
        """Values on a coarser grid without the modes that it cannot tell from others."""
        shape = (len(values), *(count for _, count in self.axes), values.shape[-1])
        values = values.reshape(shape)
        for number, ((axis, many), (_, few)) in enumerate(zip(self.axes, coarse.axes, strict=True), start=1):
            along = np.moveaxis(values, number, -1)
            if axis.periodic:
                modes = np.fft.rfft(along, norm="forward")[..., : few // 2 + 1]
                modes[..., -1] *= few % 2  # the highest mode of an even grid has no phase
                along = np.fft.irfft(modes, few, norm="forward")
            else:
                modes = np.asarray(scipy.fft.dct(along, type=1))[..., :few] / (many - 1)
                modes[..., -1] = 0.0
                along = np.asarray(scipy.fft.idct(modes * (few - 1), type=1))
            values = np.moveaxis(along, -1, number)
        return values.reshape(len(values), -1, values.shape[-1])

    def norm(self, values: Float[np.ndarray, "points components"]) -> float:
        """The root mean square over the box."""
        return math.sqrt(float(np.sum(values**2, axis=-1) @ self.weights))

    def resolves(self, values: Float[np.ndarray, "times points components"]) -> bool:
        """Whether the finest third of the modes along every axis is nearly empty."""
        shape = (len(values), *(count for _, count in self.axes), values.shape[-1])
        for number, (axis, _count) in enumerate(self.axes, start=1):
            along = np.moveaxis(values.reshape(shape), number, -1)
            modes = np.abs(np.fft.rfft(along) if axis.periodic else np.asarray(scipy.fft.dct(along, type=1))) ** 2
            modes = modes.reshape(-1, modes.shape[-1]).sum(axis=0)
            if modes[2 * len(modes) // 3 :].sum() > _EMPTY * modes.sum():
                return False
        return True

    def derivative(self, orders: Sequence[int]) -> Float[np.ndarray, "points points"]:
        product = np.eye(1)
        for (axis, count), order in zip(self.axes, orders, strict=True):
            if axis.periodic:
                matrix = fourier_differentiation(count, axis.length, order)
            else:
                matrix = np.linalg.matrix_power(_chebyshev_differentiation(count) * (2 / axis.length), order)
            product = np.kron(product, matrix)
        return product


def _nodes(axis: Axis, count: int) -> np.ndarray:
    if axis.periodic:
        return axis.uniform_points(count)
    return axis.lower + axis.length * (1 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2


def _mean_weights(axis: Axis, count: int) -> np.ndarray:
    """Weights of the mean over an axis: equal, or Clenshaw and Curtis's."""
    if axis.periodic:
        return np.full(count, 1 / count)
    n = count - 1
    k = np.arange(0, n + 1, 2)
    cosines = np.cos(np.outer(np.arange(count), k) * np.pi / n)
    factors = 2.0 / (1 - k**2) * np.where((k == 0) | (k == n), 0.5, 1.0)
    weights = cosines @ factors * 2 / n
    weights[[0, -1]] /= 2
    return weights / 2


def _chebyshev_differentiation(count: int) -> np.ndarray:
    """On increasing nodes of [-1, 1]."""
    x = -np.cos(np.pi * np.arange(count) / (count - 1))
    c = np.where((np.arange(count) == 0) | (np.arange(count) == count - 1), 2.0, 1.0) * (-1.0) ** np.arange(count)
    difference = x[:, None] - x + np.eye(count)
    matrix = np.outer(c, 1 / c) / difference
    return matrix - np.diag(matrix.sum(axis=1))


@dataclass(frozen=True)
class _Linearised:
    """An operator at a solution: its values, and its derivatives in every D^a u."""

    values: Float[np.ndarray, "times points equations"]
    slopes: dict[MultiIndex, Float[np.ndarray, "times points equations components"]]


def _residual(problem: EvolutionProblem, network: Network, times: np.ndarray, grid: _Grid) -> np.ndarray:
    """The residual on the grid, without what is too fine for it."""
    fine = grid.refined()
    operator = network.bound(problem.residual_operator)
    known = predict(network, times, fine.points, problem.derivatives)
    with double_precision():
        derivatives = {index: jnp.asarray(values, jnp.float64) for index, values in known.items()}
        values = jax.jit(lambda d: apply_operator(operator, d, jnp.asarray(times), jnp.asarray(fine.points)))(
            derivatives
        )
    return fine.restricted(np.asarray(values), grid)


def _linearised(
    problem: EvolutionProblem, operator: Operator, network: Network, times: np.ndarray, points: np.ndarray
) -> _Linearised:
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
    return _Linearised(np.asarray(values), {index: slopes[..., k, :] for k, index in enumerate(order)})


@dataclass(frozen=True)
class _BoundaryRows:
    """Which rows of the system the boundary conditions take the place of, and what they say."""

    rows: Int[np.ndarray, " conditions"]
    matrix: Float[np.ndarray, "times conditions unknowns"]
    values: Float[np.ndarray, "times conditions"]

    def at(self, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return self.rows, self.matrix[number], self.values[number]


def _boundary_rows(problem: EvolutionProblem, network: Network, times: np.ndarray, grid: _Grid) -> _BoundaryRows | None:
    """The linearised boundary conditions; a second condition on one face takes the next layer of points."""
    rows, matrices, values, taken = [], [], [], set()
    components, layers = len(problem.outputs), {}
    for condition in problem.boundary_faces:
        axis = problem.box.axis_index(condition.axis)
        nodes = np.unique(grid.points[:, axis])
        end, inward = (0, 1) if condition.side == "lower" else (len(nodes) - 1, -1)
        on_face = np.flatnonzero(grid.points[:, axis] == nodes[end])
        operator = problem.on_real_fields(condition.mismatch)
        linear = _linearised(problem, operator, network, times, grid.points[on_face])
        whole = 0.0
        for index, slope in linear.slopes.items():
            whole = whole + np.einsum("tpij,pq->tpiqj", slope, grid.derivative(index[1:])[on_face])
        equations = linear.values.shape[-1]
        whole = np.reshape(whole, (len(times), len(on_face), equations, -1))
        for equation in range(equations):
            strength = [
                sum(np.abs(s[..., equation, c]).max() for s in linear.slopes.values()) for c in range(components)
            ]
            component = int(np.argmax(strength))
            layer = layers.setdefault((condition.name, component), 0)
            layers[condition.name, component] += 1
            stands_for = np.flatnonzero(grid.points[:, axis] == nodes[end + inward * layer])
            for place, point in enumerate(stands_for):
                row = point * components + component
                if row not in taken:
                    taken.add(row)
                    rows.append(row)
                    matrices.append(whole[:, place, equation])
                    values.append(linear.values[:, place, equation])
    if not rows:
        return None
    return _BoundaryRows(np.array(rows), np.stack(matrices, axis=1), np.stack(values, axis=1))


def _advance(matrix: np.ndarray, drive: np.ndarray, error: np.ndarray, step: float, edges) -> np.ndarray:
    """One step of e' = A e + f."""
    system = np.eye(len(matrix)) - _GAMMA * step * matrix
    if edges is not None:
        system[edges[0]] = edges[1]

    def stage(right: np.ndarray) -> np.ndarray:
        right = right + _GAMMA * step * drive
        if edges is not None:
            right[edges[0]] = edges[2]
        return right

    if edges is None:
        inverse = np.linalg.inv(system)
        first = inverse @ stage(error)
        return inverse @ stage(error + (1 - _GAMMA) / _GAMMA * (first - error))
    first = np.linalg.solve(system, stage(error))
    return np.linalg.solve(system, stage(error + (1 - _GAMMA) / _GAMMA * (first - error)))


def _largest_rate(matrix: np.ndarray, number: int, known: list[float]) -> float:
    """The one-sided constant; it changes slowly, so every tenth is computed."""
    return known[-1] if number % 10 else float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1])


def _bound(rates: np.ndarray, drives: np.ndarray, start: float, step: float) -> Float[np.ndarray, " times"]:
    """The solution of b' = rate b + drive, the equality case of Eq. error_propagation before it is squared."""
    bounds, bound = [], start
    for rate, drive in zip(rates, drives, strict=True):
        growth = math.exp(min(rate * step, 700.0))
        added = step if abs(rate * step) < 1e-12 else (growth - 1) / rate
        bound = min(growth * bound + drive * added, 1e300)
        bounds.append(bound)
    return np.array(bounds)


def disagreement(*predictions: Float[np.ndarray, "..."]) -> float:
    """The largest relative distance between any two of several predictions of the same values, as of several seeds."""
    if len(predictions) < 2:
        raise ValueError(f"disagreement needs at least two predictions, got {len(predictions)}.")
    scale = max(float(np.linalg.norm(one)) for one in predictions)
    return max(float(np.linalg.norm(a - b) / scale) for a, b in itertools.combinations(predictions, 2))
