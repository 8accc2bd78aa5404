import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import quadrature_weights

from cinnet.domains import TimeInterval
from cinnet.history import (
    QUADRATURES,
    CustomWeight,
    Exponential,
    Monomial,
    TemporalMesh,
    history_weights,
    per_layer,
    resolve_quadrature,
    resolve_weight,
)

START, END = 0.5, 2.5
MESHES = {"uniform": (0.5, 1.0, 1.5, 2.0, 2.5), "non-uniform": (0.5, 0.6, 1.1, 1.9, 2.5)}
TIMES = np.array([0.5, 0.55, 0.6, 0.93, 1.1, 1.5, 1.72, 2.0, 2.31, 2.5])
BETWEEN = np.array([0.55, 0.93, 1.3, 1.72, 2.31])


def weights_at(times, mesh, weight, rule):
    """History weights at some times, padded to one length so that all tests share compiled operations."""
    padded = jnp.asarray(np.resize(times, 35))
    weights = history_weights(padded, mesh, weight, QUADRATURES[rule])
    return jax.tree.map(lambda w: np.asarray(w)[: len(times)], weights)


def monomial(exponent):
    return Monomial(exponent), lambda t, s: ((t - s) / (END - START)) ** exponent


WEIGHTS = {f"q={q}": monomial(q) for q in (0.0, 0.5, 1.0, 2.0, 3.7)} | {
    "exponential": (Exponential(1.7), lambda t, s: np.exp(-1.7 * (t - s) / (END - START))),
    "function": (CustomWeight(lambda t, s: jnp.cos(3 * t) + t * s), lambda t, s: np.cos(3 * t) + t * s),
}


