"""How an interval is cut into windows."""

import pytest

from cinnet.domains import TimeInterval
from cinnet.training.windows import nearly_equal, window_interval, window_mesh, window_starts

INTERVAL = TimeInterval(1.0, 4.0)


def test_one_window_is_the_whole_interval():
    assert window_interval(INTERVAL, 12, 1) == INTERVAL
    assert window_starts(INTERVAL, 12, 1) == (1.0,)
    assert window_mesh(48, 12, 1) == 48


def test_equal_windows_begin_on_time_levels_and_share_one_clock():
    assert window_starts(INTERVAL, 12, 3) == (1.0, 2.0, 3.0)
    assert window_interval(INTERVAL, 12, 3) == TimeInterval(1.0, 2.0)
    assert window_mesh(48, 12, 3) == 16


@pytest.mark.parametrize(("levels", "count"), [(19, 3), (23, 4), (7, 2)])
def test_unequal_windows_differ_by_one_level_and_the_clock_is_that_of_the_longest(levels, count):
    parts = nearly_equal(levels, count)
    assert sum(parts) == levels
    assert max(parts) - min(parts) == 1
    starts = window_starts(INTERVAL, levels, count)
    step = INTERVAL.duration / levels
    assert starts == pytest.approx([1.0 + step * sum(parts[:number]) for number in range(count)])
    assert window_interval(INTERVAL, levels, count).duration == pytest.approx(step * max(parts))
    assert window_mesh(levels, levels, count) == max(parts)
