import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import assert_jets_agree, cinnet_by_loops, nested_derivatives, paper_features

from cinnet.domains import Bounded, Box, Periodic, TimeInterval
from cinnet.history import QUADRATURES, Exponential, TemporalMesh
from cinnet.jets import Activation, JetSpace
from cinnet.networks import MLP, CinNet

INTERVAL = TimeInterval(0.5, 2.0)
LINE = Box(Periodic(-1.0, 1.0))
STRIP, TORUS = Box(Periodic(-1.0, 1.0), Bounded(0.0, 2.0)), Box(Periodic(-1.0, 1.0), Periodic(0.0, 3.0))
NODES = (0.5, 1.0, 1.5, 2.0)
UNEVEN = (0.5, 0.7, 1.4, 2.0)
TIMES = np.array([0.5, 0.8, 1.0, 1.83, 2.0])


class Quadratic(Activation):
    """x + x^2 / 5, a user's own activation."""

    def taylor(self, x, order):
        return [x + 0.2 * x**2, 1 + 0.4 * x, jnp.full_like(x, 0.2), *[jnp.zeros_like(x)] * order][: order + 1]


def make(box=LINE, **options):
    """A tiny network whose biases and gates are not the zeros they start as."""
    defaults = {"hidden": (4, 3), "harmonics": 2, "dtype": "float64", "key": jax.random.key(1)}
    if "mesh" not in options:
        defaults["num_mesh_intervals"] = 3
    network = CinNet(box, INTERVAL, **defaults | options)
    leaves, structure = jax.tree.flatten(network)
    generator = np.random.default_rng(3)
    leaves = [leaf if leaf.ndim == 2 else jnp.asarray(generator.normal(size=leaf.shape), leaf.dtype) for leaf in leaves]
    return jax.tree.unflatten(structure, leaves)


def points_in(box):
    return np.array([[0.3, 0.7], [-0.8, 1.9]])[:, : box.dimension] if box.dimension else np.zeros((2, 0))


def jets_of(network, times, points, wanted):
    evaluate = eqx.filter_jit(lambda n, p: n.jets(n.plan(times), p, JetSpace.of(wanted)))
    return evaluate(network, jnp.asarray(points))


