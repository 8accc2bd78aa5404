import numpy as np
import pytest

from cinnet.domains import Axis, Bounded, Box, Periodic, TimeInterval


def test_interval_has_duration_and_accepts_its_ends():
    interval = TimeInterval(-1, 2)
    assert (interval.start, interval.end, interval.duration) == (-1.0, 2.0, 3.0)
    interval.check(np.array([-1.0, 0.5, 2.0]))


@pytest.mark.parametrize("time", [-1.5, 2.5, np.nan])
def test_time_outside_the_interval_is_refused_by_name_and_value(time):
    with pytest.raises(ValueError, match=rf"query={time} .*\[-1.0, 2.0\]"):
        TimeInterval(-1.0, 2.0).check(np.array([0.0, time]), "query")


@pytest.mark.parametrize("owner", [TimeInterval, Periodic, Bounded])
@pytest.mark.parametrize(("lower", "upper"), [(1.0, 1.0), (2.0, 1.0), (0.0, np.inf), (np.nan, 1.0)])
def test_ends_must_be_finite_and_ordered(owner, lower, upper):
    with pytest.raises(ValueError, match=rf"{owner.__name__}\({lower}, {upper}\)"):
        owner(lower, upper)


def test_axis_itself_is_abstract():
    with pytest.raises(TypeError, match="Periodic"):
        Axis(0.0, 1.0)


def test_uniform_points_hold_the_periodic_end_once():
    np.testing.assert_allclose(Periodic(-1.0, 1.0).uniform_points(4), [-1.0, -0.5, 0.0, 0.5])
    np.testing.assert_allclose(Bounded(-1.0, 1.0).uniform_points(5), [-1.0, -0.5, 0.0, 0.5, 1.0])
    with pytest.raises(ValueError, match="count=0"):
        Bounded(0.0, 1.0).uniform_points(0)


def test_box_properties():
    box = Box(Periodic(0.0, 2.0), Bounded(1.0, 4.0))
    assert (box.dimension, box.names, box.periodic, box.volume) == (2, ("x", "y"), False, 6.0)
    assert box.axis_index("y") == 1
    assert Box(Periodic(0.0, 1.0)).periodic
    assert (Box().dimension, Box().volume) == (0, 1)


def test_box_of_what_a_problem_may_state():
    axis = Periodic(0.0, 1.0)
    assert Box.of(axis) == Box(axis)
    assert Box.of(None) == Box()
    assert Box.of(Box(axis)) == Box(axis)
    with pytest.raises(TypeError, match=r"space=\(0, 1\)"):
        Box.of((0, 1))


def test_box_grid_runs_fastest_along_the_last_axis():
    grid = Box(Bounded(0.0, 1.0), Periodic(0.0, 3.0)).uniform_grid((2, 3))
    np.testing.assert_allclose(grid, [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]])
    assert Box().uniform_grid(()).shape == (1, 0)


def test_points_beyond_a_period_are_in_the_domain():
    Box(Periodic(0.0, 1.0), Bounded(0.0, 1.0)).check(np.array([[7.5, 1.0], [-3.0, 0.0]]))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Box(*[Periodic(0.0, 1.0)] * 4), ValueError, "4 axes"),
        (lambda: Box(3.0), Exception, "3.0"),
        (lambda: Box(Periodic(0.0, 1.0)).axis_index("y"), ValueError, r"axis 'y' .*\['x'\]"),
        (lambda: Box(Periodic(0.0, 1.0)).uniform_grid((2, 2)), ValueError, r"counts=\(2, 2\)"),
        (lambda: Box(Bounded(0.0, 1.0)).check(np.array([[0.5], [1.5]])), ValueError, r"x=1.5.*\[0.0, 1.0\]"),
        (lambda: Box(Periodic(0.0, 1.0)).check(np.array([[np.nan]])), ValueError, "x=nan"),
    ],
)
def test_box_errors(make, error, message):
    with pytest.raises(error, match=message):
        make()
