import equinox as eqx
import jax.numpy as jnp
import numpy as np
import pytest
from least_squares_problems import MATRIX, TARGET, Residuals, linear_residual

from cinnet.optimizers import Adam


@pytest.mark.parametrize("staircase", [True, False])
def test_equals_adam_by_hand(staircase):
    optimizer = Adam(0.1, decay=0.5, decay_every=6, staircase=staircase)
    x, state = jnp.zeros(5), optimizer.init(jnp.zeros(5))
    expected, m, v = np.zeros(5), np.zeros(5), np.zeros(5)
    step = eqx.filter_jit(optimizer.step)
    for count in range(20):
        gradient = 2 * MATRIX.T @ (MATRIX @ expected - TARGET)
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        mean, spread = m / (1 - 0.9 ** (count + 1)), np.sqrt(v / (1 - 0.999 ** (count + 1)))
        rate = 0.1 * 0.5 ** (count // 6 if staircase else count / 6)
        expected = expected - rate * mean / (spread + 1e-8)
        x, state, info = step(Residuals(linear_residual), x, state)
        np.testing.assert_allclose(x, expected, rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(info.extras["learning_rate"], rate, rtol=1e-12)
        np.testing.assert_allclose(info.extras["gradient_norm"], np.linalg.norm(gradient))


def test_default_schedule_is_the_papers():
    optimizer = Adam()
    x, state = jnp.zeros(5), optimizer.init(jnp.zeros(5))
    step = eqx.filter_jit(optimizer.step)
    for count, rate in [(0, 1e-3), (4999, 1e-3), (5000, 9e-4), (299_999, 1e-3 * 0.9**59)]:
        at_count = eqx.tree_at(lambda s: s.count, state, jnp.asarray(count))
        _, _, info = step(Residuals(linear_residual), x, at_count)
        np.testing.assert_allclose(info.extras["learning_rate"], rate, rtol=1e-12)
