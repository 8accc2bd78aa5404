import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import nested_derivatives

from cinnet.domains import Box, Periodic, TimeInterval
from cinnet.jets import JetSpace
from cinnet.networks import MLP, CinNet, ExactInitial, Windows
from cinnet.problems import AllenCahn
from cinnet.symmetry import Symmetry

LINE, INTERVAL = Box(Periodic(-1.0, 1.0)), TimeInterval(1.0, 4.0)
POINTS = np.random.default_rng(0).uniform(-1, 1, (5, 1))


@eqx.filter_jit
def values_of(network, times, x):
    return jax.vmap(lambda t, x: network(t, x)[0])(times, x)


def assert_jets_are_right(network, times, points, *highest, scattered=True):
    """Against nested differentiation, with times that the columns share and with times given to each."""
    expected = nested_derivatives(network, times, points, highest)
    plans = [times, jnp.tile(times[:, None], (1, len(points)))] if scattered else [times]
    for given in plans:
        jets = eqx.filter_jit(lambda n, p, t=given: n.jets(n.plan(t), p, JetSpace.of(highest)))
        for index, value in jets(network, jnp.asarray(points)).items():
            np.testing.assert_allclose(value, expected[index], rtol=1e-9, atol=1e-10)


def piece(seed):
    options = {"hidden": (4, 4), "harmonics": 2, "dtype": "float64", "key": jax.random.key(seed)}
    return CinNet(LINE, TimeInterval(1.0, 2.0), num_mesh_intervals=2, quadrature="product-linear", **options)


@pytest.fixture(scope="module")
def windows():
    return Windows(tuple(piece(seed) for seed in range(3)), INTERVAL, starts=(1.0, 2.0, 3.0))


def test_every_time_is_answered_by_the_network_of_its_window(windows):
    times, numbers = jnp.array([1.0, 1.4, 2.0, 2.5, 3.9, 4.0]), jnp.array([0, 0, 0, 1, 2, 2])
    own_times = jnp.array([1.0, 1.4, 2.0, 1.5, 1.9, 2.0])
    x = jnp.full(6, 0.3)
    by_piece = jnp.stack([values_of(piece, own_times, x) for piece in windows.pieces])
    np.testing.assert_allclose(values_of(windows, times, x), by_piece[numbers, jnp.arange(6)], rtol=1e-12)


def test_jets_equal_nested_differentiation_in_any_order_of_times(windows):
    assert_jets_are_right(windows, np.array([3.3, 1.2, 2.6, 1.7, 3.9]), POINTS, (1, 0), (0, 2))


def test_a_network_with_a_symmetry_has_it_exactly_and_its_jets_are_right():
    box = Box(Periodic(0.0, 1.0), Periodic(0.0, 1.0))
    symmetry = Symmetry((2, 2), (True, True), exchange=True)
    options = {"hidden": (5,), "harmonics": 2, "tensor": "complete", "dtype": "float64", "key": jax.random.key(0)}
    network = MLP(box, TimeInterval(0.0, 1.0), symmetry=symmetry, **options)
    images = jnp.array([(0.13, 0.37), (0.63, 0.37), (0.87, 0.37), (0.37, 0.13), (0.13, 0.87), (0.2, 0.37)])
    value, *same, other = values_of(network, jnp.full(6, 0.3), images)
    np.testing.assert_allclose(same, value, rtol=1e-13)
    assert abs(other - value) > 1e-4
    assert_jets_are_right(network, np.array([0.3]), images[:1], (0, 2, 0), (0, 1, 1), scattered=False)


def test_the_exact_initial_value_is_exact_and_forgotten():
    problem = AllenCahn()
    options = {"hidden": (4,), "harmonics": 2, "dtype": "float64", "key": jax.random.key(0)}
    inner = CinNet(problem.box, problem.interval, num_mesh_intervals=3, **options)
    network = ExactInitial(inner, problem.initial_at)
    x = jnp.linspace(-0.9, 0.9, 7)
    np.testing.assert_allclose(values_of(network, jnp.zeros(7), x), problem.initial(x), atol=1e-14)
    np.testing.assert_allclose(values_of(network, jnp.ones(7), x), values_of(inner, jnp.ones(7), x), atol=1e-7)
    assert_jets_are_right(network, np.array([0.0, 0.04, 0.5]), x[:, None], (1, 0), (0, 2), scattered=False)
