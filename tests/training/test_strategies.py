import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from cinnet.config.presets import resolve_settings
from cinnet.config.settings import Stage
from cinnet.problems import AllenCahn, CahnHilliard
from cinnet.training import Trainer
from cinnet.training.build import Window, build_network, build_objective, build_points
from cinnet.training.strategies import balanced_weights, raised_causality, resampled_points

PROBLEM = AllenCahn()
TINY = {"grid": (4, 8), "hidden": (4, 4), "harmonics": (2,), "num_mesh_intervals": 4, "windows": 1}


def settings_with(**options):
    return resolve_settings(PROBLEM, **(TINY | {"causality": None} | options))


def test_the_automatic_schedule_raises_epsilon_when_late_weights_near_one():
    epsilon = jnp.float32(2.0)
    assert raised_causality(epsilon, jnp.asarray([1.0, 0.97])) == 20.0
    assert raised_causality(epsilon, jnp.asarray([1.0, 0.5])) == 2.0
    assert raised_causality(jnp.float32(5e3), jnp.asarray([1.0])) == 1e4


def test_balanced_weights_move_towards_equal_gradient_norms():
    settings = settings_with(dtype="float64")
    with jax.enable_x64(True):
        network, window = build_network(PROBLEM, settings), Window.of(PROBLEM, settings, ())
        objective = build_objective(PROBLEM, settings, network, build_points(PROBLEM, settings), window)
        parts = lambda name: lambda n: objective.loss(n).parts[name]  # noqa: E731
        norms = np.array(
            [
                np.linalg.norm(ravel_pytree(eqx.filter_jit(eqx.filter_grad(parts(name)))(network))[0])
                for name in ("initial", "residual")
            ]
        )
        expected = 0.9 * np.array([100.0, 1.0]) + 0.1 * norms.sum() / norms
        np.testing.assert_allclose(balanced_weights(objective, network), expected, rtol=1e-9)


def test_resampled_columns_gather_where_the_residual_is_large():
    """A network that is zero for x < 0 and rough for x > 0 has its residual there."""
    settings = settings_with(exploit_symmetry=False, sampling="latin-hypercube", grid=(2, 200))
    network, window = build_network(PROBLEM, settings), Window.of(PROBLEM, settings, ())
    points = build_points(PROBLEM, settings)

    class Problem(AllenCahn):
        def residual(self, u, t, x):
            return jnp.where(x > 0, 1e3, 0.0) + 0.0 * u.t

    drawn = resampled_points(Problem(), settings, network, points, window, step=3)
    assert drawn.shape == (200, 1)
    assert np.abs(drawn).max() <= 1
    assert 0.70 < (drawn > 0).mean() < 0.80  # 1 + r / mean(r) is 3 on one half and 1 on the other
    again = resampled_points(Problem(), settings, network, points, window, step=3)
    np.testing.assert_array_equal(drawn, again)
    assert not np.array_equal(drawn, resampled_points(Problem(), settings, network, points, window, step=4))


@pytest.mark.parametrize("strategy", [{"resample_every": 2}, {"balance_every": 2}, {"windows": 2}])
def test_strategies_compose_with_optimizers_and_lower_the_loss(strategy):
    stages = (Stage("adam", 4, horizon=0.5), Stage("levenberg-marquardt", 8))
    outcome = Trainer(PROBLEM, settings_with(stages=stages, **strategy)).run()
    windows = {record["window"] for record in outcome.records}
    assert windows == set(range(strategy.get("windows", 1)))
    for window in windows:
        own = [record for record in outcome.records if record["window"] == window]
        assert 100 * own[-1]["initial"] + own[-1]["residual"] < 100 * own[0]["initial"] + own[0]["residual"]


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
        network, window = build_network(problem, settings), Window.of(problem, settings, ())
        points = build_points(problem, settings)
        objective = build_objective(problem, settings, network, points, window)
        assert objective.terms[1].num_points == 5  # of 16: 0, 1/8, 1/4, 3/8 and 1/2
        residual = objective.terms[1]
        everywhere = residual.engine(
            network, residual.plan, residual.times, jnp.asarray(points.points), residual.derivatives
        )
        u, ut, uxx, uxxxx, ux = (everywhere[i][..., 0] for i in ((0, 0), (1, 0), (0, 2), (0, 4), (0, 1)))
        by_hand = ut + 1e-6 * uxxxx - 1e-2 * ((3 * u**2 - 1) * uxx + 6 * u * ux**2)
        np.testing.assert_allclose(residual.levels(network), (by_hand**2).mean(axis=1), rtol=1e-9)
