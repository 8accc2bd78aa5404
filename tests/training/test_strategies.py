import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree
from small_problems import Decay

import cinnet
from cinnet.config.presets import resolve_settings
from cinnet.config.settings import Stage
from cinnet.objective import LossValue
from cinnet.problems import AllenCahn, CahnHilliard
from cinnet.training import BalancedWeights, CausalWeights, GrowingHorizon, Resampling, Trainer
from cinnet.training.build import build_network, build_objective
from cinnet.training.points import build_points
from cinnet.training.windows import Window

PROBLEM = AllenCahn()
TINY = {"grid": (4, 8), "hidden": (4, 4), "harmonics": (2,), "num_mesh_intervals": 4, "windows": 1}


def settings_with(**options):
    return resolve_settings(PROBLEM, **(TINY | {"causality": None} | options))


def whole_window(problem):
    return Window(0, problem.interval.start, problem.interval.end, problem.initial_values, include_start=True)


def parts_of(problem, settings):
    network = build_network(problem, settings)
    points = build_points(problem, settings)
    return network, points, build_objective(problem, settings, network, points, whole_window(problem))


def context_of(problem, settings, step, losses=None):
    trainer = Trainer(problem, settings)
    return trainer.stepper._context(trainer.stepper.state.network, step, losses)


def test_the_automatic_schedule_raises_epsilon_when_late_weights_near_one():
    settings = settings_with()
    network, _, objective = parts_of(PROBLEM, settings)
    strategy = CausalWeights("auto")

    def next_epsilon(epsilon, weights):
        losses = None if weights is None else LossValue(jnp.zeros(()), {}, jnp.asarray(weights))
        run = context_of(PROBLEM, settings, 1, losses)
        return float(strategy.after_step(run, objective.with_causality(epsilon), network, None)[0].causality)

    assert float(strategy.apply(context_of(PROBLEM, settings, 0), objective, None).causality) == 1.0
    assert next_epsilon(2.0, [1.0, 0.97]) == 20.0
    assert next_epsilon(2.0, [1.0, 0.5]) == 2.0
    assert next_epsilon(5e3, [1.0]) == 1e4
    assert next_epsilon(2.0, None) == 2.0


def test_balanced_weights_move_towards_equal_gradient_norms():
    settings = settings_with(dtype="float64")
    with jax.enable_x64(True):
        network, _, objective = parts_of(PROBLEM, settings)
        parts = lambda name: lambda n: objective.loss(n).parts[name]  # noqa: E731
        norms = np.array(
            [
                np.linalg.norm(ravel_pytree(eqx.filter_jit(eqx.filter_grad(parts(name)))(network))[0])
                for name in ("initial", "residual")
            ]
        )
        expected = 0.9 * np.array([100.0, 1.0]) + 0.1 * norms.sum() / norms
        run = context_of(PROBLEM, settings, 6)
        balanced, _ = BalancedWeights(3).after_step(run, objective, network, None)
        np.testing.assert_allclose(balanced.weights, expected, rtol=1e-9)
        assert BalancedWeights(4).after_step(run, objective, network, None)[0] is objective


class OneSided(AllenCahn):
    """A residual that is large for x > 0 only."""

    def residual(self, u, t, x):
        return jnp.where(x > 0, 1e3, 0.0) + 0.0 * u.t


def test_resampled_columns_gather_where_the_residual_is_large():
    problem = OneSided()
    settings = settings_with(exploit_symmetry=False, sampling="latin-hypercube", grid=(2, 200))
    network, _, objective = parts_of(problem, settings)
    strategy = Resampling(1)

    def drawn(step):
        run = context_of(problem, settings, step)
        changed, columns = strategy.after_step(run, objective, network, strategy.init(run))
        np.testing.assert_allclose(changed.residual_term.points, columns, atol=1e-6)
        return np.asarray(columns)

    columns = drawn(3)
    assert columns.shape == (200, 1)
    assert np.abs(columns).max() <= 1
    assert 0.70 < (columns > 0).mean() < 0.80  # 1 + r / mean(r) is 3 on one half and 1 on the other
    np.testing.assert_array_equal(columns, drawn(3))
    assert not np.array_equal(columns, drawn(4))


