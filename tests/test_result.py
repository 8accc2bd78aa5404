"""The figures of a run as data."""

import pytest

from cinnet.result import RunResult
from cinnet.storage.files import StorageError

TEXTS = ("problem", "equation", "residual_source", "reproduce", "method", "preset", "status")
COUNTS = ("seed", "num_times", "num_points", "num_mesh_intervals", "windows", "parameters", "steps", "planned_steps")


def result(**changes):
    known = dict.fromkeys(TEXTS, "") | dict.fromkeys(COUNTS, 1)
    known |= {"outcomes": ("completed",), "wall_seconds": 1.0, "final": {"loss": 0.1}, "made_by": {"cinnet": "0.1"}}
    return RunResult(**(known | changes))


def test_a_result_survives_json():
    assert RunResult.from_json(result().to_json()) == result()
    with pytest.raises(StorageError, match="not the result of a run of this version"):
        RunResult.from_json({"colour": 3})


@pytest.mark.parametrize(
    ("outcomes", "expected"),
    [
        (("completed", "interrupted"), True),
        (("time-limit",), True),
        (("time-limit", "completed"), False),
        (("completed", "stalled"), False),
        (("non-finite",), False),
    ],
)
def test_a_run_can_be_resumed_while_its_last_window_is_open(outcomes, expected):
    """A run whose windows were closed to share the time has the status time-limit too, but nothing is left to do."""
    assert result(outcomes=outcomes, status="time-limit").can_be_resumed is expected
