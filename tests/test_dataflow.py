import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.dataflow import depends_on

ignores_first = jax.jit(lambda t, x: (2 * x, t))


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (lambda t, x: x**2, False),
        (lambda t, x: 3.0, False),
        (lambda t, x: x + 0.0 * t, False),
        (lambda t, x: t - t, True),
        (lambda t, x: t, True),
        (lambda t, x: x + jnp.maximum(t - 0.6, 0.0), True),
        (lambda t, x: jnp.where(t > 0.5, x, -x), True),
        (lambda t, x: ignores_first(t, x)[0], False),
        (lambda t, x: ignores_first(x, t)[0], True),
        (lambda t, x: jax.lax.fori_loop(0, 3, lambda _, c: c + t, x), True),
        (lambda t, x: (x, {"late": jnp.sin(t)}), True),
    ],
)
def test_dependence_is_that_of_the_trace(function, expected):
    assert depends_on(function, 0, 0.0, 1.0) is expected


def test_arguments_may_be_trees():
    def total(coefficients, x):
        return coefficients["a"].sum() * x[1]

    for used in (0, 1):
        assert depends_on(total, used, {"a": np.zeros(2), "b": np.zeros(3)}, (1.0, 2.0))
    assert not depends_on(lambda c, x: x[0], 0, {}, (1.0, 2.0))
