import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import assert_jets_agree, nested_derivatives, paper_features

from cinnet.domains import Bounded, Box, Periodic, TimeInterval
from cinnet.jets import Activation, JetSpace
from cinnet.networks import MLP

INTERVAL = TimeInterval(0.5, 2.0)
TIMES = np.array([0.5, 0.9, 2.0])
LINE, SEGMENT = Box(Periodic(-1.0, 1.0)), Box(Bounded(0.0, 3.0))
STRIP, TORUS = Box(Periodic(-1.0, 1.0), Bounded(0.0, 2.0)), Box(Periodic(-1.0, 1.0), Periodic(0.0, 3.0))


class Cubic(Activation):
    """x + x^3 / 10, a user's own activation."""

    def taylor(self, x, order):
        return [x + 0.1 * x**3, 1 + 0.3 * x**2, 0.3 * x, jnp.full_like(x, 0.1), *[jnp.zeros_like(x)] * order][
            : order + 1
        ]


def make(box, **options):
    return MLP(
        box, INTERVAL, **{"hidden": (4, 3), "harmonics": 2, "dtype": "float64", "key": jax.random.key(1)} | options
    )


def points_in(box):
    return np.array([[0.3, 0.7], [-0.8, 1.9]])[:, : box.dimension] if box.dimension else np.zeros((1, 0))


CASES = {
    "line": (make(LINE), ((0, 4), (1, 1))),
    "segment, sin": (make(SEGMENT, activation="sin"), ((0, 4), (1, 1))),
    "own activation, two outputs": (make(LINE, activation=Cubic(), outputs=2), ((0, 4), (1, 2))),
    "strip": (make(STRIP), ((0, 4, 0), (0, 2, 2), (0, 0, 4), (1, 1, 1))),
    "torus": (make(TORUS), ((0, 4, 0), (0, 2, 2), (0, 0, 4), (1, 1, 1))),
    "ordinary": (make(Box(), outputs=3), ((1,),)),
}


@pytest.mark.parametrize("case", CASES)
def test_jets_equal_nested_autodiff(case):
    network, highest = CASES[case]
    points = points_in(network.embedding.box)
    expected = nested_derivatives(network, TIMES, points, highest)
    jets = eqx.filter_jit(lambda n, p: n.jets(n.plan(TIMES), p, JetSpace.of(expected)))
    result = jets(network, jnp.asarray(points))
    assert set(result) == set(expected)
    assert_jets_agree(result, expected)


def test_scattered_times():
    network = CASES["line"][0]
    times = np.array([[0.5, 1.9], [1.1, 0.6], [2.0, 0.5]])
    expected = nested_derivatives(network, times, points_in(LINE), ((1, 2),))
    jets = eqx.filter_jit(lambda n, t, p: n.jets(n.plan(t), p, JetSpace.of(expected)))
    assert_jets_agree(jets(network, jnp.asarray(times), jnp.asarray(points_in(LINE))), expected)


def test_forward_pass_is_the_papers():
    network = make(LINE)
    y = np.concatenate([[(0.9 - 0.5) / 1.5], paper_features(np.array([0.3]), [-1.0], [1.0], (2,))])
    for layer in network.layers[:-1]:
        y = np.tanh(y @ np.asarray(layer.weight) + np.asarray(layer.bias))
    y = y @ np.asarray(network.layers[-1].weight) + np.asarray(network.layers[-1].bias)
    np.testing.assert_allclose(eqx.filter_jit(network)(0.9, 0.3), y, rtol=1e-13)


def test_initial_weights_are_glorot_normal_with_zero_bias():
    network = make(LINE, hidden=(200, 300))
    layer = network.layers[1]
    assert float(np.std(layer.weight)) == pytest.approx(np.sqrt(2 / 500), rel=0.02)
    assert float(np.abs(layer.bias).max()) == 0
    assert [layer.num_outputs for layer in network.layers] == [200, 300, 1]
    larger = make(LINE, hidden=(200, 300), initial_gain=2.0).layers[1]
    np.testing.assert_array_equal(larger.weight, 2 * layer.weight)
    other = make(LINE, hidden=(200, 300), key=jax.random.key(2))
    assert not np.array_equal(layer.weight, other.layers[1].weight)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": ()}, r"hidden=\(\)"),
        ({"hidden": (3, 0)}, r"hidden=\(3, 0\)"),
        ({"outputs": 0}, "outputs=0"),
        ({"harmonics": 0}, "harmonics=0"),
        ({"dtype": "float16"}, "dtype='float16'"),
        ({"activation": "gelu"}, "activation='gelu'"),
    ],
)
def test_construction_errors(options, message):
    with pytest.raises(ValueError, match=message):
        make(LINE, **options)


@pytest.mark.parametrize(("t", "x"), [(0.9, [0.1, 0.2]), ([0.9, 1.0], 0.1), (0.9, ())])
def test_wrong_shape_of_a_point_is_refused(t, x):
    with pytest.raises(ValueError, match=r"x of shape \(1,\), got"):
        make(LINE)(jnp.asarray(t), jnp.asarray(x))
