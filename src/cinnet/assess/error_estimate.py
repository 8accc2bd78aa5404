"""How wrong a solution is, judged by the equation alone.

Two things are made of the equation that its error obeys (see `error_equation`): an *estimate*, this equation solved on
a coarse grid, and the *bound* of Eq. error_propagation, which only asks for how fast an error can grow at most.
"""

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from ..evaluation import predict
from ..networks import Network
from ..problems.base import EvolutionProblem
from .error_equation import ErrorEquation
from .linearised import boundary_rows, linearised, residual_on_grid
from .metrics import last_time_below
from .tensor_grid import TensorGrid

_POINTS = {0: 1, 1: 192, 2: 22, 3: 8}  # along an axis: at most a few hundred unknowns a component
_BOUNDED_POINTS = {1: 65, 2: 21, 3: 9}
_REFINEMENT = {0: 1, 1: 4, 2: 2, 3: 2}
_STEPS_PER_LEVEL = 4
_LEAST_STEPS, _MOST_STEPS = 200, 400
_STEPS_PER_RATE = 10  # the one-sided constant changes slowly
_ENORMOUS = 1e100  # an error beyond it is not followed
_RUNAWAY = 1e6  # errors that grow by more may belong to an ill-posed equation


@dataclass(frozen=True)
class ErrorEstimate:
    """Relative L2 errors over time: the estimate, and the bound where it is known.

    An error that grows beyond all bounds is infinite from then on. `growth` says by how much the errors made up to
    each time have been amplified by then; where that is very much, `ill_posed` says whether the finest of them grow
    fastest. `free_constants` names components that the equation determines up to a constant, which does not count.
    """

    times: Float[np.ndarray, " times"]
    estimate: Float[np.ndarray, " times"]
    bound: Float[np.ndarray, " times"] | None
    overall: float
    growth: Float[np.ndarray, " times"]
    ill_posed: bool = False
    solution_is_finite: bool = True
    free_constants: tuple[str, ...] = ()

    @property
    def largest_bound(self) -> float | None:
        return None if self.bound is None else float(self.bound.max())

    def accurate_until(self, level: float) -> float | None:
        """The last time up to which the estimate stays below a level, None if it never does."""
        return last_time_below(self.times, self.estimate, level)


def error_estimate(problem: EvolutionProblem, network: Network, num_times: int) -> ErrorEstimate | None:
    """The error of a network by its residual at times that training did not see.

    `num_times` is the number of levels trained on. None where it cannot be had: the solution is too fine for the grid
    of the error equation, or there are constraints that do not determine the components without a time derivative
    (an index above 1). The bound needs the problem's `stability`, which is computed on periodic boxes and for ODEs
    where it is not stated; with constraints there is none.
    """
    grid, interval = _grid_of(problem), problem.interval
    steps = min(_MOST_STEPS, max(_LEAST_STEPS, _STEPS_PER_LEVEL * num_times + 1))
    step = interval.duration / steps
    middles = interval.start + step * (np.arange(steps) + 0.5)
    ends = middles + step / 2
    values = next(iter(predict(network, np.append(interval.start, ends), grid.points).values()))
    if not np.isfinite(values).all():
        infinite = np.full(steps, np.inf)
        return ErrorEstimate(ends, infinite, None, math.inf, infinite, solution_is_finite=False)
    if not grid.resolves(values):
        return None
    linear = linearised(problem, network.bound(problem.residual_operator), network, middles, grid.points)
    fine = grid.refined(_REFINEMENT[problem.box.dimension])
    residual = residual_on_grid(problem, network, middles, fine, grid)
    edges = boundary_rows(problem, network, ends, grid)
    start_values = next(iter(predict(network, np.array([interval.start]), fine.points).values()))
    start = fine.restricted(start_values - np.asarray(problem.initial_values(fine.points)), grid)[0]
    try:
        equation = ErrorEquation.of(grid, step, linear.slopes, residual, edges)
        return None if equation is None else _solved(problem, equation, start, values[1:], ends)
    except np.linalg.LinAlgError:
        return None


