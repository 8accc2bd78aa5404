"""What `solve` returns: the solution as a function, with its errors, diagnostics and files."""

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .fields import MultiIndex, parse_derivative
from .jets import JetSpace
from .metrics import invariants, predict, relative_error, relative_error_over_time, residual_over_time
from .networks import Network
from .problems.base import EvolutionProblem
from .reference import ReferenceSolution, reference_solution
from .settings import Settings

_SCATTERED_COLUMNS = 1024


class Solution:
    """A trained solution u(t, x). Call it on arrays that broadcast; a system has a trailing component axis."""

    def __init__(
        self,
        problem: EvolutionProblem,
        network: Network,
        settings: Settings,
        result: Mapping[str, Any],
        records: list[dict[str, float]],
    ):
        self.problem, self.network, self.settings = problem, network, settings
        self.result, self.records = dict(result), records

    @property
    def status(self) -> str:
        return self.result["status"]

    def __repr__(self) -> str:
        error = self.result.get("relative_l2_error")
        known = "unknown" if error is None else f"{error:.2e}"
        return f"Solution({self.problem.name}, {self.settings.method}, {self.status}, relative L2 error {known})"

    def __call__(self, t, *coordinates) -> Float[np.ndarray, "..."]:
        """u at arrays of t and x (and y, z) that broadcast against each other."""
        return self.derivative("", t, *coordinates)

    def derivative(self, name: str, t, *coordinates) -> Float[np.ndarray, "..."]:
        """A derivative by name at arrays of points: `solution.derivative("txx", t, x)`."""
        dimension = self.problem.box.dimension
        if len(coordinates) != dimension:
            raise ValueError(f"{len(coordinates)} coordinate(s) given; {self.problem.name} has {dimension}.")
        index: MultiIndex | None = (0,) * (1 + dimension) if name == "" else parse_derivative(name, dimension)
        if index is None:
            raise ValueError(f"derivative {name!r} is not made of the letters t, x, y, z.")
        t, *coordinates = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (t, *coordinates)))
        self.problem.interval.check(t)
        points = np.stack([c.ravel() for c in coordinates], axis=-1) if coordinates else np.zeros((t.size, 0))
        values = self._evaluate(index, t.ravel(), points).reshape(*t.shape, -1)
        return values[..., 0] if len(self.problem.components) == 1 else values

    def _evaluate(self, index: MultiIndex, times: np.ndarray, points: np.ndarray) -> np.ndarray:
        distinct_times, time_of = np.unique(times, return_inverse=True)
        distinct_points, point_of = np.unique(points, axis=0, return_inverse=True)
        if len(distinct_times) * len(distinct_points) <= 4 * len(times):
            on_grid = predict(self.network, distinct_times, distinct_points, frozenset({index}))[index]
            return on_grid[time_of, point_of.ravel()]
        space, parts = JetSpace.of({index}), []
        for start in range(0, len(times), _SCATTERED_COLUMNS):
            chunk = slice(start, start + _SCATTERED_COLUMNS)
            plan = self.network.plan(jnp.asarray(times[chunk], self.network.dtype)[None])
            parts.append(self.network.jets(plan, jnp.asarray(points[chunk], self.network.dtype), space)[index][0])
        return np.concatenate(parts)

    @cached_property
    def reference(self) -> ReferenceSolution:
        """The spectral reference of a periodic problem, from the cache or computed."""
        return reference_solution(self.problem)

    def relative_error(self) -> float:
        """RL2E against the reference on the test grid."""
        return ErrorMeter(self.problem, self.reference)(self.network)

    def error_over_time(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and RL2E(t) on the test grid."""
        times, points = evaluation_grid(self.problem)
        prediction = next(iter(predict(self.network, times, points).values()))
        return times, relative_error_over_time(prediction, self.reference.on_grid(times, points))

    def residual_over_time(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and L_res(t) on the test grid."""
        times, points = evaluation_grid(self.problem)
        return times, residual_over_time(self.problem, self.network, times, points)

    def invariants(self) -> Mapping[str, np.ndarray]:
        """The integrals that the problem declares, over the times of the test grid."""
        times, points = evaluation_grid(self.problem)
        return invariants(
            self.problem,
            lambda index: predict(self.network, times, points, frozenset({index}))[index],
            times,
            points,
        )


_TEST_GRIDS = {0: (201, 1), 1: (101, 512), 2: (21, 128), 3: (6, 32)}


def evaluation_grid(problem: EvolutionProblem) -> tuple[np.ndarray, np.ndarray]:
    """The times and points on which errors are measured; none of them is special to training."""
    num_times, num_points = _TEST_GRIDS[problem.box.dimension]
    times = np.linspace(problem.interval.start, problem.interval.end, num_times)
    return times, problem.box.uniform_grid((num_points,) * problem.box.dimension)


class ErrorMeter:
    """RL2E of networks against a reference on the test grid."""

    def __init__(self, problem: EvolutionProblem, reference: ReferenceSolution):
        self._times, self._points = evaluation_grid(problem)
        self._exact = reference.on_grid(self._times, self._points)

    def __call__(self, network: Network) -> float:
        return self.between(network, network.interval.start, network.interval.end)

    def between(self, network: Network, start: float, end: float) -> float:
        """The error over the test times from `start` to `end`, which the network's own interval stands for."""
        slack = 1e-9 * (end - start)
        inside = (self._times >= start - slack) & (self._times <= end + slack)
        own_times = self._times[inside] - start + network.interval.start
        prediction = next(iter(predict(network, own_times, self._points).values()))
        return relative_error(prediction, self._exact[inside])
