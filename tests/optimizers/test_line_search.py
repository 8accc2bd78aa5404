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


def search(curve, first_length, **options):
    """Along the first axis of a plane, so that the direction is not the gradient."""
    value_and_gradient = jax.value_and_grad(lambda z: curve(z[0]) + 0.0 * z[1])
    direction = jnp.array([1.0, 0.0])
    value, gradient = value_and_gradient(jnp.zeros(2))
    run = jax.jit(
        lambda length: search_strong_wolfe(
            lambda a: value_and_gradient(a * direction), direction, value, gradient, length, **options
        )
    )
    return run(jnp.asarray(first_length)), value, gradient[0]


@pytest.mark.parametrize("first_length", [1e-3, 1.0, 10.0])
@pytest.mark.parametrize("name", CURVES)
def test_strong_wolfe_conditions(name, first_length):
    curve = CURVES[name]
    result, value, slope = search(curve, first_length)
    best = result.best
    assert result.strong_wolfe
    assert result.evaluations <= (20 if name == "More-Thuente 2" else 12)
    assert best.value <= value + 1e-4 * best.length * slope
    assert abs(best.slope) <= 0.9 * abs(slope)
    np.testing.assert_allclose(best.value, curve(best.length))
    np.testing.assert_allclose(best.slope, jax.grad(curve)(best.length))
    np.testing.assert_allclose(result.gradient[0], best.slope)


def test_tight_curvature_finds_the_minimum():
    result, _, _ = search(CURVES["quartic"], 1.0, curvature=1e-6)
    np.testing.assert_allclose(jax.grad(CURVES["quartic"])(result.best.length), 0.0, atol=1e-4)


def test_failure_returns_the_start():
    """Values that rise although the slope is negative: nothing along the line is lower."""

    @jax.custom_jvp
    def liar(a):
        return a

    liar.defjvp(lambda primals, tangents: (primals[0], -tangents[0]))
    result, value, _ = search(liar, 1.0, max_evaluations=8)
    assert not result.strong_wolfe
    assert result.best.length == 0
    assert result.best.value == value
    assert result.evaluations == 8
