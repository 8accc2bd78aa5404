"""Carrying a finished run on to a later time."""

import copy
import dataclasses

import numpy as np
import pytest
from small_problems import Decay

import cinnet
from cinnet.config.settings import Stage

SETTINGS = {"grid": (8, 1), "windows": 2, "hidden": (6,), "stages": (Stage("levenberg-marquardt", 40),)}


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    first = cinnet.solve(Decay(), **SETTINGS, folder=folder / "first")
    return first, cinnet.extend(first, 2.0, folder=folder / "longer"), folder


def test_later_times_are_solved_and_earlier_ones_kept(runs):
    first, longer, _ = runs
    assert longer.settings.windows == 4
    assert longer.settings.num_times == 16
    early, late = np.linspace(0, 1, 11), np.linspace(1.05, 2, 11)
    np.testing.assert_array_equal(longer(early), first(early))
    np.testing.assert_allclose(longer(late), np.exp(-1.3 * late), rtol=2e-3)
    assert longer.relative_error() < 2e-3
    assert longer.result.steps <= 80
    assert longer.records[0]["window"] == 2


def test_extended_run_is_a_run_like_any_other(runs):
    _, longer, folder = runs
    loaded = cinnet.load(folder / "longer", Decay())
    assert loaded.problem.interval.end == 2.0
    assert loaded.problem.name == "Decay"
    times = np.linspace(0, 2, 7)
    np.testing.assert_array_equal(loaded(times), longer(times))
    assert "until(2.0)" in longer.result.reproduce
    again = cinnet.extend(longer, 2.5)
    np.testing.assert_allclose(again(2.5), np.exp(-1.3 * 2.5), rtol=5e-3)


def test_earlier_windows_keep_how_they_ended(runs):
    """They were once called converged, whatever had become of them."""
    first, longer, _ = runs
    assert longer.result.outcomes[:2] == first.result.outcomes
    stopped = copy.copy(first)
    stopped.result = dataclasses.replace(first.result, outcomes=("completed", "time-limit"))
    longer = cinnet.extend(stopped, 1.5)
    assert longer.result.outcomes == ("completed", "time-limit", "stalled")
    assert longer.status == "time-limit"


@pytest.mark.parametrize(
    ("outcomes", "count"), [(("completed",), 1), (("stalled", "interrupted"), 1), (("non-finite",), 0)]
)
def test_a_run_that_is_not_finished_is_not_carried_on(runs, outcomes, count):
    unfinished = copy.copy(runs[0])
    unfinished.result = dataclasses.replace(unfinished.result, outcomes=outcomes)
    with pytest.raises(ValueError, match=f"only {count} of 2 windows are solved; finish the run first"):
        cinnet.extend(unfinished, 2.0)


def test_windows_of_unequal_length_are_followed_by_more_of_the_shorter_ones():
    first = cinnet.solve(Decay(), **(SETTINGS | {"grid": (5, 1)}))
    longer = cinnet.extend(first, 1.8)
    np.testing.assert_allclose(longer.network.starts, [0.0, 0.6, 1.0, 1.4])
    early, late = np.linspace(0, 1, 11), np.linspace(1.05, 1.8, 11)
    np.testing.assert_array_equal(longer(early), first(early))
    np.testing.assert_allclose(longer(late), np.exp(-1.3 * late), rtol=2e-3)


def test_errors(runs):
    first, _, _ = runs
    for until in (1.0, 0.5, 1.7, -3.0):
        with pytest.raises(ValueError, match=rf"until={until} is not the end of a later window.*take 1\.5, 2"):
            cinnet.extend(first, until)
    unknown = cinnet.solve(Decay(rate=cinnet.Unknown(1.0)), grid=(4, 1), hidden=(4,), reference=False)
    with pytest.raises(ValueError, match="unknowns cannot be carried on"):
        cinnet.extend(unknown, 2.0)


class Pulled(cinnet.EvolutionProblem):
    """A rod whose end moves with the time of the equation, which the clock of a later window does not show."""

    space = cinnet.Bounded(0.0, 1.0)
    boundary = (cinnet.dirichlet("x", value=lambda t, x: x * t),)

    def residual(self, u, t, x):
        return u.t - u.xx

    def initial(self, x):
        return 0.0 * x


def test_boundary_values_by_construction_that_change_in_time_are_not_carried_on():
    """The second window once had the boundary values of the first."""
    first = cinnet.solve(Pulled(), grid=(4, 4), hidden=(3,), windows=1, exact_boundary=True, optimizer="adam", steps=1)
    with pytest.raises(ValueError, match="windows=2: the boundary values of Pulled change in time"):
        cinnet.extend(first, 2.0)
