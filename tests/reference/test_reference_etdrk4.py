"""ETDRK4 against closed forms, its own order and an independent integrator."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.integrate

from cinnet.domains import Box, Periodic
from cinnet.problems import AllenCahn, EvolutionProblem, KortewegDeVries
from cinnet.reference import reference_solution
from cinnet.reference.etdrk4 import Etdrk4

CIRCLE = Periodic(0.0, 2 * np.pi)


class SmoothAllenCahn(AllenCahn):
    def initial(self, x):
        return 0.5 * jnp.cos(jnp.pi * x) + 0.2


@pytest.mark.parametrize(
    ("problem", "steps"),
    [(SmoothAllenCahn(diffusivity=1e-2), (10, 20, 40, 80)), (KortewegDeVries(), (200, 400, 800))],
)
def test_order_four_on_a_real_and_an_imaginary_operator(problem, steps):
    integrator = Etdrk4(problem, (64,))
    end = 0.5
    finest = integrator.advance(integrator.initial, 0.0, end / (4 * steps[-1]), 4 * steps[-1])
    errors = [
        np.linalg.norm(integrator.advance(integrator.initial, 0.0, end / n, n) - finest) / np.linalg.norm(finest)
        for n in steps
    ]
    slope = -np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert abs(slope - 4) < 0.3, errors


@pytest.mark.parametrize("direction", [1.0, 1j, np.exp(0.7j)])
def test_coefficients_against_their_power_series(direction):
    """f1 = h sum z^j (1 / (j+1)! - 3 / (j+2)! + 4 / (j+3)!), from the phi functions; the others alike."""
    integrator = Etdrk4(KortewegDeVries(), (8,))
    integrator._distinct = direction * np.array([0.0, 1e-8, 1e-3, 0.5, 1.0])
    integrator._position = np.zeros(integrator.symbol.size, dtype=int)
    integrator._position[:4] = 1, 2, 3, 4
    powers = np.arange(30)
    factorial = np.cumprod(np.r_[1.0, np.arange(1, 40)])
    z = integrator._distinct[[1, 2, 3, 4]][:, None] ** powers

    def phi(n):
        return z @ (1 / factorial[powers + n])

    _, _, q, f1, f2, f3 = (c[0, :4] for c in integrator.coefficients(1.0))
    np.testing.assert_allclose(q, 0.5 * (z / 2**powers) @ (1 / factorial[powers + 1]), rtol=1e-13)
    np.testing.assert_allclose(f1, phi(1) - 3 * phi(2) + 4 * phi(3), rtol=1e-13)
    np.testing.assert_allclose(f2, 2 * phi(2) - 4 * phi(3), rtol=1e-13)
    np.testing.assert_allclose(f3, 4 * phi(3) - phi(2), rtol=1e-13)


class HeatWithSource(EvolutionProblem):
    """u = sin(t + 2 x) solves u_t = 0.1 u_xx + source."""

    time = (0.5, 2.0)
    space = CIRCLE

    def residual(self, u, t, x):
        return u.t - 0.1 * u.xx - (jnp.cos(t + 2 * x) + 0.4 * jnp.sin(t + 2 * x))

    def initial(self, x):
        return jnp.sin(0.5 + 2 * x)


class Advection(EvolutionProblem):
    space = Periodic(-1.0, 1.0)

    def residual(self, u, t, x):
        return u.t + 3 * u.x

    def initial(self, x):
        return jnp.exp(jnp.sin(jnp.pi * x))


class VaryingAdvection(EvolutionProblem):
    """u = exp(sin(x - t)) solves u_t + (1 + sin(x) / 2) u_x = source."""

    space = CIRCLE

    def residual(self, u, t, x):
        exact_x = jnp.cos(x - t) * jnp.exp(jnp.sin(x - t))
        return u.t + (1 + 0.5 * jnp.sin(x)) * u.x - 0.5 * jnp.sin(x) * exact_x

    def initial(self, x):
        return jnp.exp(jnp.sin(x))


class Burgers(EvolutionProblem):
    """Cole-Hopf: u = -2 v p_x / p with p = 1 + a exp(-v t) cos(x)."""

    space = CIRCLE

    def residual(self, u, t, x):
        return u.t + u * u.x - 0.05 * u.xx

    def initial(self, x):
        return 0.1 * 0.9 * jnp.sin(x) / (1 + 0.9 * jnp.cos(x))


def burgers(t, x):
    a = 0.9 * np.exp(-0.05 * t)
    return 0.1 * a * np.sin(x) / (1 + a * np.cos(x))


class Soliton(KortewegDeVries):
    """u = 2 c sech^2(...) with a = 6, m = 1, c = 4 on a box much wider than the soliton."""

    space = Periodic(-20.0, 20.0)

    def initial(self, x):
        return 2.0 / jnp.cosh(x) ** 2


@pytest.mark.parametrize(
    ("problem", "exact"),
    [
        (HeatWithSource(), lambda t, x: np.sin(t + 2 * x)),
        (Advection(), lambda t, x: np.exp(np.sin(np.pi * (x - 3 * t)))),
        (VaryingAdvection(), lambda t, x: np.exp(np.sin(x - t))),
        (Burgers(), burgers),
        (Soliton(advection=6.0, dispersion=1.0), lambda t, x: 2 / np.cosh(x - 4 * t) ** 2),
    ],
    ids=["heat with source", "advection", "varying advection", "burgers", "soliton"],
)
def test_closed_forms_in_one_dimension(problem, exact):
    solution = reference_solution(problem, tolerance=1e-6, cache=False)
    axis, interval = problem.box.axes[0], problem.interval
    t = interval.start + interval.duration * np.array([0.0, 0.1234, 0.5, 1.0])[:, None]  # between levels too
    x = np.linspace(axis.lower, axis.upper, 101)
    values, expected = solution(t, x), exact(t, x)
    assert np.linalg.norm(values - expected) < 2e-6 * np.linalg.norm(expected)


def _heat(dimension):
    class Heat(EvolutionProblem):
        """u = product of sin(n x_n - 0.3) decays at the rate 0.1 (1 + 4 + 9)."""

        space = Box(*(CIRCLE,) * dimension)

        def residual(self, u, *rest):
            return u.t - 0.1 * u.laplacian

        def initial(self, *x):
            return jnp.prod(jnp.stack([jnp.sin((n + 1) * x_n - 0.3) for n, x_n in enumerate(x)]))

    return Heat()


@pytest.mark.parametrize("dimension", [2, 3])
def test_heat_equation_in_several_dimensions(dimension):
    solution = reference_solution(_heat(dimension), modes=12, time_step=0.1, cache=False, levels=6)
    numbers = np.arange(1, dimension + 1)
    points = np.random.default_rng(0).uniform(-7, 7, (40, dimension))
    expected = np.exp(-0.1 * np.sum(numbers**2) * 0.77) * np.prod(np.sin(numbers * points - 0.3), axis=-1)
    np.testing.assert_allclose(solution(0.77, *points.T), expected, atol=1e-13)


class Wave(EvolutionProblem):
    space = CIRCLE
    components = ("u", "v")

    def residual(self, u, v, t, x):
        return u.t - v, 2 * v.t - 2 * u.xx

    def initial(self, x):
        return jnp.sin(x), 0.0 * x


def test_wave_equation_as_a_system_has_a_trailing_component_axis():
    solution = reference_solution(Wave(), cache=False)
    t, x = np.linspace(0, 1, 8)[:, None], np.linspace(0, 6, 11)
    expected = np.stack([np.cos(t) * np.sin(x), -np.sin(t) * np.sin(x)], axis=-1)
    np.testing.assert_allclose(solution(t, x), expected, atol=1e-7)
    assert solution(0.5, 1.0).shape == (2,)


def test_allen_cahn_against_an_adaptive_runge_kutta_method_of_lines():
    problem, n = SmoothAllenCahn(diffusivity=1e-2), 128
    x = problem.box.uniform_grid((n,))
    k = np.pi * np.fft.fftfreq(n, 1 / n)
    second = np.fft.ifft(-(k[:, None] ** 2) * np.fft.fft(np.eye(n), axis=0), axis=0).real
    oracle = scipy.integrate.solve_ivp(
        lambda t, u: 1e-2 * second @ u - 5 * (u**3 - u),
        (0.0, 1.0),
        0.5 * np.cos(np.pi * x[:, 0]) + 0.2,
        method="DOP853",
        rtol=1e-11,
        atol=1e-13,
        t_eval=[0.3, 1.0],
    )
    solution = reference_solution(problem, cache=False)
    np.testing.assert_allclose(solution.on_grid([0.3, 1.0], x)[..., 0], oracle.y.T, atol=2e-8)


def test_the_nyquist_mode_stays_empty():
    integrator = Etdrk4(KortewegDeVries(), (16,))
    state = integrator.advance(integrator.initial, 0.0, 1e-2, 3)
    assert state[0, -1] == 0
    assert np.isfinite(state).all()
