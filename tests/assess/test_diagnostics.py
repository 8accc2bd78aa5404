"""Integrals in diagnostics against closed forms."""

import jax
import jax.numpy as jnp
import numpy as np

from cinnet import MLP, Bounded, Box, EvolutionProblem, Periodic, neumann
from cinnet.assess.diagnostics import diagnose
from cinnet.problems.base import Invariant
from cinnet.reference import known_solution


class InsulatedRod(EvolutionProblem):
    space = Bounded(0.0, 1.0)
    boundary = (neumann("x"),)

    def residual(self, u, t, x):
        return u.t - 0.1 * u.xx

    def initial(self, x):
        return self.exact(0.0, x)

    def exact(self, t, x):
        return 1 + jnp.exp(-0.4 * jnp.pi**2 * t) * jnp.cos(2 * jnp.pi * x)

    def invariants(self):
        return {"mass": Invariant(lambda u, t, x: u), "energy": Invariant(lambda u, t, x: u**2, conserved=False)}


class InsulatedPlate(EvolutionProblem):
    space = Box(Periodic(0.0, 2.0), Bounded(0.0, 3.0))
    boundary = (neumann("y"),)

    def residual(self, u, t, x, y):
        return u.t - 0.1 * u.laplacian

    def initial(self, x, y):
        return self.exact(0.0, x, y)

    def exact(self, t, x, y):
        return 1 + jnp.exp(-0.2 * jnp.pi**2 * t) * jnp.cos(jnp.pi * x) * jnp.cos(jnp.pi * y)

    def invariants(self):
        return {"mass": Invariant(lambda u, t, x, y: u)}


def exact_invariants(problem):
    network = MLP(problem.box, problem.interval, hidden=(4,), harmonics=1, key=jax.random.key(0))
    diagnostics = diagnose(problem, network, known_solution(problem))
    return diagnostics.times, {name: one.reference for name, one in diagnostics.invariants.items()}


def test_integrals_over_a_bounded_axis_are_exact():
    times, found = exact_invariants(InsulatedRod())
    np.testing.assert_allclose(found["mass"], 1.0, rtol=1e-12)
    np.testing.assert_allclose(found["energy"], 1 + np.exp(-0.8 * np.pi**2 * times) / 2, rtol=1e-12)


def test_integrals_over_a_periodic_and_a_bounded_axis_are_exact():
    _, found = exact_invariants(InsulatedPlate())
    np.testing.assert_allclose(found["mass"], 6.0, rtol=1e-12)
