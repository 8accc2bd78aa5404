"""For a linear equation the error equation is exact, so the estimate must be the true error of any network."""

from collections.abc import Callable

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
from cinnet.assess.error_estimate import error_estimate
from cinnet.evaluation import predict
from cinnet.nested import partial_derivative
from cinnet.networks import Network
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


class SplitHeat(EvolutionProblem):
    """The heat equation with its flux as an algebraic component."""

    space = Periodic(0.0, 2 * np.pi)
    components = ("flux", "u")

    def residual(self, flux, u, t, x):
        return u.t + flux.x, flux + 0.3 * u.x

    def initial(self, x):
        return self.exact(0.0, x)

    def exact(self, t, x):
        return 0.3 * jnp.exp(-0.3 * t) * jnp.sin(x), jnp.exp(-0.3 * t) * jnp.cos(x)


class SplitRod(EvolutionProblem):
    """The same between two ends, with a condition on each of the components."""

    space = Bounded(0.0, 1.0)
    components = ("u", "bend")
    boundary = (dirichlet("x", of=0), dirichlet("x", of=1))

    def residual(self, u, bend, t, x):
        return u.t + 0.01 * bend.xx, bend - u.xx

    def initial(self, x):
        return self.exact(0.0, x)

    def exact(self, t, x):
        u = jnp.exp(-0.01 * jnp.pi**4 * t) * jnp.sin(jnp.pi * x)
        return u, -(jnp.pi**2) * u


class RossbyWave(EvolutionProblem):
    """A wave of vorticity w and streamfunction psi; nothing says which constant psi has."""

    space = Box(Periodic(0.0, 2 * np.pi), Periodic(0.0, 2 * np.pi))
    components = ("w", "psi")

    def residual(self, w, psi, t, x, y):
        return w.t + 2.0 * psi.x - 0.1 * w.laplacian, psi.laplacian - w

    def initial(self, x, y):
        return self.exact(0.0, x, y)

    def exact(self, t, x, y):
        psi = jnp.exp(-0.2 * t) * jnp.cos(x + y + t)
        return -2 * psi, psi


LINEAR = [Advection(), Rod(), Beam(), Wave(), Plate(), Oscillator(), SplitHeat(), SplitRod(), RossbyWave()]


@pytest.mark.parametrize("problem", LINEAR, ids=lambda p: p.name)
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
    free = [problem.components.index(name) for name in estimate.free_constants]
    prediction, error = np.array(prediction), np.array(prediction - exact)
    for values in (prediction, error):
        values[..., free] -= values[..., free].mean(axis=1, keepdims=True)
    true = np.linalg.norm(error, axis=(1, 2)) / np.linalg.norm(prediction, axis=(1, 2))
    np.testing.assert_allclose(estimate.estimate[::20], true, rtol=0.05)
    assert estimate.free_constants == (("psi",) if isinstance(problem, RossbyWave) else ())


class ClosedForm(Network):
    """A function in the place of a network."""

    function: Callable = eqx.field(static=True)
    box: Box = eqx.field(static=True)
    interval: TimeInterval = eqx.field(static=True)
    widths = (2,)
    dtype = np.dtype(np.float64)

    def __call__(self, t, x):
        return jnp.stack(self.function(t, *x))

    def plan(self, times):
        return jnp.asarray(times)

    def jets(self, plan, points, space):
        def at(index):
            derivative = partial_derivative(lambda z: self(z[0], z[1:]), index)
            return jax.vmap(lambda t: jax.vmap(lambda x: derivative(jnp.append(t, x)))(points))(plan)

        return {index: at(index) for index in space.wanted}


