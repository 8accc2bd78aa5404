"""Boundary conditions of a problem as operators: unknowns in them are learned, windows share one compilation."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet import Bounded, EvolutionProblem, GridFunction, Observations, Unknown, dirichlet, neumann, robin
from cinnet.domains import TimeInterval
from cinnet.networks import MLP, WithUnknowns
from cinnet.objective.objective import Objective
from cinnet.optimizers import LevenbergMarquardt
from cinnet.sampling import TrainingPoints, uniform_grid
from cinnet.unknowns import Parameter


class Rod(EvolutionProblem):
    """u = x^2 + 2 t, if its upper end is heated at the rate 2."""

    rate: Parameter = 2.0

    space = Bounded(0.0, 1.0)

    @property
    def boundary(self):
        return neumann("x", "lower"), dirichlet("x", "upper", lambda t, x: 1 + self.rate * t)

    def residual(self, u, t, x):
        return u.t - u.xx

    def initial(self, x):
        return x**2


class CooledRod(Rod):
    """The same function by a condition of which both factors may be unknown."""

    @property
    def boundary(self):
        return neumann("x", "lower"), robin("x", "upper", lambda t, x: 4 + 4 * t, a=self.rate, b=self.rate / 2)


def small_network(problem, interval=None):
    interval = interval or problem.interval
    return MLP(problem.box, interval, hidden=(6, 6), dtype="float64", key=jax.random.key(1))


@pytest.fixture(params=[Rod, CooledRod])
def inverse(request):
    """The problem with an unknown rate, its network and its objective."""
    t, x = np.linspace(0.1, 1.0, 12), np.tile([0.2, 0.5, 0.8], 4)
    problem = request.param(Unknown(1.0), observations=Observations(t, x, x**2 + 2 * t))
    network = WithUnknowns(small_network(problem), {"rate": jnp.full(1, 0.3)})
    points = uniform_grid(problem.interval, problem.box, 5, 6)
    return network, Objective(problem, network, points)


def test_loss_knows_the_unknown_of_a_boundary_condition(inverse):
    network, objective = inverse

    @eqx.filter_jit
    def loss(rate):
        return objective.loss(eqx.tree_at(lambda n: n.coefficients["rate"], network, rate)).total

    rate, step = jnp.full(1, 0.3), 1e-5
    slope = jax.grad(loss)(rate)[0]
    assert abs(slope) > 1e-3
    np.testing.assert_allclose(slope, (loss(rate + step) - loss(rate - step)) / (2 * step), rtol=1e-6)


def test_unknown_of_a_boundary_condition_is_learned(inverse):
    network, objective = inverse
    optimizer = LevenbergMarquardt()
    step = eqx.filter_jit(optimizer.step)
    state = optimizer.init(network)
    for _ in range(40):
        network, state, _ = step(objective, network, state)
    np.testing.assert_allclose(1.0 + network.coefficients["rate"], [2.0], atol=2e-3)


def test_windows_share_one_compilation():
    problem = Rod()
    network = small_network(problem, TimeInterval(0.0, 0.5))
    traces = []

    @eqx.filter_jit
    def loss(objective):
        traces.append(1)
        return objective.loss(network).parts["boundary x upper"]

    for start in (0.0, 0.5):
        times = start + np.array([0.1, 0.4])
        points = TrainingPoints(times, problem.box.uniform_grid((4,)))
        mismatch = [network(t - start, jnp.ones(1))[0] - (1 + 2 * t) for t in times]
        np.testing.assert_allclose(loss(Objective(problem, network, points, start=start)), np.mean(np.square(mismatch)))
    assert len(traces) == 1


class TabulatedRod(Rod):
    """The value at the upper end is read from a table, made of JAX's arrays whenever the conditions are asked for."""

    @property
    def boundary(self):
        t, x = jnp.linspace(0.0, 1.0, 5), jnp.linspace(0.0, 1.0, 4)
        return (dirichlet("x", "upper", GridFunction(1 + self.rate * t[:, None] + 0 * x, t, x)),)


def test_conditions_may_be_made_of_tables_inside_a_compiled_step():
    with jax.numpy_dtype_promotion("standard"):  # splines count in integers of two kinds
        problem = TabulatedRod(3.0)
        network, points = small_network(problem), uniform_grid(problem.interval, problem.box, 3, 4)
        loss = eqx.filter_jit(Objective(problem, network, points).loss)(network)
    mismatch = [network(t, jnp.ones(1))[0] - (1 + 3 * t) for t in points.times]
    np.testing.assert_allclose(loss.parts["boundary x upper"], np.mean(np.square(mismatch)))


def test_an_unknown_face_is_not_built_into_the_network():
    known, unknown = Rod(), Rod(Unknown(1.0))
    assert [operator.has_unknowns for _, operator in known.boundary_operators] == [False, False]
    assert [operator.has_unknowns for _, operator in unknown.boundary_operators] == [False, True]