SECOND_ORDER = ((0, 2), (1, 1))
WIDTHS = {"left-rectangle": (3,), "product-constant": (3,), "product-linear": (4, 3)}
CASES = {rule: (functools.partial(make, quadrature=rule, hidden=WIDTHS[rule]), ((0, 4), (1, 1))) for rule in WIDTHS}
CASES |= {
    "plane": (
        functools.partial(make, TORUS, harmonics=1, quadrature="product-constant", hidden=(3,)),
        ((0, 2, 0), (0, 1, 1), (0, 0, 2), (1, 0, 0)),
    ),
    "sin, two outputs": (functools.partial(make, activation="sin", outputs=2, hidden=(3,)), SECOND_ORDER),
    "own activation, fixed gate": (
        functools.partial(make, activation=Quadratic(), gate="fixed", hidden=(3,)),
        SECOND_ORDER,
    ),
    "another rule and weight in each layer": (
        functools.partial(
            make, quadrature=list(QUADRATURES), temporal_weight=[0.0, Exponential(2.0), lambda t, s: t * s]
        ),
        SECOND_ORDER,
    ),
    "exponent 0.5, uneven mesh": (
        functools.partial(make, quadrature="product-linear", temporal_weight=0.5, mesh=UNEVEN, hidden=(3,)),
        SECOND_ORDER,
    ),
    "exponent 3.7": (
        functools.partial(make, quadrature="product-constant", temporal_weight=3.7, hidden=(3,)),
        SECOND_ORDER,
    ),
    "ordinary": (functools.partial(make, Box(), outputs=2, quadrature="product-linear", hidden=(3,)), ((1,),)),
    "torus": (functools.partial(make, TORUS, harmonics=1, hidden=(3,)), ((0, 4, 0), (0, 2, 2), (0, 0, 4), (1, 1, 0))),
    "strip": (
        functools.partial(make, STRIP, quadrature="product-linear", hidden=(3,), temporal_weight=1.0),
        ((0, 4, 0), (0, 2, 2), (0, 0, 4), (1, 0, 1)),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_jets_equal_nested_autodiff(case):
    build, highest = CASES[case]
    network = build()
    points = points_in(network.embedding.box)
    expected = nested_derivatives(network, TIMES, points, highest)
    shared = jets_of(network, TIMES, points, expected)
    assert set(shared) == set(expected)
    assert_jets_agree(shared, expected)
    if network.embedding.box.dimension < 2:
        each_column = jnp.asarray(np.stack([TIMES, TIMES], axis=1))
        low_orders = [index for index in expected if sum(index) <= 2]  # higher ones do not see the plan
        scattered = eqx.filter_jit(lambda n, t, p: n.jets(n.plan(t), p, JetSpace.of(low_orders)))
        assert_jets_agree(scattered(network, each_column, jnp.asarray(points)), expected)


def test_scattered_times_differ_between_columns():
    network = make(quadrature="product-linear")
    times = np.array([[0.5, 1.9], [1.1, 0.6], [2.0, 1.0]])
    expected = nested_derivatives(network, times, points_in(LINE), ((1, 1),))
    assert_jets_agree(jets_of(network, jnp.asarray(times), points_in(LINE), expected), expected)


@pytest.mark.parametrize("rule", QUADRATURES)
def test_time_derivative_at_the_initial_time_alone(rule):
    """dI/dt at t0 is A(t0, t0) V(t0), which is not zero for a constant weight."""
    network = make(quadrature=rule, temporal_weight=0.0, hidden=(3,))
    start = np.array([0.5])
    expected = nested_derivatives(network, start, points_in(LINE), ((1, 0),))
    assert_jets_agree(jets_of(network, start, points_in(LINE), expected), expected)


FIRST_ORDER = [(0, 1), (1, 0)]


@pytest.fixture(scope="module")
def jets_in_order():
    return jets_of(make(), np.array([0.5, 1.0, 1.3, 1.5, 2.0]), points_in(LINE), FIRST_ORDER)


@pytest.mark.parametrize("times", [[1.3], [1.0, 0.5, 1.3, 1.3], [2.0, 1.5, 1.0, 0.5]])
def test_times_in_any_order_and_number(times, jets_in_order):
    result = jets_of(make(), np.array(times), points_in(LINE), FIRST_ORDER)
    for index, value in result.items():
        expected = jets_in_order[index][np.searchsorted([0.5, 1.0, 1.3, 1.5, 2.0], times)]
        np.testing.assert_allclose(value, expected, rtol=1e-12)


@pytest.mark.parametrize("rule", QUADRATURES)
@pytest.mark.parametrize("mesh", [NODES, UNEVEN], ids=["uniform", "uneven"])
def test_forward_pass_equals_explicit_loops(rule, mesh):
    network = make(mesh=mesh, quadrature=rule)
    names = {"W_F": "local_weight", "b_F": "local_bias", "W_V": "history_weight", "b_V": "history_bias", "eta": "gate"}
    layers = [{key: np.asarray(getattr(layer, name)) for key, name in names.items()} for layer in network.layers]
    evaluate = eqx.filter_jit(network)
    for t in TIMES:
        features = paper_features(np.array([0.3]), [-1.0], [1.0], (2,))
        expected = cinnet_by_loops(
            layers, features, np.array(mesh), rule, lambda t, s: ((t - s) / 1.5) ** 2, np.tanh, t
        )
        np.testing.assert_allclose(evaluate(jnp.asarray(t), jnp.array([0.3])), expected, rtol=1e-11)


@pytest.mark.parametrize("rule", QUADRATURES)
def test_nothing_depends_on_what_comes_later(rule):
    network = make(quadrature=rule, temporal_weight=1.0)
    queries = np.array([0.5, 0.8, 1.0, 1.3, 1.5, 1.9])
    plan = network.plan(queries)
    rows = 0.5 + 1.5 * np.asarray(plan.clock)[:, 0, 0]

    @jax.jit
    def sensitivity(clock):
        def outputs(clock):
            moved = eqx.tree_at(lambda p: p.clock, plan, clock)
            jets = network.jets(moved, jnp.array([[0.3]]), JetSpace.of([(0, 0), (1, 0), (0, 2)]))
            return jnp.stack(list(jets.values()))[..., 0, 0]

        return jax.jacrev(outputs)(clock)[..., 0, 0]

    result = np.asarray(sensitivity(plan.clock))
    assert result.shape == (3, len(queries), len(rows))
    for query, t in enumerate(queries):
        for row, s in enumerate(rows):
            if s > t + 1e-12:
                assert (result[:, query, row] == 0).all(), f"output at {t} depends on {s}"
            elif row < plan.num_nodes or abs(s - t) < 1e-12:
                assert (result[:, query, row] != 0).all(), f"output at {t} does not depend on {s}"


def test_open_gates_give_the_multilayer_perceptron_and_ignore_history():
    network = make(quadrature="product-linear")
    gates = lambda n: [layer.gate for layer in n.layers]  # noqa: E731
    network = eqx.tree_at(gates, network, [jnp.full_like(gate, jnp.inf) for gate in gates(network)])
    plain = MLP(LINE, INTERVAL, hidden=(4, 3), harmonics=2, dtype="float64", key=jax.random.key(0))
    weights = lambda n: [w for layer in n.layers for w in (layer.weight, layer.bias)]  # noqa: E731
    local = [w for layer in network.layers for w in (layer.local_weight, layer.local_bias)]
    plain = eqx.tree_at(weights, plain, local)
    wanted = [(0, 0), (0, 2), (1, 0), (1, 1)]
    expected = jets_of(plain, TIMES, points_in(LINE), wanted)
    assert_jets_agree(jets_of(network, TIMES, points_in(LINE), wanted), expected, 1e-13)
    at_a_point = [eqx.filter_jit(n)(0.8, 0.3) for n in (network, plain)]
    np.testing.assert_allclose(*at_a_point, rtol=1e-13)


def test_initial_gain_of_two_makes_up_for_the_gates():
    options = {"num_mesh_intervals": 3, "hidden": (4, 3), "dtype": "float64", "key": jax.random.key(1)}
    plain, larger = CinNet(LINE, INTERVAL, **options), CinNet(LINE, INTERVAL, initial_gain=2.0, **options)
    for before, after in zip(plain.layers, larger.layers, strict=True):
        np.testing.assert_allclose(after.gated[0], before.local_weight)
        np.testing.assert_array_equal(after.history_weight, before.history_weight)


def test_fixed_gate_is_one_half():
    learnable = CinNet(LINE, INTERVAL, hidden=(4, 3), num_mesh_intervals=3, dtype="float64", key=jax.random.key(5))
    fixed = CinNet(
        LINE, INTERVAL, hidden=(4, 3), num_mesh_intervals=3, gate="fixed", dtype="float64", key=jax.random.key(5)
    )
    assert all(layer.gate is None for layer in fixed.layers)
    assert all((layer.gate == 0).all() for layer in learnable.layers)
    for gate, share in ((0.0, 0.5), (2.0, 1 / (1 + np.exp(-2)))):
        layer = eqx.tree_at(lambda one: one.gate, learnable.layers[0], jnp.full(4, gate))
        np.testing.assert_allclose(jnp.stack(layer.openness), np.stack([np.full(4, share), np.full(4, 1 - share)]))
    np.testing.assert_array_equal(eqx.filter_jit(learnable)(1.3, 0.3), eqx.filter_jit(fixed)(1.3, 0.3))


def test_values_and_derivatives_are_periodic():
    result = jets_of(make(), TIMES, np.array([[-1.0], [1.0]]), [(0, 0), (0, 1), (0, 2), (1, 0)])
    for value in result.values():
        np.testing.assert_allclose(value[:, 0], value[:, 1], rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_mesh_intervals": 0}, "num_mesh_intervals=0"),
        ({"num_mesh_intervals": None}, "mesh=None and num_mesh_intervals=None"),
        ({"mesh": NODES, "num_mesh_intervals": 3}, "num_mesh_intervals=3.*exactly one"),
        ({"mesh": (0.0, 1.0, 2.0)}, r"mesh runs from 0.0 to 2.0.*\[0.5, 2.0\]"),
        ({"mesh": (0.5, 0.5, 2.0)}, "nodes=.*increasing"),
        ({"gate": "open"}, "gate='open'"),
        ({"quadrature": "simpson"}, "quadrature='simpson'"),
        ({"temporal_weight": -1.0}, "exponent=-1.0"),
        ({"temporal_weight": [2.0, 2.0]}, "temporal_weight has 2 entries for 3 layers"),
        ({"quadrature": ["left-rectangle"]}, "quadrature has 1 entries for 3 layers"),
        ({"hidden": ()}, r"hidden=\(\)"),
    ],
)
def test_construction_errors(options, message):
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_mesh_may_be_given_as_an_object_and_the_span_is_compared_with_the_duration():
    assert make(mesh=TemporalMesh(UNEVEN)).mesh.nodes == UNEVEN
    short = TimeInterval(0.0, 1e-9)
    with pytest.raises(ValueError, match=r"mesh runs from 0.0 to 5e-09"):
        CinNet(LINE, short, mesh=(0.0, 5e-9), key=jax.random.key(0))
