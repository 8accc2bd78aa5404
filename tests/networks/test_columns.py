import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.domains import TimeInterval
from cinnet.history import QUADRATURES, Monomial, TemporalMesh, history_weights
from cinnet.networks.columns import Mixing, TimePlan, pointwise_plan, scattered_plan, shared_plan

MESH = TemporalMesh((1.0, 1.5, 2.0, 3.0))
FLOAT = np.dtype("float64")


def rules(name):
    return [(Monomial(1.0), QUADRATURES[name])]


def test_rows_are_past_nodes_then_other_queries_and_a_query_on_a_node_shares_its_row():
    plan = shared_plan(np.array([1.0, 1.2, 1.5, 2.5]), MESH, rules("left-rectangle"), FLOAT)
    np.testing.assert_allclose(plan.clock[:, 0, 0], (np.array([1.0, 1.5, 2.0, 1.2, 2.5]) - 1.0) / 2.0)
    assert plan.num_nodes == 3
    assert plan.query_rows == (0, 3, 1, 4)


def test_nodes_after_the_last_query_are_left_out():
    plan = shared_plan(np.array([1.2, 1.5]), MESH, rules("left-rectangle"), FLOAT)
    np.testing.assert_allclose(plan.clock[:, 0, 0], (np.array([1.0, 1.2, 1.5]) - 1.0) / 2.0)
    assert plan.num_nodes == 1


def test_a_time_within_rounding_of_a_node_is_that_node():
    plan = shared_plan(np.array([1.5 + 2e-16, 2.5]), MESH, rules("left-rectangle"), FLOAT)
    assert plan.query_rows == (1, 3)
    single = shared_plan(np.array([1.5 + 1e-7, 2.5], np.float32), MESH, rules("left-rectangle"), FLOAT)
    assert single.query_rows == (1, 3)


@pytest.mark.parametrize("rows", [(0, 1, 2, 3), (2,), (0, 2), (3, 1), (1, 1, 0), (0, 1, 3)])
def test_query_rows_come_in_the_order_asked_for(rows):
    plan = TimePlan(jnp.zeros((4, 1, 1)), query_rows=rows, num_nodes=0)
    array = np.arange(8.0).reshape(4, 2)
    np.testing.assert_array_equal(plan.at_queries(jnp.asarray(array)), array[list(rows)])


@pytest.mark.parametrize("name", QUADRATURES)
def test_shared_and_scattered_plans_hold_the_same_weights(name):
    times = np.array([1.0, 1.2, 1.7, 2.7, 3.0])
    shared = shared_plan(times, MESH, rules(name), FLOAT)
    per_column = jnp.asarray(np.stack([times, times[::-1]], axis=1))
    scattered = eqx.filter_jit(lambda t: scattered_plan(t, MESH, rules(name), FLOAT))(per_column)
    assert scattered.clock.shape == (3 + 5, 2, 1)
    features = jax.random.normal(jax.random.key(0), (3, 2, 4))

    def integrals(plan):
        history = plan.histories[0]
        return np.stack([plan.at_queries(history.values(features)), history.rates(features)])

    expected, result = integrals(shared), integrals(scattered)
    assert np.abs(expected[:, 1:]).min() > 1e-6
    np.testing.assert_allclose(result[:, :, 0], expected[:, :, 0], rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(result[:, ::-1, 1], expected[:, :, 1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", QUADRATURES)
def test_weights_are_divided_by_the_duration(name):
    times = np.array([1.2, 2.7])
    plan = shared_plan(times, MESH, rules(name), FLOAT)
    expected = history_weights(jnp.asarray(times), MESH, *rules(name)[0])
    history = plan.histories[0]
    np.testing.assert_allclose(history.values.shared[3:], expected.nodes / 2.0, rtol=1e-14)
    np.testing.assert_allclose(history.rates.shared, expected.nodes_rate / 2.0, rtol=1e-14)
    assert (history.own is None) == (name != "product-linear")
    if history.own is not None:
        np.testing.assert_allclose(history.own.queries[:, 0, 0], expected.own / 2.0, rtol=1e-14)
        np.testing.assert_allclose(history.own.query_rates[:, 0, 0], expected.own_rate / 2.0, rtol=1e-14)


def test_layers_with_equal_rules_share_one_history():
    linear, left = QUADRATURES["product-linear"], QUADRATURES["left-rectangle"]
    different = [(Monomial(2.0), left), (Monomial(2.0), linear), (Monomial(2.0), left)]
    plan = shared_plan(np.array([1.7]), MESH, different, FLOAT)
    assert plan.histories[0] is plan.histories[2]
    assert plan.histories[0] is not plan.histories[1]


def test_mixing_applies_shared_and_scattered_rows():
    generator = np.random.default_rng(0)
    shared, scattered = generator.normal(size=(2, 3)), generator.normal(size=(4, 3, 5))
    features = generator.normal(size=(3, 5, 2))
    mixed = Mixing(jnp.asarray(shared), jnp.asarray(scattered))(jnp.asarray(features))
    assert mixed.shape == (6, 5, 2)
    for column in range(5):
        np.testing.assert_allclose(mixed[:2, column], shared @ features[:, column], rtol=1e-13)
        np.testing.assert_allclose(mixed[2:, column], scattered[:, :, column] @ features[:, column], rtol=1e-13)


def test_pointwise_plan_has_no_history():
    plan = pointwise_plan(np.array([1.0, 2.0, 3.0]), TimeInterval(1.0, 3.0), FLOAT)
    np.testing.assert_allclose(plan.clock[:, 0, 0], [0.0, 0.5, 1.0])
    assert (plan.query_rows, plan.num_nodes, plan.histories) == ((0, 1, 2), 0, ())
