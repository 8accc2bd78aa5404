"""Boundary values by construction: jets against nested differentiation, values on the faces against the conditions."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import nested_derivatives

from cinnet import Bounded, Box, Complex, EvolutionProblem, Periodic, Unknown, dirichlet, neumann
from cinnet.config.presets import resolve_settings
from cinnet.jets import JetSpace
from cinnet.training.build import build_network
from cinnet.unknowns import Parameter


class Plate(EvolutionProblem):
    """Values on three faces, which agree where two of them meet."""

    space = Box(Bounded(0.0, 2.0), Bounded(-1.0, 1.0))
    boundary = (
        dirichlet("x", "lower", lambda t, x, y: jnp.sin(t) * y),
        dirichlet("x", "upper", lambda t, x, y: y**2),
        dirichlet("y", "lower", lambda t, x, y: -(1 - x / 2) * jnp.sin(t) + x / 2),
    )

    def residual(self, u, t, x, y):
        return u.t - u.laplacian

    def initial(self, x, y):
        return x / 2 * y**2


class Strip(EvolutionProblem):
    """A periodic axis, a bounded one with insulated ends; two components."""

    space = Box(Periodic(0.0, 1.0), Bounded(0.0, 3.0))
    components = ("u", "v")
    boundary = (neumann("y"),)

    def residual(self, u, v, t, x, y):
        return u.t - u.laplacian, v.t - v.laplacian

    def initial(self, x, y):
        return jnp.cos(2 * jnp.pi * x), jnp.cos(jnp.pi * y / 3)


def network_of(problem, **more):
    settings = resolve_settings(
        problem, grid=(4, 8), hidden=(5, 5), dtype="float64", exact_boundary=True, **({"windows": 1} | more)
    )
    return build_network(problem, settings)


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


@pytest.mark.parametrize("problem", [Plate(), Strip()], ids=lambda p: p.name)
def test_jets_are_the_derivatives(problem):
    """At times that all columns share and at times of their own; one oracle for both."""
    network = network_of(problem)
    random = np.random.default_rng(0)
    points = jnp.asarray(random.uniform(0.1, 0.9, (3, 2)))
    shared, scattered = np.array([0.25, 0.6]), random.uniform(0.1, 0.9, (2, 3))
    highest = ((0, 2, 0), (0, 1, 1), (1, 0, 1), (0, 0, 2))
    nested = eqx.filter_jit(lambda times: nested_derivatives(network, times, points, highest))
    for times in (shared, scattered):
        expected = nested(jnp.asarray(np.broadcast_to(times.T, (3, 2)).T))
        jets = eqx.filter_jit(lambda n, p, t=times, e=expected: n.jets(n.plan(t), p, JetSpace.of(e)))(network, points)
        assert set(jets) == set(expected)
        for index, value in jets.items():
            np.testing.assert_allclose(value, expected[index], rtol=1e-9, atol=1e-10)


@eqx.filter_jit
def values_at(network, t, points):
    return jax.vmap(lambda x: network(t, x))(points)[:, 0]


def test_values_on_the_faces_are_given_ones():
    network = network_of(Plate())
    s = np.array([-1.0, -0.4, 0.7, 1.0])
    x = 1 + s
    faces = [np.stack([0 * s, s], 1), np.stack([0 * s + 2, s], 1), np.stack([x, 0 * s - 1], 1)]
    for t in (0.0, 0.3, 0.9):
        given = [np.sin(t) * s, s**2, -(1 - x / 2) * np.sin(t) + x / 2]
        values = values_at(network, jnp.asarray(t), jnp.asarray(np.concatenate(faces)))
        np.testing.assert_allclose(values, np.concatenate(given), atol=1e-14)
    free = values_at(network, jnp.asarray(0.3), jnp.array([[1.0, 1.0]]))
    assert abs(float(free[0]) - 0.5) > 1e-3


def test_insulated_ends_have_no_slope():
    network = network_of(Strip())
    slope = eqx.filter_jit(jax.vmap(jax.jacfwd(lambda x: network(0.4, x))))
    at_ends_and_between = slope(jnp.array([[0.3, 0.0], [0.3, 3.0], [0.3, 1.0]]))[..., 1]
    np.testing.assert_allclose(at_ends_and_between[:2], 0.0, atol=1e-13)
    assert np.abs(at_ends_and_between[2]).max() > 1e-3


def test_errors():
    with pytest.raises(ValueError, match="windows=2: the boundary values of Plate change in time"):
        network_of(Plate(), windows=2)

    class Open(Plate):
        boundary = ()

    with pytest.raises(ValueError, match="exact_boundary=True: Open has neither"):
        network_of(Open())


class Lid(EvolutionProblem):
    """One end that starts to move, or an unknown one."""

    height: Parameter = 1.0

    space = Bounded(0.0, 1.0)

    @property
    def boundary(self):
        return dirichlet("x", "lower"), dirichlet("x", "upper", lambda t, x: self.height * jnp.maximum(t - 0.6, 0.0))

    def residual(self, u, t, x):
        return u.t - u.xx

    def initial(self, x):
        return 0.0 * x


def test_values_that_change_late_are_seen_to_change():
    assert network_of(Lid()).varies_in_time
    with pytest.raises(ValueError, match="windows=2: the boundary values of Lid change in time"):
        network_of(Lid(), windows=2)

    class Fixed(Lid):
        boundary = (dirichlet("x", value=lambda t, x: x**2),)

    assert not network_of(Fixed(), windows=2).varies_in_time


def test_a_face_with_an_unknown_is_left_to_the_loss():
    network = network_of(Lid(height=Unknown(1.0))).inner
    assert [face.side for face in network.faces] == ["lower"]


def test_a_real_value_of_a_complex_component_has_no_imaginary_part():
    class Trapped(EvolutionProblem):
        space = Bounded(0.0, 1.0)
        components = (Complex("psi"), "n")
        boundary = (dirichlet("x", "lower", value=lambda t, x: (2.0, 3.0)), dirichlet("x", "upper", 1.0))

        def residual(self, psi, n, t, x):
            return 1j * psi.t + psi.xx, n.t - n.xx

        def initial(self, x):
            return 2.0 - x, 3.0 - 2 * x

    with jax.numpy_dtype_promotion("standard"):
        network = network_of(Trapped())
        np.testing.assert_allclose(network(0.3, 0.0), [2.0, 0.0, 3.0], atol=1e-14)
        np.testing.assert_allclose(network(0.3, 1.0), [1.0, 0.0, 1.0], atol=1e-14)
