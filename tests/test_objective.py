import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from oracles import nested_derivatives

from cinnet.conditions import BoundaryCondition
from cinnet.domains import Bounded, Box, Periodic, TimeInterval
from cinnet.jets import Activation
from cinnet.networks import MLP, CinNet
from cinnet.objective.objective import LossWeights, Objective
from cinnet.problems import AllenCahn, EvolutionProblem
from cinnet.sampling import TrainingPoints, uniform_grid

PROBLEM = AllenCahn(diffusivity=0.05)
WEIGHTS = LossWeights(residual=2.0, initial=30.0, boundary=7.0)
EPSILON = 0.3


def small_mlp(problem, outputs=1):
    return MLP(
        problem.box, problem.interval, hidden=(3,), harmonics=1, outputs=outputs, dtype="float64", key=jax.random.key(4)
    )


def small_cinnet(problem):
    return CinNet(
        problem.box,
        problem.interval,
        hidden=(3,),
        harmonics=1,
        num_mesh_intervals=2,
        quadrature="product-linear",
        dtype="float64",
        key=jax.random.key(4),
    )


NETWORKS = {"mlp": small_mlp, "cinnet": small_cinnet}


def grid(include_start=True, num_points=5):
    return uniform_grid(PROBLEM.interval, PROBLEM.box, 3, num_points, include_start)


def levels_by_hand(network, points):
    """L_ic and the L_res(t_i) of Eq. temporal_residual_loss for the Allen-Cahn problem, by nested autodiff."""
    times = np.concatenate([[0.0], points.times])
    at = {i: v[..., 0] for i, v in nested_derivatives(network, times, points.points, ((0, 2), (1, 0))).items()}
    residual = at[1, 0] - 0.05 * at[0, 2] + 5.0 * (at[0, 0] ** 3 - at[0, 0])
    x = points.points[:, 0]
    return jnp.mean((at[0, 0][0] - x**2 * np.cos(np.pi * x)) ** 2), jnp.mean(residual[1:] ** 2, axis=1)


def causal_by_hand(initial, residual, with_start):
    """Eqs. temporal_loss, temporal_weights and causal_loss; a residual at t0 joins the first level."""
    levels = [30.0 * float(initial)] + [2.0 * float(level) for level in residual[1 if with_start else 0 :]]
    if with_start:
        levels[0] += 2.0 * float(residual[0])
    weights = [np.exp(-EPSILON * sum(levels[:i])) for i in range(len(levels))]
    return np.array(weights), sum(w * level for w, level in zip(weights, levels, strict=True)) / len(levels)


def objective_for(network, points=None, causality=None, **options):
    return Objective(PROBLEM, network, points or grid(), weights=WEIGHTS, causality=causality, **options)


def value_of(objective, network):
    return eqx.filter_jit(objective.loss)(network)


def assert_gradients_agree(result, expected, relative=1e-10):
    result, expected = jax.tree.leaves(result), jax.tree.leaves(expected)
    assert len(result) == len(expected) > 0
    for a, b in zip(result, expected, strict=True):
        assert np.abs(b).max() > 0
        np.testing.assert_allclose(a, b, rtol=relative, atol=relative * np.abs(b).max())


class Linear(Activation):
    """x itself, which makes a network a function that can be written down."""

    def taylor(self, x, order):
        return [x, jnp.ones_like(x), *[jnp.zeros_like(x)] * order][: order + 1]


class Held(EvolutionProblem):
    """u_t + u = 0, with the value held at one end and the slope at the other."""

    space = Bounded(0.0, 2.0)
    boundary = (
        BoundaryCondition("x", "lower"),
        BoundaryCondition("x", "upper", operator=lambda u, t, x: u.x, value=1.0),
    )

    def residual(self, u, t, x):
        return u.t + u

    def initial(self, x):
        return x


HELD_POINTS = TrainingPoints(np.array([0.0, 0.25, 1.0]), np.array([[0.0], [0.5], [2.0]]))
# Of u = 2 t - x / 2 + 1, by hand: the mean square of every term at every time.
HELD_LEVELS = {
    "residual": [np.mean([(3 + 2 * t - x / 2) ** 2 for x in (0.0, 0.5, 2.0)]) for t in (0.0, 0.25, 1.0)],
    "initial": [np.mean([(1 - 1.5 * x) ** 2 for x in (0.0, 0.5, 2.0)])],
    "boundary x lower": [(2 * t + 1) ** 2 for t in (0.0, 0.25, 1.0)],
    "boundary x upper": [1.5**2] * 3,
}


