import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.fields import Field, apply_operator, below, derivative_name, parse_derivative, required_derivatives

# u = exp(2 x - t), v = sin(x + 3 y): derivatives by hand at one point.
X, Y, T = 0.3, -0.4, 0.7


def exponential(index):
    return jnp.asarray((-1.0) ** index[0] * 2.0 ** index[1] * np.exp(2 * X - T))


def wave(index):
    order = sum(index[1:])
    cycle = (np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z))
    return jnp.asarray(0.0 if index[0] else 3.0 ** index[2] * cycle[order % 4](X + 3 * Y))


U1 = Field(1, exponential)
V2 = Field(2, wave)


def test_a_field_is_its_value_and_offers_derivatives():
    value = np.exp(2 * X - T)
    for result, expected in (
        (U1.value, value),
        (U1.t, -value),
        (U1.xx, 4 * value),
        (U1.txx, -4 * value),
        (U1.derivative(t=1, x=3), -8 * value),
        (U1.derivative(), value),
        (jnp.sin(U1), np.sin(value)),
        (V2.laplacian, -10 * np.sin(X + 3 * Y)),
        (V2.bilaplacian, 100 * np.sin(X + 3 * Y)),
        (V2.gradient[1], 3 * np.cos(X + 3 * Y)),
        (V2.xy, -3 * np.sin(X + 3 * Y)),
        (V2.yx, -3 * np.sin(X + 3 * Y)),
    ):
        np.testing.assert_allclose(result, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (lambda u: u + 2, lambda f: f + 2),
        (lambda u: 2 - u, lambda f: 2 - f),
        (lambda u: u - 0.5, lambda f: f - 0.5),
        (lambda u: -u, lambda f: -f),
        (lambda u: +u, lambda f: f),
        (lambda u: 3 * u, lambda f: 3 * f),
        (lambda u: np.float64(3) * u, lambda f: 3 * f),
        (lambda u: u / 4, lambda f: f / 4),
        (lambda u: u * u, lambda f: f**2),
        (lambda u: u**4 + u, lambda f: f**4 + f),
        (lambda u: u**1, lambda f: f),
    ],
)
def test_arithmetic_gives_fields_whose_derivatives_follow(combine, expected):
    """Checked against differences of the same expression of exp(2 x - t)."""
    field = combine(U1)
    assert isinstance(field, Field)

    def at(x, t=T):
        return expected(np.exp(2 * x - t))

    step = 1e-4
    np.testing.assert_allclose(field.value, at(X), rtol=1e-14)
    np.testing.assert_allclose(field.x, (at(X + step) - at(X - step)) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(field.xx, (at(X + step) - 2 * at(X) + at(X - step)) / step**2, rtol=1e-5)
    np.testing.assert_allclose(field.t, (at(X, T + step) - at(X, T - step)) / (2 * step), rtol=1e-6)


def test_second_derivative_of_a_cubic_flux_is_the_expanded_one():
    expanded = 6 * V2.value * V2.x**2 + (3 * V2.value**2 - 1) * V2.xx
    np.testing.assert_allclose((V2**3 - V2).xx, expanded, rtol=1e-13)
    mixed = 6 * V2.value * V2.x * V2.y + (3 * V2.value**2 - 1) * V2.xy
    np.testing.assert_allclose((V2**3 - V2).xy, mixed, rtol=1e-13)


U = U1


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (lambda u: u.x, lambda f: 2 * f),
        (lambda u: u * u.x, lambda f: 2 * f**2),
        (lambda u: u.x * u, lambda f: 2 * f**2),
        (lambda u: u.x * u.xx, lambda f: 8 * f**2),
        (lambda u: u.x**4, lambda f: 16 * f**4),
        (lambda u: -u.x / 3, lambda f: -2 * f / 3),
        (lambda u: 3 - u.x, lambda f: 3 - 2 * f),
        (lambda u: u.x - 1.5 * u, lambda f: 0.5 * f),
        (lambda u: 2 + u.laplacian, lambda f: 2 + 4 * f),
        (lambda u: u.gradient[0] * u, lambda f: 2 * f**2),
        (lambda u: u.x.real - u.x.imag, lambda f: 2 * f),
        (lambda u: u.map(jnp.exp), np.exp),
        (lambda u: u.map(jnp.exp) * u.x, lambda f: 2 * np.exp(f) * f),
        (lambda u: (u**2).map(jnp.sin), lambda f: np.sin(f**2)),
    ],
)
def test_derivatives_are_fields_again(combine, expected):
    """Checked against differences of the same expression of f = exp(2 x - t), whose slope is 2 f."""
    field = combine(U)
    assert isinstance(field, Field)

    def at(x, t=T):
        return expected(np.exp(2 * x - t))

    step = 1e-4
    np.testing.assert_allclose(field.value, at(X), rtol=1e-14)
    np.testing.assert_allclose(field.x, (at(X + step) - at(X - step)) / (2 * step), rtol=1e-6)
    np.testing.assert_allclose(field.xx, (at(X + step) - 2 * at(X) + at(X - step)) / step**2, rtol=1e-5)
    np.testing.assert_allclose(field.x.x, field.xx, rtol=1e-14)
    np.testing.assert_allclose(field.xt, field.t.x, rtol=1e-14)
    np.testing.assert_allclose(field.t, (at(X, T + step) - at(X, T - step)) / (2 * step), rtol=1e-6)


