"""Causal weights (Appendix B): a time counts when all earlier ones are nearly right."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float


def causal_weights(
    at_start: Float[Array, ""],
    later: Float[Array, " levels"],
    epsilon: Float[Array, ""],
    residual_at_start: bool,
) -> Float[Array, " all_levels"]:
    """w_0 = 1, w_i = exp(-epsilon * sum over j < i of L(t_j)) (Eqs. temporal_loss, temporal_weights).

    `at_start` is omega_ic L_ic and `later` has the weighted losses of the time levels, which begin at t0 if
    `residual_at_start`: then L(t_0) = omega_ic L_ic + omega_res L_res(t_0), else L(t_0) = omega_ic L_ic.
    """
    losses = later.at[0].add(at_start) if residual_at_start else jnp.concatenate([at_start[None], later])
    earlier = jnp.concatenate([jnp.zeros_like(losses[:1]), jnp.cumsum(losses)[:-1]])
    return jax.lax.stop_gradient(jnp.exp(-epsilon * earlier))
