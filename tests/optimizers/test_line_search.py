import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.optimizers.line_search import search_strong_wolfe

CURVES = {
    "parabola": lambda a: (a - 1.0) ** 2,
    "far minimum": lambda a: (a - 300.0) ** 2,
    "near minimum": lambda a: (a - 1e-4) ** 2,
    "quartic": lambda a: (a - 2.0) ** 4 + 0.1 * a,
    "many minima": lambda a: 0.1 * (a - 4.0) ** 2 - jnp.sin(5.0 * a),
    "flat then wall": lambda a: -a + jnp.exp(20.0 * (a - 2.0)),
    "not finite beyond 1.5": lambda a: jnp.where(a < 1.5, (a - 1.2) ** 2, jnp.nan),
    "infinite beyond 0.1": lambda a: jnp.where(a < 0.1, (a - 0.05) ** 2, jnp.inf),
    "More-Thuente 1": lambda a: -a / (a**2 + 2.0),
    "More-Thuente 2": lambda a: (a + 0.004) ** 5 - 2.0 * (a + 0.004) ** 4,
}


def searcher(curve, **options):
    """A compiled search along the first axis of a plane; the second only makes the gradient another vector."""
    value_and_gradient = jax.value_and_grad(lambda z: curve(z[0]) + z[1])
    direction = jnp.array([1.0, 0.0])

    def run(first_length):
        value, gradient = value_and_gradient(jnp.zeros(2))
        found = search_strong_wolfe(
            lambda a: value_and_gradient(a * direction), direction, value, gradient, first_length, **options
        )
        return found, value, gradient[0], value_and_gradient(found.best.length * direction)

    return jax.jit(run)


@pytest.mark.parametrize("name", CURVES)
def test_strong_wolfe_conditions(name):
    run = searcher(CURVES[name])
    for first_length in (1e-3, 0.1, 1.0, 10.0):
        found, value, slope, (best_value, best_gradient) = run(jnp.asarray(first_length))
        best = found.best
        assert found.strong_wolfe
        assert found.evaluations <= (20 if name == "More-Thuente 2" else 12)
        assert best.value <= value + 1e-4 * best.length * slope
        assert abs(best.slope) <= 0.9 * abs(slope)
        np.testing.assert_allclose(best.value, best_value)
        np.testing.assert_allclose(best.slope, best_gradient[0])
        np.testing.assert_allclose(found.gradient, best_gradient)


def test_tight_curvature_finds_the_minimum():
    found, _, slope, _ = searcher(CURVES["quartic"], curvature=1e-6)(jnp.asarray(1.0))
    assert abs(found.best.slope) <= 1e-6 * abs(slope)


def test_failure_returns_the_start():
    """Values that rise although the slope is negative: nothing along the line is lower."""

    @jax.custom_jvp
    def liar(a):
        return a

    liar.defjvp(lambda primals, tangents: (primals[0], -tangents[0]))
    found, value, _, _ = searcher(liar, max_evaluations=8)(jnp.asarray(1.0))
    assert not found.strong_wolfe
    assert found.best.length == 0
    assert found.best.value == value
    assert found.evaluations == 8