def test_derivatives_of_derivatives_in_residuals():
    """d/dt and d/dx of combinations, against the expanded expressions."""
    np.testing.assert_allclose(V2.laplacian.x, -10 * np.cos(X + 3 * Y), rtol=1e-14)
    expanded = V2.xxx + V2.xyy
    np.testing.assert_allclose(V2.laplacian.x, expanded, rtol=1e-14)
    cubic = (V2**3).xxx + (V2**3).xyy
    np.testing.assert_allclose((V2**3).laplacian.x, cubic, rtol=1e-14)
    asked, _ = required_derivatives(lambda u, t, x, y: u.laplacian.t, 2)
    assert {(1, 2, 0), (1, 0, 2)} <= asked


def test_derivatives_behave_as_arrays_where_these_are_needed():
    slope = 2 * np.exp(2 * X - T)
    assert (U.x.dtype, U.x.shape) == (np.float64, ())
    np.testing.assert_allclose(jnp.stack([U.x, U.xx]), [slope, 2 * slope], rtol=1e-14)
    np.testing.assert_allclose(U.x % 2, slope % 2, rtol=1e-14)
    np.testing.assert_allclose(7 % U.x, 7 % slope, rtol=1e-14)


def test_product_of_two_fields_obeys_the_rule_of_leibniz():
    other = Field(1, lambda index: jnp.asarray([1.5, 0.2, -0.7][index[1]] * (index[0] == 0)))
    expected = U1.value * other.xx + 2 * U1.x * other.x + U1.xx * other.value
    np.testing.assert_allclose((U1 * other).xx, expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("combine", "expected"),
    [
        (lambda u, x: x * u, lambda f: X * f),
        (lambda u, x: u * x, lambda f: X * f),
        (lambda u, x: u + x, lambda f: X + f),
        (lambda u, x: x - u, lambda f: X - f),
        (lambda u, x: u / x, lambda f: f / X),
        (lambda u, x: x / u, lambda f: X / f),
        (lambda u, x: u / u, lambda f: 1.0),
        (lambda u, x: 2 / u, lambda f: 2 / f),
        (lambda u, x: 2**u, lambda f: 2**f),
        (lambda u, x: u**0.5, np.sqrt),
        (lambda u, x: abs(-u), lambda f: f),
    ],
)
def test_coordinates_and_functions_give_plain_arrays(combine, expected):
    result = combine(U1, jnp.asarray(X))
    assert not isinstance(result, Field)
    np.testing.assert_allclose(result, expected(np.exp(2 * X - T)), rtol=1e-14)


def test_fields_compare_and_enter_compiled_functions_as_their_value():
    u, value = U1, np.exp(2 * X - T)
    for below_it, above_it in ((0.5 * value, 2.0 * value), (jnp.asarray(0.5 * value), jnp.asarray(2.0 * value))):
        assert all([u > below_it, u >= below_it, u < above_it, u <= above_it])
        assert not any([u < below_it, u <= below_it, u > above_it, u >= above_it])
    np.testing.assert_allclose(jax.jit(lambda u: 2 * u.value)(u), 2 * value, rtol=1e-14)
    np.testing.assert_allclose(jnp.where(u > 0, u, 0.0), value, rtol=1e-14)
    with pytest.raises(ValueError, match=r"u\.xx was asked for inside a compiled function"):
        jax.jit(lambda u: u.xx)(u)


def test_numpy_constants_do_not_promote_single_precision():
    field = Field(1, lambda index: jnp.asarray(1.5, jnp.float32))
    assert (np.float64(2.0) * field).value.dtype == jnp.float32
    assert (field * np.float64(2.0)).x.dtype == jnp.float32
    assert (field + np.float64(2.0)).value.dtype == jnp.float32


