"""For a linear equation the error equation is exact, so the estimate must be the true error of any network."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet import (
    MLP,
    BoundaryCondition,
    Bounded,
    Box,
    EvolutionProblem,
    Periodic,
    TimeInterval,
    dirichlet,
    neumann,
    robin,
)
from cinnet.assess.error_estimate import disagreement, error_estimate
from cinnet.evaluation import predict
from cinnet.reference import known_solution


class Advection(EvolutionProblem):
    space = Periodic(0.0, 2 * np.pi)

    def residual(self, u, t, x):
        return 2 * u.t + 3 * u.x - 0.2 * u.xx

    def initial(self, x):
        return jnp.cos(x)

    def exact(self, t, x):
        return jnp.exp(-0.1 * t) * jnp.cos(x - 1.5 * t)


class Rod(EvolutionProblem):
    """Fixed values that change in time at one end, an insulated other end."""

    space = Bounded(0.0, 1.0)
    boundary = (dirichlet("x", "lower", lambda t, x: jnp.exp(-t)), neumann("x", "upper"))

    def residual(self, u, t, x):
        return u.t - u.xx

    def initial(self, x):
        return self.exact(0.0, x)

    def exact(self, t, x):
        return jnp.exp(-t) * (jnp.cos(x) + jnp.tan(1.0) * jnp.sin(x))


class Beam(EvolutionProblem):
    """Two conditions at each end."""

    space = Bounded(0.0, 1.0)
    boundary = (dirichlet("x"), BoundaryCondition("x", operator=lambda u, t, x: u.xx))

    def residual(self, u, t, x):
        return u.t + 0.01 * u.xxxx

    def initial(self, x):
        return jnp.sin(jnp.pi * x)

    def exact(self, t, x):
        return jnp.exp(-0.01 * jnp.pi**4 * t) * jnp.sin(jnp.pi * x)


class Wave(EvolutionProblem):
    space = Bounded(0.0, 1.0)
    components = ("u", "v")
    boundary = (dirichlet("x", of=0),)

    def residual(self, u, v, t, x):
        return u.t - v, v.t - u.xx

    def initial(self, x):
        return jnp.sin(jnp.pi * x), 0.0 * x

    def exact(self, t, x):
        wave = jnp.sin(jnp.pi * x)
        return jnp.cos(jnp.pi * t) * wave, -jnp.pi * jnp.sin(jnp.pi * t) * wave


class Plate(EvolutionProblem):
    """A periodic and a bounded axis; outflow in proportion to the value."""

    space = Box(Periodic(0.0, 2 * np.pi), Bounded(0.0, 1.0))
    boundary = (robin("y", "upper", a=jnp.tan(0.5).item() * 0.5), neumann("y", "lower"))

    def residual(self, u, t, x, y):
        return u.t - 0.3 * u.laplacian

    def initial(self, x, y):
        return self.exact(0.0, x, y)

    def exact(self, t, x, y):
        return jnp.exp(-0.3 * 1.25 * t) * jnp.sin(x) * jnp.cos(y / 2)


class Oscillator(EvolutionProblem):
    components = ("q", "p")

    def residual(self, q, p, t):
        return q.t - p, p.t + 4 * q

    def initial(self):
        return 1.0, 0.0

    def exact(self, t):
        return jnp.cos(2 * t), -2 * jnp.sin(2 * t)


@pytest.mark.parametrize("problem", [Advection(), Rod(), Beam(), Wave(), Plate(), Oscillator()], ids=lambda p: p.name)
def test_estimate_is_the_error_for_linear_equations(problem):
    key = jax.random.key(3)
    network = MLP(problem.box, problem.interval, hidden=(8,), outputs=len(problem.outputs), harmonics=1, key=key)
    estimate = error_estimate(problem, network, 10)
    assert estimate is not None
    times = estimate.times[::20]
    counts = {0: 1, 1: 400, 2: 40}[problem.box.dimension]
    points = problem.box.uniform_grid((counts,) * problem.box.dimension)
    prediction = next(iter(predict(network, times, points).values()))
    exact = known_solution(problem).on_grid(times, points)
    true = np.linalg.norm(prediction - exact, axis=(1, 2)) / np.linalg.norm(prediction, axis=(1, 2))
    np.testing.assert_allclose(estimate.estimate[::20], true, rtol=0.05)


def test_bound_is_above_the_error_and_needs_a_constant_on_bounded_axes():
    network = MLP(Advection().box, TimeInterval(0.0, 1.0), hidden=(8,), harmonics=1, key=jax.random.key(0))
    estimate = error_estimate(Advection(), network, 10)
    assert estimate.bound is not None
    assert np.all(estimate.bound >= estimate.estimate)

    class StableRod(Rod):
        stability = 0.0

    network = MLP(Rod().box, TimeInterval(0.0, 1.0), hidden=(8,), key=jax.random.key(0))
    assert error_estimate(Rod(), network, 10).bound is None
    assert error_estimate(StableRod(), network, 10).bound is not None


def test_growth_rate_of_a_known_operator():
    """u_t = 3 u + u_xx grows no faster than exp(3 t), which constants reach."""

    class Growth(EvolutionProblem):
        space = Periodic(0.0, 1.0)

        def residual(self, u, t, x):
            return u.t - 3 * u - u.xx

        def initial(self, x):
            return 1.0 + 0.0 * x

    network = MLP(Growth().box, TimeInterval(0.0, 1.0), hidden=(4,), harmonics=1, key=jax.random.key(0))
    zero = jax.tree.map(lambda leaf: 0.0 * leaf if hasattr(leaf, "dtype") else leaf, network)
    one = eqx.tree_at(lambda n: n.layers[-1].bias, zero, jnp.ones(1))
    estimate = error_estimate(Growth(), one, 10)
    # The constant 1 misses the solution exp(3 t) by what the bound allows at most.
    np.testing.assert_allclose(estimate.bound, np.exp(3 * estimate.times) - 1, rtol=1e-6)
    np.testing.assert_allclose(estimate.estimate, np.exp(3 * estimate.times) - 1, rtol=1e-3)


def test_no_estimate_where_the_grid_is_too_coarse():
    class Fine(Advection):
        def initial(self, x):
            return jnp.cos(80 * x)

        def exact(self, t, x):
            return jnp.cos(80 * x) * jnp.cos(0.0 * t)

    box = Fine().box
    network = MLP(box, TimeInterval(0.0, 1.0), hidden=(4,), harmonics=90, key=jax.random.key(0))
    assert error_estimate(Fine(), network, 10) is None


def test_disagreement_is_the_largest_distance():
    a, b, c = np.array([3.0, 4.0]), np.array([3.0, 4.5]), np.array([3.0, 3.0])
    assert disagreement(a, b, c) == pytest.approx(1.5 / np.hypot(3.0, 4.5))
    with pytest.raises(ValueError, match="at least two"):
        disagreement(a)
