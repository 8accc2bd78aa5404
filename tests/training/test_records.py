"""When a run counts as stalled."""

import numpy as np
import pytest

from cinnet.training.records import StallDetector


def first_stall(losses, steps=10, epsilons=None):
    """The step at which a loss recorded at every step counts as stalled, None if it never does."""
    detector = StallDetector(steps, begin=0)
    for step, loss in enumerate(np.asarray(losses).tolist(), start=1):
        record = {"step": step, "loss": loss}
        detector.see(record if epsilons is None else record | {"causality": epsilons[step - 1]})
        if detector.stalled(step):
            return step
    return None


def test_a_loss_that_falls_has_not_stalled():
    assert first_stall(0.9 ** np.arange(100)) is None


def test_a_loss_that_stays_has_stalled_after_so_many_steps():
    falling_then_flat = np.concatenate([0.5 ** np.arange(20), np.full(40, 0.5**19)])
    assert first_stall(falling_then_flat) == 20 + 10 - 1


def test_a_loss_that_jumps_has_not_stalled_while_its_lowest_value_falls():
    noisy = 0.9 ** np.arange(100) * np.where(np.arange(100) % 7 == 0, 1.0, 50.0)
    assert first_stall(noisy) is None
    stuck = np.where(np.arange(100) % 7 == 0, 1.0, 50.0)
    assert first_stall(stuck) is not None


@pytest.mark.parametrize("changes_at", [15, 18])
def test_losses_with_another_epsilon_are_not_compared(changes_at):
    losses = np.concatenate([np.full(changes_at, 1.0), 7.0 * 0.9 ** np.arange(40)])
    epsilons = [1.0] * changes_at + [10.0] * 40
    assert first_stall(losses, steps=20, epsilons=epsilons) is None


def test_only_the_last_records_are_looked_at():
    """Every step once went through all records of the run."""
    detector = StallDetector(10, begin=0)
    for step in range(1, 200):
        detector.see({"step": step, "loss": 0.5**step})
        assert not detector.stalled(step)
        assert len(detector._recent) <= 10


def test_a_detector_made_from_records_goes_on_as_one_that_saw_them():
    losses = [1.0] * 5 + [0.5] * 9
    seen = [{"step": step, "loss": loss} for step, loss in enumerate(losses, start=1)]
    fresh = StallDetector(10, 0, seen)
    assert not fresh.stalled(14)
    fresh.see({"step": 15, "loss": 0.5})
    assert fresh.stalled(15)