def _grid_of(problem: EvolutionProblem) -> TensorGrid:
    dimension = problem.box.dimension
    counts = [_POINTS[dimension] if axis.periodic else _BOUNDED_POINTS[dimension] for axis in problem.box.axes]
    return TensorGrid.of(problem.box, counts)


def _solved(
    problem: EvolutionProblem,
    equation: ErrorEquation,
    start: Float[np.ndarray, "points components"],
    values: Float[np.ndarray, "times points components"],
    times: Float[np.ndarray, " times"],
) -> ErrorEstimate:
    grid = equation.grid
    errors = _errors(equation, start)
    counted = equation.without_free_constants(values.reshape(len(values), -1)).reshape(values.shape)
    sizes = np.maximum([grid.norm(value) for value in counted], np.finfo(np.float64).tiny)
    made = _errors_made(equation, start)
    growth = errors / np.maximum(made, np.finfo(np.float64).tiny)
    return ErrorEstimate(
        times=times,
        estimate=errors / sizes,
        bound=_bound(problem, equation, grid.norm(start), sizes),
        overall=float(np.linalg.norm(errors) / np.linalg.norm(sizes)),
        growth=growth,
        ill_posed=bool(growth[-1] > _RUNAWAY) and equation.is_ill_posed(),
        free_constants=tuple(problem.outputs[number] for number in equation.free),
    )


def _errors(equation: ErrorEquation, start: Float[np.ndarray, "points components"]) -> Float[np.ndarray, " times"]:
    """The norm of the error after every step."""
    norms = np.full(len(equation.drive), np.inf)
    error = equation.without_free_constants(start.ravel())
    for number in range(len(norms)):
        error = equation.advanced(error, number)
        if not np.abs(error).max() < _ENORMOUS:
            break
        norms[number] = equation.grid.norm(error.reshape(start.shape))
    return norms


def _errors_made(equation: ErrorEquation, start: np.ndarray) -> Float[np.ndarray, " times"]:
    """What the errors would add up to if none of them grew: at the start, by the residual, at the boundary."""
    made = equation.grid.norm(start) + equation.step * np.cumsum([equation.grid.norm(one) for one in equation.drive])
    if equation.edges is not None:
        made = made + np.maximum.accumulate(np.abs(equation.edges.values).max(axis=1))
    return made


def _bound(
    problem: EvolutionProblem, equation: ErrorEquation, start: float, sizes: Float[np.ndarray, " times"]
) -> Float[np.ndarray, " times"] | None:
    """The bound of Eq. error_propagation before it is squared, relative to the solution; None where it is not known.

    It is the solution of b' = rate b + |drive|, the equality case.
    """
    if equation.mass is not None:
        return None
    if problem.stability is not None:
        rates = np.full(len(equation.drive), problem.stability)
    elif all(axis.periodic for axis in problem.box.axes):
        rates = _growth_rates(equation)
    else:
        return None
    bounds, bound, step = [], start, equation.step
    for rate, drive in zip(rates.tolist(), equation.drive, strict=True):
        growth = math.exp(min(rate * step, 700.0))
        added = step if abs(rate * step) < 1e-12 else (growth - 1) / rate
        bound = min(growth * bound + equation.grid.norm(drive) * added, 1e300)
        bounds.append(bound)
    return np.array(bounds) / sizes


def _growth_rates(equation: ErrorEquation) -> Float[np.ndarray, " times"]:
    """The one-sided constant at every step."""
    steps = len(equation.drive)
    matrices = (equation.matrix(number) for number in range(0, steps, _STEPS_PER_RATE))
    rates = [float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1]) for matrix in matrices]
    return np.repeat(rates, _STEPS_PER_RATE)[:steps]
