"""CI-PINN on Allen-Cahn written down from the paper's formulas, point by point, to check the library against.

It shares no code with the library: plain JAX, nested automatic differentiation, Adam in a few lines. Only the initial
weights are given. Parameters are a list with (W_F, b_F, W_V, b_V, eta) for each layer. It is slow on purpose: every
collocation point evaluates its whole history by itself.
"""

from collections.abc import Sequence

import jax
import jax.numpy as jnp

Layer = tuple[jax.Array, ...]
Parameters = list[Layer]

HARMONICS = 10
EXPONENT = 2
RESIDUAL_WEIGHT, INITIAL_WEIGHT = 1.0, 100.0
LEARNING_RATE, DECAY, DECAY_EVERY = 1e-3, 0.9, 5000
FIRST_MOMENT, SECOND_MOMENT, ADAM_EPSILON = 0.9, 0.999, 1e-8


def embedding(x):
    """v(x) = (1, cos(w x), sin(w x), ..., cos(M w x), sin(M w x)) with w = 2 pi / 2 (Eq. periodic_embedding_1d)."""
    features = [jnp.ones_like(x)]
    for m in range(1, HARMONICS + 1):
        features += [jnp.cos(m * jnp.pi * x), jnp.sin(m * jnp.pi * x)]
    return jnp.stack(features)


def node_weights(t, nodes, step):
    """r_k(t) A(t, s_k) for all nodes, where t lies in (s_m, s_(m+1)] (Eqs. left_rectangle, monomial_attention).

    r_k = step for k < m, t - s_m for k = m and 0 for k > m. The rate of r_m at t = s_(m+1) is 1, as on the interval
    that t belongs to; a clip would leave that choice to the automatic differentiation of a kink.
    """
    k = jnp.arange(nodes.size)
    m = jnp.round(jnp.ceil((t - 1e-9) / step)) - 1
    length = jnp.where(k < m, step, jnp.where(k == m, t - nodes, 0.0))
    return length * (t - nodes) ** EXPONENT


def network(parameters: Parameters, num_nodes: int, t, x):
    """u(t, x) of CinNet, Eq. cinnet_layer, on the interval [0, 1]."""
    step = 1.0 / num_nodes
    nodes = jnp.arange(num_nodes) * step
    v = embedding(x)
    now = jnp.concatenate([t[None], v])
    past = jax.vmap(lambda s: jnp.concatenate([s[None], v]))(nodes)
    # A node's own history ends before it, so its weights are those of a time without derivative.
    weights_now = node_weights(t, nodes, step)
    weights_past = jax.vmap(lambda s: node_weights(s, nodes, step))(nodes)
    for number, (local, local_bias, history, history_bias, eta) in enumerate(parameters, start=1):
        z = 1.0 / (1.0 + jnp.exp(-eta))
        values = past @ history + history_bias
        now = z * (now @ local + local_bias) + (1 - z) * (weights_now @ values)
        past = z * (past @ local + local_bias) + (1 - z) * (weights_past @ values)
        if number < len(parameters):
            now, past = jnp.tanh(now), jnp.tanh(past)
    return now[0]


def residual(parameters: Parameters, num_nodes: int, t, x):
    """u_t - 0.0001 u_xx + 5 (u^3 - u) at one point (Eq. ac)."""

    def u(t, x):
        return network(parameters, num_nodes, t, x)

    value = u(t, x)
    u_t = jax.jacfwd(u, argnums=0)(t, x)
    u_xx = jax.jacfwd(jax.jacfwd(u, argnums=1), argnums=1)(t, x)
    return u_t - 1e-4 * u_xx + 5.0 * (value**3 - value)


def loss(parameters: Parameters, num_times: int, num_points: int):
    """omega_res L_res + omega_ic L_ic over t_1, ..., t_Nt and x_1, ..., x_Nx (Eqs. loss, loss_terms)."""
    num_nodes = 4 * num_times
    times = jnp.arange(1, num_times + 1) / num_times
    x = -1.0 + 2.0 * jnp.arange(num_points) / num_points
    over_x = jax.vmap(lambda t, x: residual(parameters, num_nodes, t, x), in_axes=(None, 0))
    residuals = jax.vmap(over_x, in_axes=(0, None))(times, x)
    start = jax.vmap(lambda x: network(parameters, num_nodes, jnp.zeros_like(x), x))(x)
    mismatch = start - x**2 * jnp.cos(jnp.pi * x)
    return RESIDUAL_WEIGHT * jnp.mean(residuals**2) + INITIAL_WEIGHT * jnp.mean(mismatch**2)


def adam_step(parameters: Parameters, first: Parameters, second: Parameters, n, num_times: int, num_points: int):
    """The n-th step of Adam: parameters and both moments after it, and the loss before it."""
    value, gradient = jax.value_and_grad(loss)(parameters, num_times, num_points)
    rate = LEARNING_RATE * DECAY ** jnp.floor((n - 1) / DECAY_EVERY)
    first = jax.tree.map(lambda m, g: FIRST_MOMENT * m + (1 - FIRST_MOMENT) * g, first, gradient)
    second = jax.tree.map(lambda v, g: SECOND_MOMENT * v + (1 - SECOND_MOMENT) * g**2, second, gradient)

    def move(p, m, v):
        m, v = m / (1 - FIRST_MOMENT**n), v / (1 - SECOND_MOMENT**n)
        return p - rate * m / (jnp.sqrt(v) + ADAM_EPSILON)

    return jax.tree.map(move, parameters, first, second), first, second, value


def train(parameters: Parameters, num_times: int, num_points: int, steps: int) -> list[float]:
    """The losses before each step of Adam and after the last: 1e-3, times 0.9 every 5,000 steps."""
    advance = jax.jit(adam_step, static_argnums=(4, 5))
    first = second = jax.tree.map(jnp.zeros_like, parameters)
    losses = []
    for n in range(1, steps + 2):
        parameters, first, second, value = advance(
            parameters, first, second, jnp.asarray(float(n)), num_times, num_points
        )
        losses.append(float(value))
    return losses


def parameters_of(layers: Sequence) -> Parameters:
    """Copies of the weights of a library network's layers."""
    names = ("local_weight", "local_bias", "history_weight", "history_bias", "gate")
    return [tuple(jnp.array(getattr(layer, name)) for name in names) for layer in layers]