@pytest.mark.parametrize("mesh", MESHES)
@pytest.mark.parametrize("rule", QUADRATURES)
@pytest.mark.parametrize("name", WEIGHTS)
def test_weights_equal_their_definition(name, rule, mesh):
    weight, function = WEIGHTS[name]
    nodes = np.array(MESHES[mesh])
    result = weights_at(TIMES, TemporalMesh(MESHES[mesh]), weight, rule)
    for row, t in enumerate(TIMES):
        expected, own = quadrature_weights(rule, function, t, nodes)
        np.testing.assert_allclose(result.nodes[row], expected, rtol=1e-11, atol=1e-12)
        np.testing.assert_allclose(result.own[row], own, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("rule", QUADRATURES)
@pytest.mark.parametrize("name", WEIGHTS)
def test_rates_equal_high_order_differences_between_nodes(name, rule):
    step, stencil = 2e-3, np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
    around = BETWEEN[:, None] + step * np.arange(-3, 4)
    mesh = TemporalMesh(MESHES["non-uniform"])
    weights = weights_at(around.ravel(), mesh, WEIGHTS[name][0], rule)
    by_time = {key: np.asarray(value).reshape(*around.shape, -1) for key, value in vars(weights).items()}
    for key in ("nodes", "own"):
        difference = np.einsum("s,tsn->tn", stencil, by_time[key]) / step
        np.testing.assert_allclose(by_time[f"{key}_rate"][:, 3], difference, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("rule", QUADRATURES)
@pytest.mark.parametrize("name", WEIGHTS)
def test_a_time_on_a_node_belongs_to_the_interval_on_its_left(name, rule):
    mesh, tiny = TemporalMesh(MESHES["non-uniform"]), 1e-11
    inner = np.array(mesh.nodes[1:-1])
    times = np.concatenate([inner, inner - tiny, inner + tiny, [START, START + tiny]])
    weights = weights_at(times, mesh, WEIGHTS[name][0], rule)
    rates = np.concatenate([weights.nodes_rate, weights.own_rate[:, None]], axis=1)
    on, before, after = rates[:9].reshape(3, 3, -1)
    np.testing.assert_allclose(on, before, rtol=1e-7, atol=1e-7)
    if rule == "left-rectangle" and name != "q=0.0":
        assert np.abs(on.sum(1) - after.sum(1)).min() > 1e-6
    atol = 1e-5 if name == "q=0.5" else 1e-7  # the rate itself grows like a square root there
    np.testing.assert_allclose(rates[9], rates[10], rtol=1e-7, atol=atol)


def test_left_rectangle_is_effective_length_times_weight():
    mesh = TemporalMesh.uniform(TimeInterval(0.0, 1.0), 4)
    t = 0.6
    nodes, own = QUADRATURES["left-rectangle"](jnp.asarray(t), mesh, Monomial(2.0))
    lengths = np.clip(t - np.array([0.0, 0.25, 0.5, 0.75]), 0.0, 0.25)
    np.testing.assert_allclose(nodes, lengths * np.array([0.6, 0.35, 0.1, 0.0]) ** 2, rtol=1e-14)
    assert own == 0


@pytest.mark.parametrize("t", [0.5, 0.6, 1.7, 2.5])
def test_product_constant_has_a_closed_form_for_the_quadratic_weight(t):
    mesh = TemporalMesh(MESHES["non-uniform"])
    nodes, _ = QUADRATURES["product-constant"](jnp.asarray(t), mesh, Monomial(2.0))
    reach = np.maximum(t - np.array(mesh.nodes), 0.0) ** 3
    np.testing.assert_allclose(nodes, (reach[:-1] - reach[1:]) / (3 * (END - START) ** 2), rtol=1e-13, atol=1e-16)


def test_product_linear_has_a_closed_form_on_the_last_interval():
    mesh = TemporalMesh.uniform(TimeInterval(0.0, 1.0), 4)
    gap = 0.07
    nodes, own = QUADRATURES["product-linear"](jnp.asarray(0.5 + gap), mesh, Monomial(2.0))
    reach = 0.25 + gap
    # The interval before gives node s_2 the integral of (t - s)^2 (s - s_1) / (s_2 - s_1).
    before = (reach * (reach**3 - gap**3) / 3 - (reach**4 - gap**4) / 4) / 0.25
    np.testing.assert_allclose(own, gap**3 / 12, rtol=1e-12)
    np.testing.assert_allclose(nodes[2], gap**3 / 4 + before, rtol=1e-12)
    assert nodes[3] == 0


@pytest.mark.parametrize(("rule", "order"), [("left-rectangle", 1), ("product-constant", 1), ("product-linear", 2)])
@pytest.mark.parametrize("weight", [Monomial(2.0), Monomial(0.5)], ids=["q=2", "q=0.5"])
def test_order_of_accuracy(rule, order, weight):
    interval, t = TimeInterval(0.0, 2.0), 2.0
    counts = np.array([16, 40, 100])

    def feature(s):
        return np.exp(np.sin(2 * s))

    errors = []
    fine_nodes, fine_weights = np.polynomial.legendre.leggauss(400)
    # s = t - 2 v^2 removes the branch point of the non-integer power.
    v = (fine_nodes + 1) / 2
    s = t - 2 * v**2
    exact = np.sum(fine_weights / 2 * 4 * v * np.asarray(weight(jnp.asarray(t), jnp.asarray(s), 2.0)) * feature(s))
    for count in counts:
        mesh = TemporalMesh.uniform(interval, int(count))
        nodes, own = jax.jit(QUADRATURES[rule], static_argnums=(1, 2))(jnp.asarray(t), mesh, weight)
        errors.append(abs(np.asarray(nodes) @ feature(np.array(mesh.nodes[:-1])) + float(own) * feature(t) - exact))
    slope = -np.polyfit(np.log(counts), np.log(errors), 1)[0]
    assert slope == pytest.approx(order, abs=0.12)


INTEGRALS = {
    Monomial(0.0): lambda h, d: h,
    Monomial(0.5): lambda h, d: h**1.5 / 1.5 / d**0.5,
    Monomial(2.0): lambda h, d: h**3 / 3 / d**2,
    Exponential(1.5): lambda h, d: d / 1.5 * -np.expm1(-1.5 * h / d),
}


@st.composite
def meshes_and_times(draw):
    """The nodes of a mesh of one or four intervals and a time on one of its nodes or between two of them."""
    start = draw(st.floats(-3, 3))
    count = draw(st.sampled_from([1, 4]))
    lengths = draw(st.lists(st.floats(0.05, 2.0), min_size=count, max_size=count))
    nodes = np.concatenate([[start], start + np.cumsum(lengths)])
    place = draw(st.integers(0, len(lengths)))
    fraction = draw(st.sampled_from([0.0, 0.001, 0.3, 0.999])) if place < len(lengths) else 0.0
    t = nodes[place] if fraction == 0 else nodes[place] + fraction * lengths[place]
    return tuple(nodes.tolist()), float(t)


@pytest.mark.parametrize("rule", QUADRATURES)
@given(case=meshes_and_times(), weight=st.sampled_from(list(INTEGRALS)))
def test_weights_are_causal_finite_and_complete(rule, case, weight):
    mesh, t = TemporalMesh(case[0]), case[1]
    weights = weights_at(np.array([t]), mesh, weight, rule)
    nodes, rates = weights.nodes[0], weights.nodes_rate[0]
    everything = np.concatenate([nodes, rates, weights.own, weights.own_rate])
    assert np.isfinite(everything).all()

    not_past = np.array(mesh.nodes[:-1]) >= t
    assert (nodes[not_past] == 0).all()
    if t > mesh.nodes[0]:
        assert (rates[not_past] == 0).all()
        assert nodes[0] > 0
    covered, duration = t - mesh.nodes[0], mesh.interval.duration
    if rule != "left-rectangle" or weight == Monomial(0.0):
        total = nodes.sum() + float(weights.own[0])
        np.testing.assert_allclose(total, INTEGRALS[weight](covered, duration), rtol=1e-10, atol=1e-13)
    if rule != "product-linear":
        assert weights.own[0] == 0
        assert weights.own_rate[0] == 0


def test_uniform_mesh_spans_the_interval():
    mesh = TemporalMesh.uniform(TimeInterval(1.0, 3.0), 4)
    assert mesh.nodes == (1.0, 1.5, 2.0, 2.5, 3.0)
    assert (mesh.num_intervals, mesh.interval) == (4, TimeInterval(1.0, 3.0))


def test_names_numbers_and_functions_resolve():
    assert resolve_weight(2) == Monomial(2.0)
    assert resolve_weight(Exponential(0.5)) == Exponential(0.5)
    assert isinstance(resolve_weight(lambda t, s: t - s), CustomWeight)
    assert resolve_quadrature("product-linear") is QUADRATURES["product-linear"]
    assert resolve_quadrature(QUADRATURES["left-rectangle"]) is QUADRATURES["left-rectangle"]
    assert per_layer([1, 2], 2, resolve_weight, "temporal_weight") == (Monomial(1.0), Monomial(2.0))
    assert per_layer("left-rectangle", 2, resolve_quadrature, "quadrature") == (QUADRATURES["left-rectangle"],) * 2


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: TemporalMesh((0.0, 0.5, 0.5, 1.0)), ValueError, r"nodes=\[0.0, 0.5, 0.5, 1.0\].*increasing"),
        (lambda: TemporalMesh((0.0, float("nan"))), ValueError, "nodes=.*nan.*finite"),
        (lambda: TemporalMesh((0.0,)), ValueError, r"nodes has shape \(1,\)"),
        (lambda: TemporalMesh.uniform(TimeInterval(0.0, 1.0), 0), ValueError, "num_mesh_intervals=0"),
        (lambda: Monomial(-1.0), ValueError, r"exponent=-1.0"),
        (lambda: Monomial(float("nan")), ValueError, r"exponent=nan"),
        (lambda: resolve_quadrature("simpson"), ValueError, "quadrature='simpson'.*left-rectangle"),
        (lambda: resolve_weight("2"), TypeError, "temporal_weight.*2|weight"),
        (
            lambda: per_layer([2.0], 3, resolve_weight, "temporal_weight"),
            ValueError,
            "temporal_weight has 1 .* 3 layers",
        ),
    ],
)
def test_history_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
