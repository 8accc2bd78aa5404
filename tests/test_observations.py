import equinox as eqx
import jax
import numpy as np
import pytest
from small_problems import FreeParticle

from cinnet import KortewegDeVries, Observations, Unknown
from cinnet.config.presets import resolve_settings
from cinnet.storage.files import StorageError
from cinnet.storage.run_folder import describe, described_problem, load_observations, save_observations
from cinnet.training.build import build_network, build_objective, whole_objective
from cinnet.training.points import build_points
from cinnet.training.windows import Window


def test_rows_are_kept_and_checked():
    one = Observations([0.1, 0.2], [0.5, 0.6], [1.0, 2.0], of="u.x", noise=0.1)
    assert one.points.shape == (2, 1)
    assert Observations([0.1], None, [1.0]).points.shape == (1, 0)
    within = one.between(0.15, 1.0)
    np.testing.assert_array_equal(within.values, [2.0])
    assert within.of == "u.x"
    assert one.between(0.5, 1.0) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.1, 0.2], [0.5], [1.0, 2.0]), "n times"),
        (([], [], []), "not a single one"),
        (([0.1], [0.5], [np.nan]), r"values\[0\] is not finite"),
        (([0.1], [0.5], [1.0], "u", -1.0), "noise=-1.0"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Observations(*arguments)


@pytest.mark.parametrize(
    ("observed", "message"),
    [
        (Observations([2.0], [0.5], [1.0]), "t=2.0 lies outside"),
        (Observations([0.5], [0.5], [1.0], of="w"), r"no component 'w', only \['u'\]"),
        (Observations([0.5], [0.5], [1.0], of="u.y"), "no axis 'y'"),
        (Observations([0.5], [[0.5, 0.5]], [1.0]), "1 axes"),
    ],
)
def test_problem_refuses_what_it_cannot_have_given(observed, message):
    with pytest.raises(ValueError, match=message):
        KortewegDeVries(observations=observed)


def test_a_stage_with_a_horizon_sees_the_observations_up_to_it():
    observed = Observations([0.1, 0.4, 0.6, 1.0], np.zeros(4), np.ones(4))
    problem = KortewegDeVries(observations=observed)
    settings = resolve_settings(problem, grid=(4, 8), hidden=(4,), windows=1)
    with jax.enable_x64(True):
        network, points = build_network(problem, settings), build_points(problem, settings)
        interval = problem.interval
        window = Window(0, interval.start, interval.end, problem.initial_values, settings.include_start)
        for horizon, count in ((0.5, 2), (1.0, 4)):
            objective = build_objective(problem, settings, network, window.select(points, horizon), window)
            assert objective.term("observations").num_points == count


def test_mismatch_rows_and_jacobian_are_those_of_the_network():
    """The loss term against the network itself, and its Jacobian against automatic differentiation of the whole."""
    random = np.random.default_rng(0)
    t, x, values = random.uniform(0, 1, 5), random.uniform(-1, 1, 5), random.normal(size=5)
    observed = (Observations(t, x, values), Observations(t[:2], x[:2], values[:2], of="u.x"))
    problem = KortewegDeVries(advection=Unknown(0.5), observations=observed)
    with jax.enable_x64(True):
        settings = resolve_settings(problem, grid=(4, 8), hidden=(4,), dtype="float64", observation_weight=3.0)
        network = build_network(problem, settings)
        objective = whole_objective(problem, settings, network)
        value = eqx.filter_jit(objective.loss)(network)
        parts = value.parts
        predicted = eqx.filter_jit(jax.vmap(lambda a, b: network(a, b)[0]))(t, x)
        slopes = eqx.filter_jit(jax.vmap(jax.grad(lambda b, a: network(a, b)[0])))(x[:2], t[:2])
        np.testing.assert_allclose(parts["observations"], np.mean((predicted - values) ** 2), rtol=1e-10)
        np.testing.assert_allclose(parts["observations 1"], np.mean((slopes - values[:2]) ** 2), rtol=1e-10)
        weights = eqx.filter_jit(objective.row_weights)(network)
        rows, jacobian = eqx.filter_jit(objective.linearize)(network, weights)
        np.testing.assert_allclose(rows, eqx.filter_jit(objective.residuals)(network, weights), rtol=1e-12)
        np.testing.assert_allclose(rows @ rows, value.total, rtol=1e-12)
        gradient = eqx.filter_jit(objective.loss_and_gradient)(network)[1]
        flat = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(gradient)])
        np.testing.assert_allclose(2 * rows @ jacobian, flat, rtol=1e-8, atol=1e-12)


def test_observations_have_no_causal_weight():
    problem = KortewegDeVries(observations=Observations([0.5], [0.0], [1.0]))
    settings = resolve_settings(problem, "causal-pinn", grid=(4, 8), hidden=(4,), windows=1)
    network = build_network(problem, settings)
    objective = whole_objective(problem, settings, network).with_causality(100.0)
    weights = objective.row_weights(network)
    assert weights[-1].shape == (1,)
    assert float(weights[-1][0]) == 1.0
    assert float(weights[1][-1]) < float(weights[1][0])


def test_part_of_a_complex_field():
    with jax.numpy_dtype_promotion("standard"):
        _check_part_of_a_complex_field()


def _check_part_of_a_complex_field():
    problem = FreeParticle(observations=Observations([0.1], [0.2], [1.0], of="psi.imag"))
    asked, equations = problem.required_derivatives(
        problem.on_real_fields(problem.observations[0].operator(problem.components))
    )
    assert equations == 1
    assert asked == {(0, 0)}


def test_run_folder_keeps_them(tmp_path):
    observed = (
        Observations([0.1, 0.2], [0.5, 0.6], [1.0, 2.0], of="u.x", noise=0.1),
        Observations([0.3], [0.1], [3.0]),
    )
    save_observations(tmp_path / "observations.npz", observed)
    read = load_observations(tmp_path / "observations.npz")
    assert [one.digest for one in read] == [one.digest for one in observed]
    assert load_observations(tmp_path / "missing.npz") == ()
    problem = KortewegDeVries(advection=Unknown(0.5, lower=0.0), observations=observed)
    again = described_problem(describe(problem), read)
    assert describe(again) == describe(problem)
    assert again.unknowns == problem.unknowns


def test_damaged_file_is_named(tmp_path):
    path = tmp_path / "observations.npz"
    save_observations(path, (Observations([0.1], [0.5], [1.0]),))
    whole = path.read_bytes()
    np.savez(tmp_path / "other.npz", header=np.zeros(1))
    for content in (b"", whole[: len(whole) // 2], b"\x00" * 100, (tmp_path / "other.npz").read_bytes()):
        path.write_bytes(content)
        with pytest.raises(StorageError, match="damaged"):
            load_observations(path)