class TaylorGreen(EvolutionProblem):
    """Vortices of vorticity w and streamfunction psi that decay where they are."""

    space = Box(Periodic(0.0, 2 * np.pi), Periodic(0.0, 2 * np.pi))
    components = ("w", "psi")

    def residual(self, w, psi, t, x, y):
        return psi.laplacian + w, w.t + psi.y * w.x - psi.x * w.y - 0.1 * w.laplacian

    def initial(self, x, y):
        return self.exact(0.0, x, y)

    def exact(self, t, x, y):
        psi = jnp.exp(-0.2 * t) * jnp.cos(x) * jnp.cos(y)
        return 2 * psi, psi


def test_estimate_of_a_nonlinear_equation_with_a_constraint_is_the_error_but_for_a_free_constant():
    problem, size = TaylorGreen(), 2e-4

    def wrong(t, x, y):
        w, psi = problem.exact(t, x, y)
        return w + size * (1 + t) * jnp.sin(x + y), psi + size * t * jnp.sin(2 * y) + 0.5

    network = ClosedForm(wrong, problem.box, problem.interval)
    estimate = error_estimate(problem, network, 10)
    t = estimate.times
    true = size * np.sqrt(((1 + t) ** 2 + t**2) / 2) / (np.exp(-0.2 * t) * np.sqrt(5) / 2)
    np.testing.assert_allclose(estimate.estimate, true, rtol=0.05)
    assert estimate.free_constants == ("psi",)


def test_a_constraint_that_does_not_determine_its_component_gives_no_estimate():
    """Nothing but the evolution of u restricts p, so the index is 2."""

    class Held(EvolutionProblem):
        space = Periodic(0.0, 2 * np.pi)
        components = ("u", "p")

        def residual(self, u, p, t, x):
            return u.t - p, u - jnp.cos(x)

        def initial(self, x):
            return jnp.cos(x), 0.0 * x

    network = MLP(Held().box, Held().interval, hidden=(8,), outputs=2, harmonics=1, key=jax.random.key(0))
    assert error_estimate(Held(), network, 10) is None


@pytest.mark.parametrize(
    "space", [Periodic(0.0, 2 * np.pi), Bounded(0.0, np.pi)], ids=lambda space: type(space).__name__
)
def test_an_ill_posed_equation_is_recognised(space):
    class BackwardHeat(EvolutionProblem):
        time = (0.0, 2.0)
        boundary = () if space.periodic else (dirichlet("x"),)

        def residual(self, u, t, x):
            return u.t + u.xx

        def initial(self, x):
            return jnp.sin(x)

    BackwardHeat.space = space
    network = MLP(BackwardHeat().box, BackwardHeat().interval, hidden=(8,), harmonics=1, key=jax.random.key(0))
    estimate = error_estimate(BackwardHeat(), network, 10)
    assert estimate.solution_is_finite
    assert estimate.ill_posed
    assert estimate.growth[-1] > 1e6
    assert not np.isnan(estimate.estimate).any()


def constant(network, value):
    zero = jax.tree.map(lambda leaf: 0.0 * leaf if hasattr(leaf, "dtype") else leaf, network)
    return eqx.tree_at(lambda n: n.layers[-1].bias, zero, jnp.full(1, value))


def test_an_unstable_equation_is_accurate_until_its_errors_have_grown():
    """The state 1 is missed by 1e-7 at the start, hence by 1e-7 exp(20 t)."""

    class Unstable(EvolutionProblem):
        time = (0.0, 2.0)

        def residual(self, u, t):
            return u.t - 20 * (u - 1)

        def initial(self):
            return 1.0 + 1e-7

    network = constant(MLP(Unstable().box, Unstable().interval, hidden=(4,), key=jax.random.key(0)), 1.0)
    estimate = error_estimate(Unstable(), network, 50)
    assert estimate.accurate_until(1e-2) == pytest.approx(np.log(1e5) / 20, abs=0.02)
    assert not estimate.ill_posed
    assert np.log(estimate.growth[-1]) == pytest.approx(40.0, rel=0.02)


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
    estimate = error_estimate(Growth(), constant(network, 1.0), 10)
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