def test_resampling_keeps_the_number_of_columns_of_a_plane_grid(tmp_path):
    """`num_points` once meant points along an axis in one place and points in all in another: 36 became 6."""
    problem = cinnet.AllenCahn2D()
    options = {"grid": (2, 36), "hidden": (4,), "harmonics": (1, 1), "sampling": "uniform-grid", "windows": 1}
    settings = resolve_settings(problem, **options, exploit_symmetry=False, resample_every=1, optimizer="adam", steps=2)
    trainer = Trainer(problem, settings, tmp_path)
    assert trainer.points.counts == (6, 6)
    trainer.run()
    assert trainer.stepper.objective.residual_term.num_points == 36
    assert Trainer(problem, settings, tmp_path).stepper.objective.residual_term.num_points == 36
    with pytest.raises(ValueError, match=r"num_points=35: a uniform grid in 2 dimensions.*take 25 or 36"):
        build_points(problem, resolve_settings(problem, **(options | {"grid": (2, 35)})))


@pytest.mark.parametrize("strategy", [{"resample_every": 1}, {"balance_every": 1}, {"causality": "auto"}])
def test_a_network_that_is_not_finite_ends_the_run_whatever_the_strategy(strategy):
    settings = settings_with(stages=(Stage("adam", 5, {"learning_rate": 1e30}),), **strategy)
    trainer = Trainer(PROBLEM, settings)
    start = trainer.network
    outcome = trainer.run()
    assert outcome.status == "non-finite"
    assert eqx.tree_equal(outcome.network, start)


@pytest.mark.parametrize("strategy", [{"resample_every": 2}, {"balance_every": 2}, {"windows": 2}])
def test_strategies_compose_with_optimizers_and_lower_the_loss(strategy):
    stages = (Stage("adam", 4, horizon=0.5), Stage("levenberg-marquardt", 8))
    outcome = Trainer(PROBLEM, settings_with(stages=stages, **strategy)).run()
    windows = {record["window"] for record in outcome.records}
    assert windows == set(range(strategy.get("windows", 1)))
    for window in windows:
        own = [record for record in outcome.records if record["window"] == window]
        assert 100 * own[-1]["initial"] + own[-1]["residual"] < 100 * own[0]["initial"] + own[0]["residual"]


def test_a_growing_horizon_shares_out_the_steps():
    settings = settings_with(stages=(Stage("adam", 7),), windows=2, strategies=(GrowingHorizon((0.5, 1.0)),))
    phases = Trainer(PROBLEM, settings).phases
    assert [(p.window, p.horizon, p.steps) for p in phases] == [(0, 0.5, 4), (0, 1.0, 3), (1, 0.5, 4), (1, 1.0, 3)]
    with pytest.raises(ValueError, match="increasing fractions that end with 1"):
        GrowingHorizon((0.5, 0.25))


def test_a_window_starts_where_the_one_before_ends():
    settings = settings_with(windows=2, stages=(Stage("levenberg-marquardt", 20),))
    network = Trainer(PROBLEM, settings).run().network
    x = np.linspace(-1, 1, 9)
    before = np.array([network.pieces[0](0.5, point)[0] for point in x])
    after = np.array([network.pieces[1](0.0, point)[0] for point in x])
    assert np.abs(before - after).max() < 0.05
    assert network.interval == PROBLEM.interval


def test_mirrored_columns_are_trained_on_once_with_the_same_loss():
    problem = CahnHilliard()
    settings = resolve_settings(problem, **(TINY | {"dtype": "float64", "grid": (2, 16), "num_mesh_intervals": 2}))
    with jax.enable_x64(True):
        network, points, objective = parts_of(problem, settings)
        residual = objective.residual_term
        assert residual.num_points == 5  # of 16: 0, 1/8, 1/4, 3/8 and 1/2
        everywhere = residual.engine(
            network, residual.plan, residual.times, jnp.asarray(points.points), residual.derivatives
        )
        u, ut, uxx, uxxxx, ux = (everywhere[i][..., 0] for i in ((0, 0), (1, 0), (0, 2), (0, 4), (0, 1)))
        by_hand = ut + 1e-6 * uxxxx - 1e-2 * ((3 * u**2 - 1) * uxx + 6 * u * ux**2)
        np.testing.assert_allclose(residual.levels(network), (by_hand**2).mean(axis=1), rtol=1e-9)


def test_mistakes_are_named():
    with pytest.raises(TypeError, match=r"strategies: 'faster' is not a cinnet\.Strategy"):
        Trainer(PROBLEM, settings_with(strategies=("faster",)))
    with pytest.raises(ValueError, match=r"epsilon=-1\.0"):
        CausalWeights(-1.0)
    with pytest.raises(ValueError, match="resample_every=1 has no effect: Decay has no space"):
        Trainer(Decay(), resolve_settings(Decay(), resample_every=1, hidden=(4,)))