@pytest.fixture(scope="module")
def held_network():
    """u = 2 t - x / 2 + 1; the network's own coordinate of x is x - 1."""
    network = MLP(Held().box, Held().interval, hidden=(1,), activation=Linear(), dtype="float64", key=jax.random.key(0))
    first, last = network.layers
    weights = [jnp.array([[2.0], [-0.5]]), jnp.array([0.5]), jnp.array([[1.0]]), jnp.array([0.0])]
    where = lambda n: [w for layer in n.layers for w in (layer.weight, layer.bias)]  # noqa: E731
    assert [first.weight.shape, last.weight.shape] == [(2, 1), (1, 1)]
    return eqx.tree_at(where, network, weights)


def test_every_term_is_a_mean_square_in_closed_form(held_network):
    value = value_of(Objective(Held(), held_network, HELD_POINTS, weights=WEIGHTS), held_network)
    assert set(value.parts) == set(HELD_LEVELS)
    for name, levels in HELD_LEVELS.items():
        np.testing.assert_allclose(value.parts[name], np.mean(levels), rtol=1e-13)


@pytest.mark.parametrize(
    "weights", [LossWeights(2.0, 30.0, 7.0), LossWeights(1.0, 0.0, 0.0), LossWeights(0.0, 3.0, 0.5)]
)
def test_loss_is_the_weighted_sum_of_its_terms(held_network, weights):
    value = value_of(Objective(Held(), held_network, HELD_POINTS, weights=weights), held_network)
    factors = {"residual": weights.residual, "initial": weights.initial}
    expected = sum(factors.get(name, weights.boundary) * np.mean(levels) for name, levels in HELD_LEVELS.items())
    np.testing.assert_allclose(value.total, expected, rtol=1e-13)


def test_causal_weights_are_exponentials_of_the_loss_before(held_network):
    """w_i = exp(-epsilon * sum of L(t_j) over j < i), by loops; the loss is the mean of w_i L(t_i)."""
    epsilon = 0.01
    objective = Objective(Held(), held_network, HELD_POINTS, weights=WEIGHTS, causality=epsilon)
    value = value_of(objective, held_network)
    levels = []
    for i in range(3):
        level = 2.0 * HELD_LEVELS["residual"][i]
        level += 7.0 * (HELD_LEVELS["boundary x lower"][i] + HELD_LEVELS["boundary x upper"][i])
        level += 30.0 * HELD_LEVELS["initial"][0] if i == 0 else 0.0
        levels.append(level)
    weights = []
    for i in range(3):
        before = 0.0
        for j in range(i):
            before += levels[j]
        weights.append(np.exp(-epsilon * before))
    assert weights[0] == 1.0 > weights[1] > weights[2] > 0.01
    np.testing.assert_allclose(value.causal_weights, weights, rtol=1e-13)
    np.testing.assert_allclose(value.total, np.mean(np.array(weights) * levels), rtol=1e-13)


@pytest.mark.parametrize(("kind", "include_start"), [("mlp", True), ("mlp", False), ("cinnet", False)])
def test_loss_is_the_papers(kind, include_start):
    network, points = NETWORKS[kind](PROBLEM), grid(include_start)
    initial, residual = levels_by_hand(network, points)

    plain, causal = objective_for(network, points), objective_for(network, points, EPSILON)
    value, causal_value = eqx.filter_jit(lambda n: (plain.loss(n), causal.loss(n)))(network)
    np.testing.assert_allclose(value.total, 2.0 * residual.mean() + 30.0 * initial, rtol=1e-11)
    np.testing.assert_allclose(value.parts["initial"], initial, rtol=1e-11)
    np.testing.assert_allclose(value.parts["residual"], residual.mean(), rtol=1e-11)
    assert value.causal_weights is None

    weights, total = causal_by_hand(initial, residual, include_start)
    assert causal_value.causal_weights.shape == (4,)
    np.testing.assert_allclose(causal_value.causal_weights, weights, rtol=1e-11)
    np.testing.assert_allclose(causal_value.total, total, rtol=1e-11)


