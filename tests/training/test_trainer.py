import dataclasses
import json
import os
import signal

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.config.presets import resolve_settings
from cinnet.config.settings import Stage
from cinnet.optimizers import OPTIMIZERS, LevenbergMarquardt
from cinnet.problems import AllenCahn
from cinnet.training import Budget, Trainer
from cinnet.training.build import Window, build_points, held_out_points, stage_points

PROBLEM = AllenCahn()


EIGHT_STEPS = (Stage("levenberg-marquardt", 8),)


def tiny(stages=EIGHT_STEPS, **options):
    return resolve_settings(PROBLEM, grid=(3, 8), hidden=(4, 4), harmonics=(2,), stages=stages, **options)


def leaves_of(network):
    return [np.asarray(leaf) for leaf in jax.tree.leaves(network)]


def assert_identical(first, second):
    for one, other in zip(leaves_of(first), leaves_of(second), strict=True):
        np.testing.assert_array_equal(one, other)


TWO_STAGES = (Stage("levenberg-marquardt", 4, columns=4), Stage("adam", 3, horizon=0.7))


@pytest.mark.parametrize("interrupted_after", [1, 7, 11])
def test_a_run_that_was_stopped_and_resumed_ends_like_one_that_was_not(tmp_path, interrupted_after):
    settings = tiny(TWO_STAGES, causality="auto", windows=3, balance_every=2, resample_every=3)
    whole = Trainer(PROBLEM, settings).run()

    first = Trainer(PROBLEM, settings, tmp_path)
    accept = first._accept
    calls = 0

    def accept_then_interrupt(*arguments):
        nonlocal calls
        accept(*arguments)
        calls += 1
        if calls == interrupted_after:
            os.kill(os.getpid(), signal.SIGINT)

    first._accept = accept_then_interrupt
    stopped = first.run()
    assert (stopped.status, stopped.steps) == ("interrupted", interrupted_after)

    resumed = Trainer(PROBLEM, settings, tmp_path).run()
    assert_identical(resumed.network, whole.network)
    assert resumed.steps == whole.steps == 21
    without_time = [[{k: v for k, v in r.items() if k != "seconds"} for r in o.records] for o in (resumed, whole)]
    assert without_time[0] == without_time[1]


def test_records_are_saved_one_a_line(tmp_path):
    outcome = Trainer(PROBLEM, tiny(), tmp_path).run()
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == outcome.records
    assert outcome.records[-1]["loss"] < outcome.records[0]["loss"]
    assert outcome.status == "out-of-budget"


def test_a_target_loss_is_convergence():
    outcome = Trainer(PROBLEM, tiny()).run(Budget(target_loss=1e9))
    assert (outcome.status, outcome.steps) == ("converged", 1)


def test_no_time_is_out_of_budget_after_one_step():
    outcome = Trainer(PROBLEM, tiny()).run(Budget(seconds=1e-9))
    assert (outcome.status, outcome.steps) == ("out-of-budget", 1)


def test_non_finite_losses_keep_the_best_state():
    trainer = Trainer(PROBLEM, tiny((Stage("adam", 5, {"learning_rate": 1e30}),), causality=None))
    outcome = trainer.run()
    assert outcome.status == "non-finite"
    assert all(np.isfinite(leaf).all() for leaf in leaves_of(outcome.network))


def test_a_minimum_is_a_stall():
    trainer = Trainer(PROBLEM, tiny((Stage("levenberg-marquardt", 400),), causality=None))
    trainer.state = dataclasses.replace(trainer.state, network=jax.tree.map(jnp.zeros_like, trainer.state.network))
    assert trainer.run().status == "stalled"


def test_held_out_points_are_between_the_training_points():
    settings = tiny()
    points, held_out = build_points(PROBLEM, settings), held_out_points(PROBLEM, settings)
    assert not set(held_out.times) & set(points.times)
    np.testing.assert_allclose(held_out.points - points.points, 1 / 8)


def test_a_stage_uses_some_columns_and_the_times_up_to_its_horizon():
    settings = tiny()
    points, window = build_points(PROBLEM, settings), Window.of(PROBLEM, settings, ())
    fewer = stage_points(points, Stage("adam", 1, columns=4, horizon=0.7), window)
    np.testing.assert_array_equal(fewer.points, points.points[::2])
    np.testing.assert_allclose(fewer.times, [0, 1 / 3, 2 / 3])
    with pytest.raises(ValueError, match=r"horizon=0.1.*no time level"):
        stage_points(dataclasses.replace(points, times=points.times[1:]), Stage("adam", 1, horizon=0.1), window)


def test_a_budget_must_be_positive():
    with pytest.raises(ValueError, match="seconds=0"):
        Budget(seconds=0)


def test_matrices_that_do_not_fit_the_memory_are_not_formed():
    small = Trainer(PROBLEM, tiny()).state.optimizer_state
    large = Trainer(PROBLEM, tiny(memory_gigabytes=1e-6)).state.optimizer_state
    assert type(small).__name__ == "DampingState"
    assert type(large).__name__ == "GaussNewtonState"


def test_a_finished_run_is_not_trained_again(tmp_path):
    settings = tiny()
    first = Trainer(PROBLEM, settings, tmp_path).run()
    again = Trainer(PROBLEM, settings, tmp_path).run()
    assert (again.status, again.steps, again.seconds) == (first.status, first.steps, first.seconds)
    assert_identical(again.network, first.network)


def test_seconds_are_shared_by_the_windows():
    settings = resolve_settings(
        PROBLEM, grid=(4, 8), hidden=(4, 4), harmonics=(2,), windows=2, num_mesh_intervals=4, stages=EIGHT_STEPS
    )
    outcome = Trainer(PROBLEM, settings).run(Budget(seconds=1e-9))
    assert (outcome.status, outcome.steps) == ("out-of-budget", 2)
    assert len(outcome.network.pieces) == 2


def test_a_stage_is_compiled_once_for_all_windows_and_whatever_the_strategies_change(monkeypatch):
    traced = []

    class Counted(LevenbergMarquardt):
        def step(self, objective, model, state):
            traced.append(objective)
            return super().step(objective, model, state)

    monkeypatch.setitem(OPTIMIZERS, "levenberg-marquardt", Counted)
    options = {"windows": 3, "causality": "auto", "balance_every": 2, "resample_every": 3}
    outcome = Trainer(PROBLEM, tiny(sampling="latin-hypercube", **options)).run()
    assert outcome.steps == 24
    assert len(traced) == 1
