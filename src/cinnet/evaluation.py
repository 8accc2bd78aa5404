"""A network and its derivatives at many times and points, some columns at a time."""

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from .derivatives import Engine, JetEngine
from .fields import MultiIndex
from .networks import Network, Windows

Values = Float[np.ndarray, "times points components"]


def predict(
    network: Network,
    times: Float[np.ndarray, " times"],
    points: Float[np.ndarray, "points dim"],
    derivatives: frozenset[MultiIndex] | None = None,
    *,
    engine: Engine | None = None,
    max_columns: int = 256,
) -> dict[MultiIndex, Values]:
    """Derivatives of a network at all times and points (by default the values alone), some columns at a time."""
    network.interval.check(times, "times")
    engine = engine or JetEngine()
    wanted = derivatives or frozenset({(0,) * (1 + points.shape[1])})
    plan = engine.prepare(network, times, points)
    num_chunks = 1 if engine.couples_columns else -(-len(points) // max_columns)
    chunk = -(-len(points) // num_chunks)
    filled = np.concatenate([points, np.repeat(points[:1], num_chunks * chunk - len(points), axis=0)])
    # Windows compile once for all their pieces; compiled as a whole they would be as many times longer.
    evaluate = _at_once if isinstance(network, Windows) else _compiled
    parts = [
        evaluate(engine, network, plan, jnp.asarray(times, network.dtype), jnp.asarray(part, network.dtype), wanted)
        for part in np.split(filled, num_chunks)
    ]
    return {index: np.concatenate([part[index] for part in parts], axis=1)[:, : len(points)] for index in wanted}


def _at_once(engine: Engine, network: Network, plan, times, points, derivatives):
    return engine(network, plan, times, points, derivatives)


_compiled = eqx.filter_jit(_at_once)