@pytest.mark.parametrize(
    ("operator", "dimension", "expected"),
    [
        (lambda u, t, x: u.t + u * u.x, 1, {(1, 0), (0, 0), (0, 1)}),
        (lambda u, t, x: u.t + u.xxxx - (u**3 - u).xx, 1, {(1, 0), (0, 4), (0, 0), (0, 1), (0, 2)}),
        (lambda u, t, x, y: u.t - u.laplacian, 2, {(1, 0, 0), (0, 2, 0), (0, 0, 2)}),
        (lambda u, t, x, y: u.bilaplacian, 2, {(0, 4, 0), (0, 2, 2), (0, 0, 4)}),
        (lambda u, t: u.t + u, 0, {(1,), (0,)}),
    ],
)
def test_required_derivatives_are_those_read(operator, dimension, expected):
    assert required_derivatives(operator, dimension) == (expected, 1)


def test_required_derivatives_of_a_system():
    asked, equations = required_derivatives(lambda u, v, t, x: (u.t - v.x, v.t - u.x), 1, 2)
    assert (asked, equations) == ({(1, 0), (0, 1)}, 2)


@pytest.mark.parametrize("scattered", [False, True])
def test_apply_operator_sees_the_right_time_point_and_component(scattered):
    generator = np.random.default_rng(0)
    values, slopes = generator.normal(size=(2, 3, 4, 2))
    times, points = generator.normal(size=(3, 4) if scattered else 3), generator.normal(size=(4, 1))
    result = apply_operator(
        lambda u, v, t, x: (u.x + t * v, x * v.x),
        {(0, 0): jnp.asarray(values), (0, 1): jnp.asarray(slopes)},
        jnp.asarray(times),
        jnp.asarray(points),
    )
    t = times if scattered else times[:, None]
    np.testing.assert_allclose(result[..., 0], slopes[..., 0] + t * values[..., 1], rtol=1e-14)
    np.testing.assert_allclose(result[..., 1], points[:, 0] * slopes[..., 1], rtol=1e-14)


def test_names_of_derivatives():
    assert derivative_name((1, 0, 2)) == "u.tyy"
    assert derivative_name((0, 0)) == "u"
    assert parse_derivative("tyyx", 2) == (1, 1, 2)
    assert parse_derivative("value", 1) is None
    assert list(below((1, 2))) == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    assert "dimension=1" in repr(U1)


def reads(operator):
    return required_derivatives(lambda u, t, x: operator(u, x), 1)


@pytest.mark.parametrize(
    ("read", "error", "message"),
    [
        (lambda: U1.y, ValueError, r"u\.y: there is no axis 'y' .*\['x'\]"),
        (lambda: U1.tt, ValueError, r"u\.tt: second time derivatives.*first-order system"),
        (lambda: U1.curl, AttributeError, r"no attribute 'curl'.*u\.xx"),
        (lambda: U1.derivative(q=1), ValueError, r"q.*\['x'\]"),
        (lambda: U1.derivative(x=-1), ValueError, r"x.*-1"),
        (lambda: U1.derivative(t=2), ValueError, r"u\.tt"),
        (lambda: Field(0, exponential).laplacian, ValueError, r"u\.laplacian: the domain has no spatial axis"),
        (lambda: U1._missing, AttributeError, "_missing"),
        (lambda: required_derivatives(lambda u, t, x: jnp.ones(3) * u, 1), ValueError, r"shape \(3,\).*one number"),
        (lambda: U1.t.t, ValueError, r"u\.tt: second time derivatives"),
        (lambda: reads(lambda u, x: (jnp.exp(u) * u.x).x), ValueError, r"\.x was asked of a plain.*u\.map\(jnp\.exp"),
        (lambda: reads(lambda u, x: (x * u.x).laplacian), ValueError, r"\.laplacian was asked of.*product rule"),
        (lambda: reads(lambda u, x: abs(u).derivative(x=1)), ValueError, r"\.derivative was asked of a plain"),
        (lambda: reads(lambda u, x: (u / u).gradient[0]), ValueError, r"\.gradient was asked of a plain"),
        (lambda: reads(lambda u, x: (x * u).map(jnp.exp)), ValueError, r"\.map was asked of a plain"),
        (lambda: reads(lambda u, x: jax.lax.tanh(u.x)), ValueError, r"jax\.lax.*give it u\.value or u\.x\.value"),
        (lambda: reads(lambda u, x: x.missing), AttributeError, "missing"),
    ],
)
def test_field_errors(read, error, message):
    with pytest.raises(error, match=message):
        read()
