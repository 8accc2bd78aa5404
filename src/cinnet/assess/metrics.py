"""How good a solution is: errors against a reference, the residual over time, invariants (Secs. 2.2 and 4)."""

from collections.abc import Callable, Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..evaluation import Values, predict
from ..fields import MultiIndex, apply_operator
from ..networks import Network
from ..problems.base import EvolutionProblem


def relative_error(prediction: Values, reference: Values) -> float:
    """RL2E, the relative L2 error over all times and points (Eq. errordef)."""
    prediction, reference = _pair(prediction, reference)
    return float(np.linalg.norm(prediction - reference) / np.linalg.norm(reference))


def relative_error_over_time(prediction: Values, reference: Values) -> Float[np.ndarray, " times"]:
    """RL2E(t), the relative L2 error over the points of each time (Sec. 2.2)."""
    prediction, reference = _pair(prediction, reference)
    flat = (prediction.shape[0], -1)
    difference = np.linalg.norm((prediction - reference).reshape(flat), axis=1)
    return difference / np.linalg.norm(reference.reshape(flat), axis=1)


def last_time_below(
    times: Float[np.ndarray, " times"], errors: Float[np.ndarray, " times"], level: float
) -> float | None:
    """The last time up to which an error stays below a level, None if it does not do so at the first."""
    above = np.flatnonzero(~(errors <= level))  # not a number counts as above
    if not above.size:
        return float(times[-1])
    return float(times[above[0] - 1]) if above[0] else None


def _pair(prediction, reference) -> tuple[np.ndarray, np.ndarray]:
    prediction, reference = np.asarray(prediction, np.float64), np.asarray(reference, np.float64)
    if prediction.shape != reference.shape:
        raise ValueError(f"prediction has shape {prediction.shape} and reference {reference.shape}; they must agree.")
    if not reference.any():
        raise ValueError("reference is zero everywhere, so no error can be relative to it.")
    return prediction, reference


def residual_over_time(
    problem: EvolutionProblem,
    network: Network,
    times: Float[np.ndarray, " times"],
    points: Float[np.ndarray, "points dim"],
) -> Float[np.ndarray, " times"]:
    """L_res(t), the mean squared residual over the points of each time (Sec. 2.2)."""
    derivatives = predict(network, times, points, problem.derivatives)
    residuals = _apply(network.bound(problem.residual_operator), derivatives, times, points)
    return (residuals**2).sum(axis=-1).mean(axis=1)


def invariants(
    problem: EvolutionProblem,
    evaluate: Callable[[MultiIndex], Values],
    times: Float[np.ndarray, " times"],
    points: Float[np.ndarray, "points dim"],
    weights: Float[np.ndarray, " points"],
) -> Mapping[str, Float[np.ndarray, " times"]]:
    """The integrals a problem declares, at each time, by a quadrature rule whose weights sum to the box's volume.

    `evaluate(multi_index)` gives a derivative at all times and points, of a prediction or of a reference.
    """
    results, known = {}, {}
    for name, invariant in problem.invariants().items():
        density = problem.on_real_fields(invariant.density)
        asked, _ = problem.required_derivatives(density)
        known |= {index: np.asarray(evaluate(index)) for index in asked if index not in known}
        values = _apply(density, {index: known[index] for index in asked}, times, points)
        results[name] = values[..., 0] @ weights
    return results


def _apply(operator, derivatives: Mapping[MultiIndex, np.ndarray], times, points) -> np.ndarray:
    arrays = {index: jnp.asarray(values) for index, values in derivatives.items()}
    dtype = next(iter(arrays.values())).dtype
    result: Array = apply_operator(operator, arrays, jnp.asarray(times, dtype), jnp.asarray(points, dtype))
    return np.asarray(result)
