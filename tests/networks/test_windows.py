import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.domains import Box, Periodic, TimeInterval
from cinnet.jets import JetSpace
from cinnet.networks import MLP, CinNet, ExactInitial, Windows
from cinnet.networks.windows import window_interval
from cinnet.problems import AllenCahn
from cinnet.symmetry import Symmetry

LINE, INTERVAL = Box(Periodic(-1.0, 1.0)), TimeInterval(1.0, 4.0)
SPACE = JetSpace.of({(0, 0), (1, 0), (0, 2)})
POINTS = np.random.default_rng(0).uniform(-1, 1, (5, 1))


def piece(seed):
    options = {"hidden": (4, 4), "harmonics": 2, "dtype": "float64", "key": jax.random.key(seed)}
    return CinNet(LINE, window_interval(INTERVAL, 3), num_mesh_intervals=2, quadrature="product-linear", **options)


@pytest.fixture(scope="module")
def windows():
    with jax.enable_x64(True):
        return Windows(tuple(piece(seed) for seed in range(3)), INTERVAL)


def test_every_time_is_answered_by_the_network_of_its_window(windows):
    with jax.enable_x64(True):
        for t, number, own in (
            (1.0, 0, 1.0),
            (1.4, 0, 1.4),
            (2.0, 0, 2.0),
            (2.5, 1, 1.5),
            (3.9, 2, 1.9),
            (4.0, 2, 2.0),
        ):
            expected = windows.pieces[number](own, 0.3)
            np.testing.assert_allclose(windows(t, 0.3), expected, rtol=1e-12)


@pytest.mark.parametrize("scattered", [False, True])
def test_jets_equal_nested_differentiation_in_any_order_of_times(windows, scattered):
    with jax.enable_x64(True):
        times = np.array([3.3, 1.2, 2.6, 1.7, 3.9])
        plan = windows.plan(jnp.tile(times[:, None], (1, 5)) if scattered else times)
        jets = windows.jets(plan, jnp.asarray(POINTS), SPACE)
        value = lambda t, x: windows(t, x)[0]  # noqa: E731
        oracles = {
            (0, 0): value,
            (1, 0): jax.grad(value),
            (0, 2): jax.grad(jax.grad(value, 1), 1),
        }
        for index, oracle in oracles.items():
            over_grid = jax.vmap(jax.vmap(oracle, (None, 0)), (0, None))
            expected = jax.jit(over_grid)(jnp.asarray(times), jnp.asarray(POINTS[:, 0]))
            np.testing.assert_allclose(jets[index][..., 0], expected, rtol=1e-9, atol=1e-10)


def test_a_network_with_a_symmetry_has_it_exactly_and_its_jets_are_right():
    with jax.enable_x64(True):
        box = Box(Periodic(0.0, 1.0), Periodic(0.0, 1.0))
        symmetry = Symmetry((2, 2), (True, True), exchange=True)
        options = {"hidden": (5,), "harmonics": 2, "tensor": "complete", "dtype": "float64", "key": jax.random.key(0)}
        network = MLP(box, TimeInterval(0.0, 1.0), symmetry=symmetry, **options)
        at = lambda x, y: network(0.3, jnp.array([x, y]))[0]  # noqa: E731
        value = at(0.13, 0.37)
        for image in ((0.63, 0.37), (0.87, 0.37), (0.37, 0.13), (0.13, 0.87)):
            np.testing.assert_allclose(at(*image), value, rtol=1e-13)
        assert abs(at(0.2, 0.37) - value) > 1e-4
        jets = network.jets(
            network.plan(np.array([0.3])), jnp.array([[0.13, 0.37]]), JetSpace.of({(0, 2, 0), (0, 1, 1)})
        )
        np.testing.assert_allclose(jets[0, 2, 0].item(), jax.grad(jax.grad(at, 0), 0)(0.13, 0.37), rtol=1e-10)
        np.testing.assert_allclose(jets[0, 1, 1].item(), jax.grad(jax.grad(at, 0), 1)(0.13, 0.37), rtol=1e-10)


def test_the_exact_initial_value_is_exact_and_forgotten():
    problem = AllenCahn()
    with jax.enable_x64(True):
        options = {"hidden": (4,), "harmonics": 2, "dtype": "float64", "key": jax.random.key(0)}
        inner = CinNet(problem.box, problem.interval, num_mesh_intervals=3, **options)
        network = ExactInitial(inner, problem.initial_at)
        x = np.linspace(-0.9, 0.9, 7)
        for point in x:
            np.testing.assert_allclose(network(0.0, point)[0], problem.initial(point), atol=1e-14)
            np.testing.assert_allclose(network(1.0, point), inner(1.0, point), atol=1e-7)
        times = np.array([0.0, 0.04, 0.5])
        jets = network.jets(network.plan(times), jnp.asarray(x[:, None]), SPACE)
        value = lambda t, x: network(t, x)[0]  # noqa: E731
        oracles = {(0, 0): value, (1, 0): jax.grad(value), (0, 2): jax.grad(jax.grad(value, 1), 1)}
        for index, oracle in oracles.items():
            over_grid = jax.jit(jax.vmap(jax.vmap(oracle, (None, 0)), (0, None)))
            expected = over_grid(jnp.asarray(times), jnp.asarray(x))
            np.testing.assert_allclose(jets[index][..., 0], expected, rtol=1e-9, atol=1e-10)


def test_window_of_one_is_the_whole_interval():
    assert window_interval(INTERVAL, 1) == INTERVAL
    assert dataclasses.astuple(window_interval(INTERVAL, 3)) == (1.0, 2.0)
