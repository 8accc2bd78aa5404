"""Solutions beside others: a reference on the test grid, or runs with other seeds."""

import itertools

import numpy as np
from jaxtyping import Float

from ..evaluation import predict
from ..networks import Network
from ..problems.base import EvolutionProblem
from ..reference import KnownSolution
from .metrics import relative_error

_TEST_GRIDS = {0: (201, 1), 1: (101, 512), 2: (21, 128), 3: (6, 32)}


def evaluation_grid(
    problem: EvolutionProblem,
) -> tuple[Float[np.ndarray, " times"], Float[np.ndarray, "points dim"]]:
    """The times and points on which errors are measured; none of them is special to training."""
    num_times, num_points = _TEST_GRIDS[problem.box.dimension]
    times = np.linspace(problem.interval.start, problem.interval.end, num_times)
    return times, problem.box.uniform_grid((num_points,) * problem.box.dimension)


class ErrorMeter:
    """RL2E of networks against a reference on the test grid."""

    def __init__(self, problem: EvolutionProblem, reference: KnownSolution):
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


def disagreement(*predictions: Float[np.ndarray, "..."]) -> float:
    """The largest relative distance between any two of several predictions of the same values, as of several seeds."""
    if len(predictions) < 2:
        raise ValueError(f"disagreement needs at least two predictions, got {len(predictions)}.")
    scale = max(float(np.linalg.norm(one)) for one in predictions)
    return max(float(np.linalg.norm(a - b) / scale) for a, b in itertools.combinations(predictions, 2))
