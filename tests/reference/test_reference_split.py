"""The split into a linear symbol and a nonlinear part, found from the residual."""

import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.domains import Bounded, Box, Periodic
from cinnet.problems import AllenCahn, AllenCahn2D, CahnHilliard, EvolutionProblem, KortewegDeVries
from cinnet.reference.split import Split, double_precision

K = np.linspace(-30.0, 30.0, 61)


@pytest.mark.parametrize(
    ("problem", "expected", "needed"),
    [
        (AllenCahn(), 5 - 1e-4 * K**2, {(0, 0)}),
        (KortewegDeVries(), 1j * 0.022**2 * K**3, {(0, 0), (0, 1)}),
        (CahnHilliard(), -1e-6 * K**4 + 1e-2 * K**2, {(0, 0), (0, 1), (0, 2)}),
    ],
)
def test_symbols_of_the_benchmarks_in_one_dimension(problem, expected, needed):
    split = Split(problem)
    np.testing.assert_allclose(split.symbol((K,))[0], expected, rtol=1e-14, atol=1e-13)
    assert {index for index, _ in split.needed} == needed


def test_symbol_of_allen_cahn_in_two_dimensions():
    split = Split(AllenCahn2D())
    x, y = K[:, None], K[None, ::2]
    np.testing.assert_allclose(split.symbol((x, y))[0], 5 - 1e-4 * (x**2 + y**2), rtol=1e-14)
    assert split.needed == (((0, 0, 0), 0),)


def test_nonlinear_part_is_what_the_symbol_leaves():
    split = Split(AllenCahn(reaction=3.0))
    u = np.linspace(-1, 1, 7)
    with double_precision():
        values = np.asarray(split.nonlinear(u[None], np.float64(0.0), np.zeros((7, 1))))
    np.testing.assert_allclose(values[0], -3 * u**3, atol=1e-15)


class VaryingCoefficient(EvolutionProblem):
    space = Periodic(0.0, 2 * np.pi)

    def residual(self, u, t, x):
        return 2 * u.t + (1 + 0.1 * jnp.exp(-((x - 1) ** 2) / 0.01)) * u.x - u.xx

    def initial(self, x):
        return jnp.sin(x)


def test_a_narrow_variation_of_a_coefficient_is_seen_and_a_constant_mass_divided_out():
    split = Split(VaryingCoefficient())
    assert split.needed == (((0, 1), 0),)
    np.testing.assert_allclose(split.symbol((K,))[0], -0.5 * (1j * K + K**2), rtol=1e-12)


class Logarithm(EvolutionProblem):
    space = Periodic(0.0, 2 * np.pi)

    def residual(self, u, t, x):
        return u.t - u.xx + jnp.log(u.value)

    def initial(self, x):
        return 2 + jnp.sin(x)


def test_a_residual_that_is_singular_at_zero_keeps_its_linear_part():
    split = Split(Logarithm())
    np.testing.assert_allclose(split.symbol((K,))[0], -(K**2), rtol=1e-12)
    assert split.needed == (((0, 0), 0),)


def _problem(residual_of, space=None, count=1):
    class Problem(EvolutionProblem):
        components = ("u", "v")[:count]

        def residual(self, *arguments):
            return residual_of(*arguments)

        def initial(self, *x):
            return (0.0,) * count

    Problem.space = Periodic(0.0, 1.0) if space is None else space
    return Problem()


@pytest.mark.parametrize(
    ("residual", "count", "message"),
    [
        (lambda u, t, x: u.t * (1 + u**2), 1, "factor of u.t depends"),
        (lambda u, t, x: u.t * (2 + jnp.sin(t)) + u.x, 1, "factor of u.t depends"),
        (lambda u, t, x: u.t - u.txx + u.x, 1, "contains u.txx"),
        (lambda u, v, t, x: (u.t + v.t, v.t), 2, "not diagonal"),
        (lambda u, v, t, x: (u.t, v + u.x), 2, "not diagonal and invertible"),
    ],
)
def test_equations_not_solved_for_the_time_derivative_are_refused(residual, count, message):
    with pytest.raises(ValueError, match=message) as error:
        Split(_problem(residual, count=count))
    assert "reference solver needs a residual of the form" in str(error.value)


@pytest.mark.parametrize("space", [Bounded(0.0, 1.0), Box(), Box(Periodic(0.0, 1.0), Bounded(0.0, 1.0))])
def test_domains_that_are_not_periodic_are_refused(space):
    with pytest.raises(ValueError, match="all Periodic"):
        Split(_problem(lambda u, *rest: u.t + u, space))
