"""What a solution can be compared with: the closed form a problem states, else a spectral or an ODE reference."""

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from ..fields import apply_operator
from ..nested import partial_derivative
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
        def at(t, x):
            return partial_derivative(lambda z: self.problem.exact_at(t, z), derivative or ())(x)

        with double_precision():
            at_points = jax.vmap(at, in_axes=(None, 0))
            times, points = jnp.asarray(times, jnp.float64), jnp.asarray(points, jnp.float64)
            return np.asarray(jax.vmap(at_points, in_axes=(0, None))(times, points))


class OdeSolution:
    """The solution of a system of ordinary differential equations by SciPy's method of order 8, to near rounding."""

    def __init__(self, problem: EvolutionProblem):
        operator = problem.residual_operator
        nowhere = jnp.zeros((1, 0))

        def residual(rate, state, t):
            return apply_operator(operator, {(1,): rate[None, None], (0,): state[None, None]}, t[None], nowhere)[0, 0]

        def velocity(t, state):
            rest = jnp.zeros_like(state)
            return -jnp.linalg.solve(jax.jacobian(residual)(rest, state, t), residual(rest, state, t))

        with double_precision():
            compiled = jax.jit(velocity)
            start = np.asarray(problem.initial_values(np.zeros((1, 0))))[0].astype(np.float64)
            span = (problem.interval.start, problem.interval.end)

            def rates(t, state):
                return np.asarray(compiled(jnp.asarray(t, jnp.float64), jnp.asarray(state, jnp.float64)))

            if not np.isfinite(rates(span[0], start)).all():  # with which SciPy would never end
                raise ValueError(
                    f"problem {problem.name}: its equations do not determine the time derivative of every component "
                    "at the start, so that SciPy cannot solve it; state `exact` to compare with."
                )
            found = solve_ivp(
                rates,
                span,
                start,
                method="DOP853",
                rtol=_ODE_TOLERANCE,
                atol=_ODE_TOLERANCE * max(1.0, float(np.abs(start).max())),
                dense_output=True,
            )
        if not found.success:
            raise ValueError(f"problem {problem.name}: SciPy could not solve it to the end ({found.message}).")
        self._at = found.sol

    def on_grid(self, times, points, derivative: tuple[int, ...] | None = None) -> np.ndarray:
        return np.moveaxis(self._at(np.asarray(times, np.float64)), 0, -1)[:, None, :]


_ODE_TOLERANCE = 1e-11


def known_solution(
    problem: EvolutionProblem, *, compute: bool = True, progress: Callable[[str], None] | None = None
) -> KnownSolution | None:
    """What the solution of a problem can be compared with, None if there is nothing.

    Without `compute`, a spectral reference only if the cache has it.
    """
    if problem.has_exact_solution:
        return ClosedForm(problem)
    if problem.box.dimension == 0:
        return OdeSolution(problem)
    if not problem.box.periodic:
        return None
    return reference_solution(problem, progress=progress) if compute else cached_reference(problem)
