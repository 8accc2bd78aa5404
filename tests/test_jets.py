import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import all_derivatives

from cinnet.fields import below, factorial
from cinnet.jets import ACTIVATIONS, JetSpace, compose, multiply, resolve_activation, shift

POINTS = np.linspace(-2.0, 2.0, 7)


def taylor_of(function, point, orders):
    derivatives = all_derivatives(function, point, orders)
    return {index: value / factorial(index) for index, value in derivatives.items()}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activation_taylor_rule_equals_autodiff(name):
    function = {"tanh": jnp.tanh, "sin": jnp.sin}[name]
    order = 5
    result = ACTIVATIONS[name].taylor(jnp.asarray(POINTS), order)
    at_point = jax.jit(jax.vmap(lambda x: taylor_of(lambda z: function(z[0]), x[None], (order,))))
    expected = at_point(jnp.asarray(POINTS))
    assert len(result) == order + 1
    for n in range(order + 1):
        np.testing.assert_allclose(result[n], expected[n,], rtol=1e-12, atol=1e-14)
    np.testing.assert_array_equal(ACTIVATIONS[name](jnp.asarray(POINTS)), result[0])


@pytest.mark.parametrize("orders", [(4,), (2, 2)])
def test_products_and_compositions_equal_autodiff(orders):
    coefficients = np.array([0.7, -1.3])[: len(orders)]

    def inner(z):
        return 0.3 + jnp.sin(z @ coefficients) + z[0] ** 3 * z[-1]

    def other(z):
        return jnp.exp(0.4 * z[-1]) * z[0]

    point = jnp.array([0.4, -0.6])[: len(orders)]
    indices = JetSpace.of([(0, *orders)]).spatial

    @jax.jit
    def expected(z):
        functions = inner, other, lambda z: inner(z) * other(z), lambda z: jnp.tanh(inner(z))
        return [taylor_of(function, z, orders) for function in functions]

    g, h, product, composed = expected(point)
    for index, value in multiply(g, h, indices).items():
        np.testing.assert_allclose(value, product[index], rtol=1e-12)
    result = compose(ACTIVATIONS["tanh"].taylor(g[indices[0]], sum(orders)), g, indices)
    assert set(result) == set(below(orders))
    for index, value in result.items():
        np.testing.assert_allclose(value, composed[index], rtol=1e-12)


def test_absent_coefficients_are_zero():
    constant, slope = {(0,): jnp.array(2.0)}, {(1,): jnp.array(3.0)}
    assert multiply(constant, slope, [(0,), (1,), (2,)]) == {(1,): 6.0}


def test_shift_gives_the_coefficients_of_the_derivative():
    x = jnp.asarray(POINTS)
    shifted = shift(ACTIVATIONS["sin"].taylor(x, 3))
    np.testing.assert_allclose(shifted[0], np.cos(POINTS), atol=1e-15)
    np.testing.assert_allclose(shifted[1], -np.sin(POINTS), atol=1e-15)
    np.testing.assert_allclose(shifted[2], -np.cos(POINTS) / 2, atol=1e-15)


def test_jet_space_is_closed_downwards_and_graded():
    space = JetSpace.of({(1, 0, 1), (0, 2, 0), (0, 0, 0)})
    assert space.spatial == ((0, 0), (0, 1), (1, 0), (2, 0))
    assert space.rates == ((0, 0), (0, 1))
    assert space.wanted == ((0, 0, 0), (0, 2, 0), (1, 0, 1))


def test_derivatives_undo_the_normalisation():
    space = JetSpace.of({(0, 3), (1, 2)})
    values = {(n,): jnp.array(1.0) for n in range(4)}
    rates = {(n,): jnp.array(10.0) for n in range(3)}
    assert space.derivatives(values, rates) == {(0, 3): 6.0, (1, 2): 20.0}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: JetSpace.of([]), "derivatives is empty"),
        (lambda: JetSpace.of([(2, 0)]), r"derivatives=\(\(2, 0\),\)"),
        (lambda: resolve_activation("relu"), "activation='relu'.*sin.*tanh"),
    ],
)
def test_jet_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
