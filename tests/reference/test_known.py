"""What a solution is compared with: a closed form, a spectral reference, SciPy, or nothing."""

import jax.numpy as jnp
import numpy as np
import pytest
from small_problems import Decay

from cinnet import Bounded, EvolutionProblem, Periodic
from cinnet.problems import AllenCahn
from cinnet.reference import ClosedForm, ReferenceSolution, known_solution, reference_solution


class Pendulum(EvolutionProblem):
    """As a system of first order."""

    components = ("angle", "speed")

    def residual(self, angle, speed, t):
        return angle.t - speed, speed.t + 4 * angle

    def initial(self):
        return 1.0, 0.0


class Circuit(EvolutionProblem):
    """The current v has no time derivative, so that it is a constraint."""

    components = ("u", "v")

    def residual(self, u, v, t):
        return u.t + v, v - 2 * u

    def initial(self):
        return 1.0, 2.0


class Vortices(EvolutionProblem):
    space = Periodic(0.0, 1.0)
    components = ("w", "psi")

    def residual(self, w, psi, t, x):
        return w.t + psi.x, psi.laplacian + w

    def initial(self, x):
        return jnp.cos(2 * jnp.pi * x), 0.0 * x


class Rod(AllenCahn):
    space = Bounded(-1.0, 1.0)


def test_a_closed_form_goes_first():
    assert isinstance(known_solution(Decay()), ClosedForm)


def test_an_ode_is_solved_by_scipy():
    times = np.linspace(0, 1, 5)
    values = known_solution(Pendulum()).on_grid(times, np.zeros((1, 0)))[:, 0]
    np.testing.assert_allclose(values, np.stack([np.cos(2 * times), -2 * np.sin(2 * times)], axis=1), atol=1e-9)


def test_an_ode_with_a_constraint_is_refused_in_words():
    """SciPy once began and never ended."""
    with pytest.raises(ValueError, match="problem Circuit: its equations do not determine the time derivative"):
        known_solution(Circuit())


def test_bounded_axes_have_no_reference():
    assert known_solution(Rod()) is None


def test_a_spectral_reference_is_computed_only_where_that_is_allowed(cache_folder):
    problem = AllenCahn(diffusivity=0.1)
    assert known_solution(problem, compute=False) is None
    reference_solution(problem)
    assert isinstance(known_solution(problem, compute=False), ReferenceSolution)


def test_a_problem_that_can_have_no_reference_has_none_in_the_cache():
    """Asking once raised what computing it raises, which ended runs before they began."""
    assert known_solution(Vortices(), compute=False) is None
    with pytest.raises(ValueError, match="not diagonal and invertible"):
        known_solution(Vortices())
