"""Finding the symmetries of a problem, and by uniqueness of its solution, by trying.

A reflection, a shorter period or an exchange of axes is a symmetry when the initial value is unchanged by it and
the residual is too, whatever the values of the derivatives. Both are tested on random values in float64.
"""

import itertools
from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from ..domains import Box
from ..fields import MultiIndex, apply_operator
from ..symmetry import Symmetry
from ..unknowns import UnknownField
from .base import EvolutionProblem

_TRIALS = 64
_TOLERANCE = 1e-11
_MOST_REPEATS = 8
_GENERIC = 0.37  # an unknown at its guess, often 0 or 1, may have a symmetry that other values have not


def find_symmetry(problem: EvolutionProblem) -> Symmetry:
    """The symmetries of a problem on its periodic axes that were found by trying.

    None for a bounded box, and none where a function of space is unknown.
    """
    box = problem.box
    if not box.periodic or any(isinstance(unknown, UnknownField) for unknown in problem.unknowns.values()):
        return Symmetry.none(box)
    holds = _Trial(problem)
    repeats = tuple(
        next((n for n in range(_MOST_REPEATS, 1, -1) if holds(_shift(box, i, n))), 1) for i in range(box.dimension)
    )
    even = tuple(holds(_reflection(box, i)) for i in range(box.dimension))
    alike = len(set(box.axes)) == len(set(repeats)) == len(set(even)) == 1
    swaps = [_exchange(box, i, i + 1) for i in range(box.dimension - 1)]
    return Symmetry(repeats, even, exchange=bool(swaps) and alike and all(holds(swap) for swap in swaps))


@dataclass(frozen=True)
class _Map:
    """A map of space, and the multi-index and sign of the derivative that a derivative turns into."""

    points: Callable[[np.ndarray], np.ndarray]
    index: Callable[[MultiIndex], MultiIndex] = lambda index: index
    sign: Callable[[MultiIndex], int] = lambda index: 1


def _shift(box: Box, axis: int, repeats: int) -> _Map:
    step = np.eye(box.dimension)[axis] * box.axes[axis].length / repeats
    return _Map(lambda points: points + step)


def _reflection(box: Box, axis: int) -> _Map:
    flip = 1 - 2 * np.eye(box.dimension)[axis]
    ends = np.eye(box.dimension)[axis] * (box.axes[axis].lower + box.axes[axis].upper)
    return _Map(lambda points: ends + flip * points, sign=lambda index: -1 if index[1 + axis] % 2 else 1)


def _exchange(box: Box, first: int, second: int) -> _Map:
    order = list(range(box.dimension))
    order[first], order[second] = second, first
    return _Map(lambda points: points[:, order], index=lambda index: (index[0], *(index[1 + i] for i in order)))


class _Trial:
    """Whether a map changes the initial value or the residual at random points, times and derivatives."""

    def __init__(self, problem: EvolutionProblem):
        rng = np.random.default_rng(0)
        box, interval = problem.box, problem.interval
        lower, length = (np.array([getattr(axis, name) for axis in box.axes]) for name in ("lower", "length"))
        self._points = lower + length * rng.random((_TRIALS, box.dimension))
        self._times = interval.start + interval.duration * rng.random((1, _TRIALS))
        orders = range(1 + max(sum(index) for index in problem.derivatives))
        indices = itertools.product(orders, repeat=1 + box.dimension)
        shape = (1, _TRIALS, len(problem.outputs))
        self._derivatives = {index: rng.normal(size=shape) for index in indices}
        self._lower, self._length = lower, length
        self._initial = jax.jit(problem.initial_values)
        operator = problem.residual_operator.bind({name: jnp.full(1, _GENERIC) for name in problem.unknowns})
        self._residual = jax.jit(
            lambda derivatives, points: apply_operator(operator, derivatives, jnp.asarray(self._times), points)
        )

    def __call__(self, change: _Map) -> bool:
        image = self._lower + np.mod(change.points(self._points) - self._lower, self._length)
        moved = {change.index(index): change.sign(index) * value for index, value in self._derivatives.items()}
        with jax.enable_x64(True):
            pairs = (
                (self._initial(self._points), self._initial(image)),
                (self._residual(self._derivatives, self._points), self._residual(moved, image)),
            )
        return all(np.allclose(a, b, rtol=0, atol=_TOLERANCE * max(1.0, np.abs(a).max())) for a, b in pairs)
