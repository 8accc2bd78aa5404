"""Finding the symmetries of a problem, and by uniqueness of its solution, by trying.

A reflection, a shorter period or an exchange of axes is a symmetry when the initial value is unchanged by it and
the residual is too, whatever the values of the derivatives. Both are tested in float64 at many points: a dense grid,
points drawn ever closer to where the initial value or the residual varies, and the points that the caller cares for.
A wrong symmetry is a wrong solution, so what seems constant but may hide something between the points has none.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..dataflow import depends_on
from ..domains import Box
from ..fields import MultiIndex, apply_operator
from ..symmetry import Symmetry
from ..unknowns import UnknownField
from .base import EvolutionProblem

_POINTS_PER_AXIS = {1: 4096, 2: 128, 3: 32}
_OFFSET = (math.sqrt(5) - 1) / 2  # of the grid's spacing: irrational, so that no point is the image of another
_REFINEMENTS = 4
_TOLERANCE = 1e-11
_MOST_REPEATS = 8
_GENERIC = 0.37  # an unknown at its guess, often 0 or 1, may have a symmetry that other values have not


def find_symmetry(problem: EvolutionProblem, points: Float[np.ndarray, "points dim"] | None = None) -> Symmetry:
    """The symmetries of a problem on its periodic axes that were found by trying, at `points` too.

    None for a bounded box, and none where a function of space is unknown.
    """
    box = problem.box
    if not box.periodic or any(isinstance(unknown, UnknownField) for unknown in problem.unknowns.values()):
        return Symmetry.none(box)
    with jax.enable_x64(True):
        functions = _Functions(problem)
        batches = _trial_points(functions, box)
        if functions.may_hide_something(batches):
            return Symmetry.none(box)
        holds = _Trial(functions, batches if points is None else [*batches, np.asarray(points, np.float64)])
        repeats = tuple(
            next((n for n in range(_MOST_REPEATS, 1, -1) if holds(_shift(box, i, n))), 1) for i in range(box.dimension)
        )
        even = tuple(holds(_reflection(box, i)) for i in range(box.dimension))
        alike = len(set(box.axes)) == len(set(repeats)) == len(set(even)) == 1
        swaps = [_exchange(box, i, i + 1) for i in range(box.dimension - 1)]
        return Symmetry(repeats, even, exchange=bool(swaps) and alike and all(holds(swap) for swap in swaps))


@dataclass(frozen=True)
class _Map:
    """A map of space, and the multi-index and sign of the derivative that a derivative turns into.

    Applied `order` times it is the identity.
    """

    points: Callable[[np.ndarray], np.ndarray]
    order: int
    index: Callable[[MultiIndex], MultiIndex] = lambda index: index
    sign: Callable[[MultiIndex], int] = lambda index: 1


_IDENTITY = _Map(lambda points: points, 1)


def _shift(box: Box, axis: int, repeats: int) -> _Map:
    step = np.eye(box.dimension)[axis] * box.axes[axis].length / repeats
    return _Map(lambda points: points + step, repeats)


def _reflection(box: Box, axis: int) -> _Map:
    flip = 1 - 2 * np.eye(box.dimension)[axis]
    ends = np.eye(box.dimension)[axis] * (box.axes[axis].lower + box.axes[axis].upper)
    return _Map(lambda points: ends + flip * points, 2, sign=lambda index: -1 if index[1 + axis] % 2 else 1)


def _exchange(box: Box, first: int, second: int) -> _Map:
    order = list(range(box.dimension))
    order[first], order[second] = second, first
    return _Map(lambda points: points[:, order], 2, index=lambda index: (index[0], *(index[1 + i] for i in order)))


class _Functions:
    """The initial value and the residual of a problem at many points."""

    def __init__(self, problem: EvolutionProblem):
        self.problem = problem
        axes = itertools.permutations(range(problem.box.dimension))
        self.indices = sorted({(i[0], *(i[1 + a] for a in order)) for order in axes for i in problem.derivatives})
        operator = problem.residual_operator.bind({name: jnp.full(1, _GENERIC) for name in problem.unknowns})
        self.initial = jax.jit(problem.initial_values)
        self.residual = jax.jit(lambda *where: apply_operator(operator, *where)[0])

    def random_derivatives(
        self, rng: np.random.Generator, count: int, size: np.ndarray | float = 1.0
    ) -> dict[MultiIndex, np.ndarray]:
        """Derivatives as a function of this size has them that varies over the whole domain."""
        scales = [self.problem.interval.duration, *(axis.length for axis in self.problem.box.axes)]
        return {
            index: size * rng.normal(size=(1, count, len(self.problem.outputs))) / np.prod(np.power(scales, index))
            for index in self.indices
        }

    def random_times(self, rng: np.random.Generator, count: int) -> np.ndarray:
        interval = self.problem.interval
        return interval.start + interval.duration * rng.random((1, count))

    def along_space(self, rng: np.random.Generator) -> Callable[[np.ndarray], np.ndarray]:
        """Initial value and residual as functions of space alone, at one time and for one set of derivatives."""
        derivatives, time = self.random_derivatives(rng, 1), self.random_times(rng, 1)

        def values(points: np.ndarray) -> np.ndarray:
            same = {i: np.broadcast_to(d, (1, len(points), d.shape[-1])) for i, d in derivatives.items()}
            residual = self.residual(same, np.broadcast_to(time, (1, len(points))), points)
            return np.concatenate([self.initial(points), residual], axis=1)

        return values

    def may_hide_something(self, batches: list[np.ndarray]) -> bool:
        """Whether the initial value or the residual depends on space by its trace, but is constant at all points."""
        varies = np.any([np.ptp(self.along_space(np.random.default_rng(1))(points), axis=0) for points in batches], 0)
        outputs = len(self.problem.outputs)
        origin = jnp.zeros(self.problem.box.dimension)
        one = {index: jnp.zeros((1, 1, outputs)) for index in self.indices}
        initial = [depends_on(lambda x, c=c: self.problem.initial_outputs(x)[c], 0, origin) for c in range(outputs)]
        residual = depends_on(lambda x: self.residual(one, jnp.zeros((1, 1)), x[None]), 0, origin)
        hidden = [depends and not seen for depends, seen in zip(initial, varies[:outputs], strict=True)]
        return any(hidden) or (residual and not varies[outputs:].any())


def _trial_points(functions: _Functions, box: Box) -> list[np.ndarray]:
    """A dense grid, then as many points in those cells where something varies, again and again."""
    rng = np.random.default_rng(0)
    values = functions.along_space(rng)
    count = _POINTS_PER_AXIS[box.dimension]
    spacing = np.array([axis.length for axis in box.axes]) / count
    points = box.uniform_grid((count,) * box.dimension) + _OFFSET * spacing
    batches = [points]
    for _ in range(_REFINEMENTS):
        here = values(points)
        steps = [np.abs(values(_inside(points + step, box)) - here) for step in np.diag(spacing)]
        spread = np.ptp(here, axis=0)
        variation = np.max(steps, axis=0) / np.where(spread > 0, spread, 1.0)
        weights = variation.max(axis=1)
        if not weights.any():
            break
        likely = (weights / weights.sum() + (weights > 0) / (weights > 0).sum()) / 2
        chosen = rng.choice(points, len(points), p=likely)
        points = _inside(chosen + spacing * rng.random(points.shape), box)
        batches.append(points)
        spacing = spacing / 4
    return batches


def _inside(points: np.ndarray, box: Box) -> np.ndarray:
    lower, length = (np.array([getattr(axis, name) for axis in box.axes]) for name in ("lower", "length"))
    return lower + np.mod(points - lower, length)


class _Trial:
    """Whether a map changes the initial value or the residual at any point, at random times and derivatives.

    The residual is tried with derivatives of the size of the initial value, and alone, as a source may be far smaller.
    What counts as rounding depends on the largest value, of every component and equation for itself.
    """

    def __init__(self, functions: _Functions, batches: list[np.ndarray]):
        self._functions, self._batches = functions, [_inside(points, functions.problem.box) for points in batches]
        largest = np.max([np.abs(functions.initial(points)).max(axis=0) for points in self._batches], axis=0)
        self._size = np.where(largest > 0, largest, 1.0)
        values = [next(self._images(_IDENTITY, points)) for points in self._batches]
        self._tolerances = [
            _TOLERANCE * np.max([np.abs(one).max(axis=0) for one in alike], axis=0)
            for alike in zip(*values, strict=True)
        ]

    def __call__(self, change: _Map) -> bool:
        return all(self._holds_at(change, points) for points in self._batches)

    def _holds_at(self, change: _Map, points: np.ndarray) -> bool:
        images = self._images(change, points)
        here = next(images)
        return all(
            np.allclose(there, value, rtol=0, atol=tolerance, equal_nan=True)
            for image in images
            for there, value, tolerance in zip(image, here, self._tolerances, strict=True)
        )

    def _images(self, change: _Map, points: np.ndarray) -> Iterator[tuple[np.ndarray, ...]]:
        """Initial value, residual, and residual without derivatives: at some points, then at each of their images."""
        functions, rng = self._functions, np.random.default_rng(0)
        derivatives = functions.random_derivatives(rng, len(points), self._size)
        none = {index: np.zeros_like(value) for index, value in derivatives.items()}
        times = functions.random_times(rng, len(points))
        for _ in range(change.order):
            residuals = (functions.residual(one, times, points) for one in (derivatives, none))
            yield tuple(map(np.asarray, (functions.initial(points), *residuals)))
            points = _inside(change.points(points), functions.problem.box)
            derivatives = {change.index(index): change.sign(index) * value for index, value in derivatives.items()}
