import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet import AllenCahn, Bounded, Box, EvolutionProblem, Periodic, Unknown, UnknownField
from cinnet.problems.symmetry import find_symmetry

LINE = Box(Periodic(0.0, 2.0))
STRIP = Box(Periodic(0.0, 2.0), Bounded(-1.0, 3.0))


@pytest.mark.parametrize(
    "unknown", [Unknown(3.0), Unknown(0.0), Unknown(3.0, lower=1.0), Unknown(3.0, upper=4.0), Unknown(3.0, 2.0, 7.0)]
)
def test_zero_is_the_guess_and_bounds_are_kept(unknown):
    values = [float(unknown.realise(jnp.array([raw]), LINE)) for raw in (-4.0, -1.0, 0.0, 1.0, 4.0)]
    assert values[2] == pytest.approx(unknown.guess)
    steps = np.diff(values)
    assert (steps > 0).all() or (steps < 0).all()
    assert min(values) > (-np.inf if unknown.lower is None else unknown.lower)
    assert max(values) < (np.inf if unknown.upper is None else unknown.upper)


def test_field_is_its_expansion():
    field = UnknownField(2.0, order=2)
    assert field.num_coefficients(STRIP) == 5 * 3
    random = np.random.default_rng(0)
    coefficients = random.normal(size=15)
    learned = field.realise(jnp.asarray(coefficients), STRIP)
    x, y = 0.3, 1.7
    phase = np.pi * x
    waves = [1.0, np.cos(phase), np.sin(phase), np.cos(2 * phase), np.sin(2 * phase)]
    scaled = (y + 1) / 2 - 1
    polynomials = [1.0, scaled, 2 * scaled**2 - 1]
    expected = 2.0 + 2.0 * np.outer(waves, polynomials).ravel() @ coefficients
    assert float(learned(x, y)) == pytest.approx(expected, rel=1e-5)
    np.testing.assert_allclose(learned.on(np.array([[x, y]])), [expected], rtol=1e-5)
    with pytest.raises(ValueError, match=r"coordinates \('x', 'y'\), got 1"):
        learned(x)


def test_penalty_grows_with_the_order():
    scales = UnknownField(1.0, order=2, smoothness=4.0).scales(LINE)
    np.testing.assert_allclose(scales, [0.0, 2.0, 2.0, 4.0, 4.0])
    assert not Unknown(1.0).scales(LINE).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Unknown(float("nan")), "guess=nan"),
        (lambda: Unknown(1.0, lower=1.0), "lower=1.0.*above"),
        (lambda: Unknown(1.0, upper=0.5), "upper=0.5.*below"),
        (lambda: UnknownField(1.0, order=0), "order=0"),
        (lambda: UnknownField(1.0, smoothness=-1.0), "smoothness=-1.0"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class Flow(EvolutionProblem):
    speed: float | Unknown | UnknownField = 1.0

    space = Periodic(0.0, 2.0)

    def residual(self, u, t, x):
        speed = self.speed(x) if callable(self.speed) else self.speed
        return u.t + speed * u.x

    def initial(self, x):
        return jnp.cos(jnp.pi * x)


def test_problem_with_unknowns():
    problem = Flow(speed=Unknown(0.0))
    assert problem.unknowns == {"speed": Unknown(0.0)}
    assert problem.derivatives == Flow().derivatives
    assert float(problem.with_unknowns({"speed": jnp.array([2.5])}).speed) == 2.5
    assert problem.with_guesses().speed == 0.0
    assert Flow().unknowns == {}


def test_symmetry_is_that_of_any_value():
    """At its guess of zero the equation would be even, but not for any other speed."""
    assert not find_symmetry(Flow(speed=Unknown(0.0))).even[0]
    assert find_symmetry(Flow(speed=0.0)).even[0]
    assert find_symmetry(AllenCahn(diffusivity=Unknown(1e-3, lower=0.0))).even[0]
    assert find_symmetry(Flow(speed=UnknownField(1.0))).order == 1


def test_gradient_reaches_the_unknown():
    from cinnet.fields import apply_operator

    operator = Flow(speed=UnknownField(1.0, order=1)).residual_operator
    derivatives = {(1, 0): jnp.ones((1, 1, 1)), (0, 1): 2 * jnp.ones((1, 1, 1))}

    def residual(coefficients):
        bound = operator.bind({"speed": coefficients})
        return apply_operator(bound, derivatives, jnp.zeros(1), jnp.full((1, 1), 0.5))[0, 0, 0]

    np.testing.assert_allclose(jax.grad(residual)(jnp.zeros(3)), [2.0, 0.0, 2.0], atol=1e-6)


def test_initial_value_must_not_depend_on_unknowns():
    class Wrong(Flow):
        def initial(self, x):
            return self.speed * jnp.cos(jnp.pi * x)

    with pytest.raises(ValueError, match=r"must not depend on the unknowns \['speed'\]"):
        Wrong(speed=Unknown(1.0))
