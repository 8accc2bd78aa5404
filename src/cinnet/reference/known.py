"""What a solution can be compared with: the closed form a problem states, or else a spectral reference."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np

from ..problems.base import EvolutionProblem
from .solver import cached_reference, reference_solution
from .split import double_precision


@runtime_checkable
class KnownSolution(Protocol):
    """Values, or spatial derivatives by their orders along the axes, at all times and points."""

    def on_grid(self, times: Any, points: Any, derivative: tuple[int, ...] | None = None) -> np.ndarray: ...


class ClosedForm:
    """The solution that a problem states as its method `exact`."""

    def __init__(self, problem: EvolutionProblem):
        self.problem = problem

    def on_grid(self, times, points, derivative: tuple[int, ...] | None = None) -> np.ndarray:
        function = self.problem.exact_at
        for axis, order in enumerate(derivative or ()):
            for _ in range(order):
                function = _differentiated(function, axis)
        with double_precision():
            at_points = jax.vmap(function, in_axes=(None, 0))
            times, points = jnp.asarray(times, jnp.float64), jnp.asarray(points, jnp.float64)
            return np.asarray(jax.vmap(at_points, in_axes=(0, None))(times, points))


def _differentiated(function: Callable, axis: int) -> Callable:
    def derivative(t, x):
        return jax.jvp(lambda z: function(t, z), (x,), (jnp.zeros_like(x).at[axis].set(1.0),))[1]

    return derivative


def known_solution(
    problem: EvolutionProblem, *, compute: bool = True, progress: Callable[[str], None] | None = None
) -> KnownSolution | None:
    """What the solution of a problem can be compared with, None if there is nothing.

    Without `compute`, a spectral reference only if the cache has it.
    """
    if problem.has_exact_solution:
        return ClosedForm(problem)
    if not problem.box.periodic:
        return None
    return reference_solution(problem, progress=progress) if compute else cached_reference(problem)
