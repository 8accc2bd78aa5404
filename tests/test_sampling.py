import numpy as np
import pytest

from cinnet.domains import Bounded, Box, Periodic, TimeInterval
from cinnet.sampling import TrainingPoints, latin_hypercube, uniform_grid, uniform_times

INTERVAL = TimeInterval(1.0, 3.0)
LINE = Box(Periodic(-1.0, 1.0))
STRIP = Box(Periodic(-1.0, 1.0), Bounded(0.0, 2.0))


def test_time_levels_hold_both_ends_or_all_but_the_first():
    np.testing.assert_allclose(uniform_times(INTERVAL, 4), [1.0, 1.5, 2.0, 2.5, 3.0])
    np.testing.assert_allclose(uniform_times(INTERVAL, 4, include_start=False), [1.5, 2.0, 2.5, 3.0])


@pytest.mark.parametrize(("include_start", "levels"), [(True, 11), (False, 10)])
def test_uniform_grid_counts_and_ends(include_start, levels):
    grid = uniform_grid(INTERVAL, LINE, 10, 64, include_start)
    assert (grid.times.shape, grid.points.shape, grid.counts) == ((levels,), (64, 1), (64,))
    assert grid.times[-1] == 3.0
    assert grid.points.min() == -1.0
    assert grid.points.max() == pytest.approx(1.0 - 2.0 / 64)


def test_uniform_grid_in_two_dimensions():
    grid = uniform_grid(INTERVAL, STRIP, 2, (3, 4))
    assert (grid.points.shape, grid.counts) == ((12, 2), (3, 4))
    assert grid.points[:, 1].max() == 2.0
    assert uniform_grid(INTERVAL, STRIP, 2, 3).counts == (3, 3)


def test_uniform_grid_of_an_ordinary_equation_is_one_column():
    grid = uniform_grid(INTERVAL, Box(), 5, 7)
    assert (grid.points.shape, grid.counts) == ((1, 0), ())


def test_every_stratum_of_every_axis_holds_one_latin_hypercube_point():
    count = 37
    sample = latin_hypercube(INTERVAL, STRIP, 3, count, seed=5)
    assert sample.counts is None
    np.testing.assert_allclose(sample.times, uniform_times(INTERVAL, 3))
    for i, axis in enumerate(STRIP.axes):
        strata = np.floor((sample.points[:, i] - axis.lower) / axis.length * count).astype(int)
        assert sorted(strata) == list(range(count))


def test_the_seed_decides_the_points():
    first, again, other = (latin_hypercube(INTERVAL, STRIP, 3, 8, seed=seed).points for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert not np.isin(first, other).any()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: uniform_times(INTERVAL, 0), "num_times=0"),
        (lambda: uniform_grid(INTERVAL, STRIP, 2, (3,)), r"counts=\(3,\).*2 axes"),
        (lambda: uniform_grid(INTERVAL, LINE, 2, 0), "count=0"),
        (lambda: latin_hypercube(INTERVAL, STRIP, 2, 0, seed=0), "num_points=0"),
        (lambda: latin_hypercube(INTERVAL, Box(), 2, 3, seed=0), "need a spatial axis"),
        (lambda: TrainingPoints(np.zeros(0), np.zeros((1, 1))), r"times has shape \(0,\)"),
        (lambda: TrainingPoints(np.zeros(2), np.zeros((0, 1))), r"points has shape \(0, 1\)"),
    ],
)
def test_sampling_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