def test_default_weights_are_the_papers():
    assert dataclasses.astuple(LossWeights())[:2] == (1.0, 100.0)


@pytest.mark.parametrize(
    ("causality", "include_start", "memory_limit"),  # every pair of choices
    [(None, True, None), (None, False, 5000), (EPSILON, True, 5000), (EPSILON, False, None)],
)
def test_sum_of_squares_of_the_vector_is_the_loss(causality, include_start, memory_limit):
    network = small_mlp(PROBLEM)
    objective = objective_for(network, grid(include_start), causality, memory_limit=memory_limit)
    vector, value = eqx.filter_jit(lambda n: (objective.residual_vector(n), objective.loss(n)))(network)
    levels = 4 if include_start else 3
    assert vector.shape == (5 + 5 * levels,)
    np.testing.assert_allclose(vector @ vector, value.total, rtol=1e-12)


@pytest.mark.parametrize("memory_limit", [None, 5000])
def test_vector_rows_are_weighted_residuals_column_after_column(memory_limit):
    network, points = small_mlp(PROBLEM), grid()
    at = {i: v[..., 0] for i, v in nested_derivatives(network, points.times, points.points, ((0, 2), (1, 0))).items()}
    residual = at[1, 0] - 0.05 * at[0, 2] + 5.0 * (at[0, 0] ** 3 - at[0, 0])
    vector = eqx.filter_jit(objective_for(network, memory_limit=memory_limit).residual_vector)(network)
    expected = np.sqrt(2.0 / residual.size) * np.asarray(residual).T.ravel()
    np.testing.assert_allclose(vector[5:], expected, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("memory_limit", [None, 5000])
def test_linearization_is_the_jacobian_with_frozen_weights(memory_limit):
    network = small_mlp(PROBLEM)
    objective = objective_for(network, causality=EPSILON, memory_limit=memory_limit)
    flat, unravel = ravel_pytree(eqx.filter(network, eqx.is_inexact_array))
    static = eqx.filter(network, eqx.is_inexact_array, inverse=True)

    @eqx.filter_jit
    def everything(flat):
        network = eqx.combine(unravel(flat), static)
        weights = jax.lax.stop_gradient(objective.row_weights(network))
        expected = jax.jacfwd(lambda f: objective.residuals(eqx.combine(unravel(f), static), weights))(flat)
        total = objective.weighted_loss(network, weights)
        return *objective.linearize(network, weights), expected, objective.residual_vector(network), total

    vector, jacobian, expected, residual_vector, total = everything(flat)
    assert jacobian.shape == (25, flat.size)
    assert np.abs(expected).max() > 0.1
    np.testing.assert_allclose(jacobian, expected, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(vector, residual_vector, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(total, vector @ vector, rtol=1e-12)


def test_linearization_by_columns_refuses_an_engine_that_couples_them():
    network = small_mlp(PROBLEM)
    objective = objective_for(network, engine="spectral")
    with pytest.raises(ValueError, match=r"spectral engine couples all columns.*engine='jets'"):
        objective.linearize(network, objective.row_weights(network))


@pytest.mark.parametrize(("kind", "causality"), [("mlp", None), ("cinnet", EPSILON)])
def test_gradient_is_that_of_the_loss_in_one_chunk_and_in_many(kind, causality):
    network = NETWORKS[kind](PROBLEM)
    one = objective_for(network, causality=causality)
    limit = {"mlp": 10_000, "cinnet": 11_000}[kind]
    many = objective_for(network, causality=causality, memory_limit=limit)
    assert one.terms[1].chunks.shape[0] == 1
    assert many.terms[1].chunks.shape == (3, 2, 1)  # one column of six is padding
    np.testing.assert_allclose(many.terms[1].shares.ravel(), [0.2] * 5 + [0.0], rtol=1e-6)

    @eqx.filter_jit
    def everything(network):
        plain = eqx.filter_grad(lambda n: one.loss(n).total)(network)
        checkpointed = eqx.filter_grad(lambda n: many.loss(n).total)(network)
        return plain, checkpointed, one.loss_and_gradient(network), many.loss_and_gradient(network)

    plain, checkpointed, (one_value, one_gradient), (many_value, many_gradient) = everything(network)
    assert_gradients_agree(checkpointed, plain)
    assert_gradients_agree(one_gradient, plain)
    assert_gradients_agree(many_gradient, plain)
    for a, b in zip(jax.tree.leaves(many_value), jax.tree.leaves(one_value), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_causal_weights_are_not_differentiated():
    network, points = small_mlp(PROBLEM), grid(include_start=False)
    objective = objective_for(network, points, EPSILON)
    frozen = np.asarray(eqx.filter_jit(objective.causal_weights)(network))
    assert frozen.min() < 0.5

    def with_frozen_weights(network):
        initial, residual = levels_by_hand(network, points)
        return frozen @ jnp.concatenate([30.0 * initial[None], 2.0 * residual]) / 4

    @eqx.filter_jit
    def gradients(network):
        by_vector = eqx.filter_grad(lambda n: jnp.sum(objective.residual_vector(n) ** 2))(network)
        return eqx.filter_grad(with_frozen_weights)(network), objective.loss_and_gradient(network)[1], by_vector

    expected, gradient, by_vector = gradients(network)
    assert_gradients_agree(gradient, expected)
    assert_gradients_agree(by_vector, expected)


@pytest.mark.parametrize("engine", ["nested", "spectral"])
def test_other_engines_give_the_same_loss_on_a_resolved_function(engine):
    network, points = small_mlp(PROBLEM), grid(num_points=32)
    jets = value_of(objective_for(network, points), network).total
    other = value_of(objective_for(network, points, engine=engine, memory_limit=10**6), network).total
    np.testing.assert_allclose(other, jets, rtol=1e-8)


@pytest.mark.parametrize(("kind", "causality"), [("mlp", None), ("cinnet", EPSILON)])
def test_changing_parameters_do_not_compile_again(kind, causality):
    network = NETWORKS[kind](PROBLEM)
    objective = objective_for(network, causality=causality, memory_limit=11_000)
    traces = []

    @eqx.filter_jit
    def step(objective, network):
        traces.append(1)
        value, gradient = objective.loss_and_gradient(network)
        return value.total, eqx.apply_updates(network, jax.tree.map(lambda g: -1e-3 * g, gradient))

    totals = []
    for _ in range(4):
        total, network = step(objective, network)
        totals.append(float(total))
    assert len(traces) == 1
    assert len(set(totals)) == 4


class Heat(EvolutionProblem):
    """u_t = u_xx between a moving Dirichlet end and a Neumann end."""

    time = (1.0, 2.0)
    space = Bounded(0.0, 2.0)
    boundary = (
        BoundaryCondition("x", "lower", value=lambda t, x: jnp.sin(t)),
        BoundaryCondition("x", "upper", operator=lambda u, t, x: u.x, value=lambda t, x: 0.5 * t + x),
    )

    def residual(self, u, t, x):
        return u.t - u.xx

    def initial(self, x):
        return jnp.cos(x)


def test_soft_boundary_conditions():
    problem = Heat()
    network = small_mlp(problem)
    points = uniform_grid(problem.interval, problem.box, 2, 4)
    times, x = points.times, points.points[:, 0]
    at = {i: v[..., 0] for i, v in nested_derivatives(network, times, points.points, ((0, 2), (1, 0))).items()}
    residual = jnp.mean((at[1, 0] - at[0, 2]) ** 2, axis=1)
    initial = jnp.mean((at[0, 0][0] - np.cos(x)) ** 2)
    lower = (at[0, 0][:, 0] - np.sin(times)) ** 2
    upper = (at[0, 1][:, -1] - (0.5 * times + 2.0)) ** 2

    plain = Objective(problem, network, points, weights=WEIGHTS)
    causal = Objective(problem, network, points, weights=WEIGHTS, causality=EPSILON)
    value, total, vector = eqx.filter_jit(lambda n: (plain.loss(n), causal.loss(n).total, causal.residual_vector(n)))(
        network
    )
    np.testing.assert_allclose(value.parts["boundary x lower"], lower.mean(), rtol=1e-11)
    np.testing.assert_allclose(value.parts["boundary x upper"], upper.mean(), rtol=1e-11)
    expected = 2 * residual.mean() + 30 * initial + 7 * (lower.mean() + upper.mean())
    np.testing.assert_allclose(value.total, expected, rtol=1e-11)

    levels = np.array(2 * residual + 7 * (lower + upper))
    levels[0] += 30 * initial
    weights = np.exp(-EPSILON * np.concatenate([[0.0], np.cumsum(levels)[:-1]]))
    np.testing.assert_allclose(total, weights @ levels / 3, rtol=1e-11)
    np.testing.assert_allclose(vector @ vector, weights @ levels / 3, rtol=1e-11)


class Waves(EvolutionProblem):
    """u_t = v_x, v_t = u_x."""

    space = Periodic(0.0, 1.0)
    components = ("u", "v")

    def residual(self, u, v, t, x):
        return u.t - v.x, v.t - u.x

    def initial(self, x):
        return jnp.sin(2 * jnp.pi * x), 0.0 * x


def test_a_system_sums_the_squares_of_its_equations():
    problem = Waves()
    network = small_mlp(problem, outputs=2)
    points = uniform_grid(problem.interval, problem.box, 2, 4)
    at = nested_derivatives(network, points.times, points.points, ((0, 1), (1, 0)))
    first, second = at[1, 0][..., 0] - at[0, 1][..., 1], at[1, 0][..., 1] - at[0, 1][..., 0]
    value = value_of(Objective(problem, network, points), network)
    np.testing.assert_allclose(value.parts["residual"], jnp.mean(first**2 + second**2), rtol=1e-11)
    start = at[0, 0][0] - np.stack([np.sin(2 * np.pi * points.points[:, 0]), np.zeros(4)], axis=1)
    np.testing.assert_allclose(value.parts["initial"], jnp.mean(jnp.sum(start**2, axis=1)), rtol=1e-11)


def test_a_first_level_close_to_a_late_start_is_not_the_start():
    class Late(AllenCahn):
        time = (100.0, 100.01)

    problem = Late()
    network = small_mlp(problem)
    points = uniform_grid(problem.interval, problem.box, 4, 3, include_start=False)
    value = value_of(Objective(problem, network, points, causality=EPSILON), network)
    assert value.causal_weights.shape == (5,)


@pytest.mark.parametrize("name", ["residual", "initial", "boundary"])
@pytest.mark.parametrize("value", [-1.0, float("nan"), float("inf")])
def test_negative_weights_are_refused(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}"):
        LossWeights(**{name: value})


def other_network(box=PROBLEM.box, interval=PROBLEM.interval, outputs=1):
    return MLP(box, interval, hidden=(3,), harmonics=1, outputs=outputs, dtype="float64", key=jax.random.key(0))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda n: objective_for(n, causality=0.0), "causality=0.0.*positive"),
        (lambda n: objective_for(n, causality=-2.0), "causality=-2.0"),
        (lambda n: objective_for(n, causality=float("nan")), "causality=nan"),
        (lambda n: objective_for(n, memory_limit=0), "memory_limit=0"),
        (lambda n: objective_for(n, memory_limit=10), "memory_limit=10 bytes is below the [0-9]+"),
        (lambda n: objective_for(n, engine="magic"), "engine='magic'"),
        (
            lambda n: objective_for(n, TrainingPoints(np.array([0.0, 1.5]), np.zeros((1, 1)))),
            r"times=1.5 .*\[0.0, 1.0\]",
        ),
        (lambda n: objective_for(n, TrainingPoints(np.array([0.0]), np.zeros((1, 2)))), r"points has shape \(1, 2\)"),
        (
            lambda n: objective_for(n, TrainingPoints(np.array([0.5, 0.2]), np.zeros((1, 1))), EPSILON),
            r"times=\[0.5, 0.2\].*increas",
        ),
        (lambda n: objective_for(other_network(box=Box(Periodic(0.0, 1.0)))), "network was built for.*AllenCahn"),
        (lambda n: objective_for(other_network(interval=TimeInterval(0.0, 2.0))), "network was built for.*2.0"),
        (lambda n: objective_for(other_network(outputs=2)), r"2 output\(s\).*AllenCahn.*\('u',\)"),
    ],
)
def test_objective_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make(small_mlp(PROBLEM))
