"""Problems with complex components, against the same problems written with real and imaginary parts."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from small_problems import FreeParticle

from cinnet import Complex, EvolutionProblem, Invariant, Periodic
from cinnet.config.presets import resolve_settings
from cinnet.fields import apply_operator
from cinnet.training.build import build_network


@pytest.fixture(autouse=True)
def _as_users_have_it():
    """The tests forbid mixed types elsewhere; equations mix real and complex numbers."""
    with jax.numpy_dtype_promotion("standard"):
        yield


class Schroedinger(EvolutionProblem):
    space = Periodic(0.0, 2 * np.pi)
    components = (Complex("psi"), "n")

    def residual(self, psi, n, t, x):
        return 1j * psi.t + psi.xx + n * psi + abs(psi) ** 2 * psi, n.t + psi.real.x - (psi * psi.conjugate()).real.x

    def initial(self, x):
        return jnp.exp(1j * x), jnp.cos(x)

    def invariants(self):
        return {"mass": Invariant(lambda psi, n, t, x: abs(psi) ** 2)}


class InParts(EvolutionProblem):
    space = Periodic(0.0, 2 * np.pi)
    components = ("a", "b", "n")

    def residual(self, a, b, n, t, x):
        size = a**2 + b**2
        return (
            -b.t + a.xx + n * a + size * a,
            a.t + b.xx + n * b + size * b,
            n.t + a.x - size.x,
        )

    def initial(self, x):
        return jnp.cos(x), jnp.sin(x), jnp.cos(x)


def test_is_the_system_of_its_parts():
    whole, parts = Schroedinger(), InParts()
    assert whole.outputs == ("psi.real", "psi.imag", "n")
    assert whole.derivatives == parts.derivatives
    random = np.random.default_rng(0)
    values = {index: jnp.asarray(random.normal(size=(2, 3, 3))) for index in whole.derivatives}
    times, points = jnp.asarray(random.uniform(size=2)), jnp.asarray(random.uniform(size=(3, 1)))
    ours, theirs = (apply_operator(p.residual_operator, values, times, points) for p in (whole, parts))
    np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(whole.initial_values(points), parts.initial_values(points), rtol=1e-6)


def test_values_are_complex_again():
    values = np.arange(6.0).reshape(2, 3)
    joined = Schroedinger().joined(values)
    np.testing.assert_array_equal(joined, [[0 + 1j, 2], [3 + 4j, 5]])

    np.testing.assert_array_equal(FreeParticle().joined(values[:, :2]), [0 + 1j, 3 + 4j])
    network = build_network(FreeParticle(), resolve_settings(FreeParticle(), grid=(4, 8), hidden=(4,)))
    assert network.widths[-1] == 2


def test_gradient_of_the_modulus_is_finite_at_zero():
    operator = Schroedinger().residual_operator

    def total(value):
        values = {index: jnp.zeros((1, 1, 3)).at[0, 0, 0].set(value) for index in Schroedinger().derivatives}
        return apply_operator(operator, values, jnp.zeros(1), jnp.zeros((1, 1))).sum()

    assert np.isfinite(jax.grad(total)(0.0))


def test_complex_equation_without_a_complex_component_is_refused():
    class Wrong(EvolutionProblem):
        space = Periodic(0.0, 1.0)

        def residual(self, u, t, x):
            return 1j * u.t + u.xx

        def initial(self, x):
            return jnp.cos(2 * jnp.pi * x)

    with pytest.raises(ValueError, match=r"complex number.*Complex\('psi'\)"):
        Wrong()


@pytest.mark.parametrize("exact_initial", [True, False])
def test_exact_initial_value_has_the_right_parts(exact_initial):
    problem = FreeParticle()
    settings = resolve_settings(problem, grid=(4, 8), hidden=(4,), windows=1, exact_initial=exact_initial)
    network = build_network(problem, settings)
    expected = np.exp(2j * np.pi * 0.3)
    gap = np.abs(np.asarray(network(0.0, 0.3)) - [expected.real, expected.imag]).max()
    assert gap < 1e-6 if exact_initial else gap > 1e-3


class RealStart(EvolutionProblem):
    """A complex component that starts real, beside a real one."""

    space = Periodic(0.0, 1.0)
    components = (Complex("psi"), "n")

    def residual(self, psi, n, t, x):
        return 1j * psi.t + psi.xx, n.t

    def initial(self, x):
        return jnp.cos(2 * jnp.pi * x), x


def test_real_initial_value_of_a_complex_component():
    x = np.array([0.0, 0.1, 0.4])
    expected = np.stack([np.cos(2 * np.pi * x), 0 * x, x], axis=1)
    np.testing.assert_allclose(RealStart().initial_values(x[:, None]), expected, atol=1e-15)

    class Single(FreeParticle):
        def initial(self, x):
            return 1.0

    np.testing.assert_array_equal(Single().initial_values(x[:, None]), [[1.0, 0.0]] * 3)
