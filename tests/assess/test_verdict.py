import pytest

from cinnet.assess.verdict import verdict


def result(**changes):
    return {
        "status": "stalled",
        "relative_l2_error": None,
        "held_out_residual": 1e-6,
        "final": {"residual": 1e-6},
    } | changes


@pytest.mark.parametrize(
    ("changes", "beginning"),
    [
        ({"relative_l2_error": 1e-3}, "Right"),
        ({"relative_l2_error": 3e-2}, "Roughly right"),
        ({"relative_l2_error": 0.4}, "Wrong"),
        ({"relative_l2_error": float("nan")}, "Wrong"),
        ({"relative_l2_error": 0.4, "estimated_error": 1e-3}, "Wrong: the relative L2 error against the reference"),
        ({"estimated_error": 1e-3}, "Right: its residual implies"),
        ({"estimated_error": 3e-2, "held_out_residual": 1e-4}, "Roughly right: its residual implies"),
        ({"estimated_error": 0.4}, "Wrong: its residual implies"),
        ({"estimated_error": float("inf")}, "Wrong"),
        ({"estimated_error": 1e-3, "final": {}}, "Not to be trusted"),
        ({"held_out_residual": 1e-4}, "Not to be trusted: between the training points"),
        ({"held_out_residual": float("nan")}, "Not to be trusted"),
        ({"final": {}}, "Not to be trusted"),
        ({}, "Not checked against a reference"),
    ],
)
def test_words_follow_the_figures(changes, beginning):
    assert verdict(result(**changes)).startswith(beginning)


@pytest.mark.parametrize("status", ["converged", "stalled", "out-of-budget", "non-finite", "interrupted"])
def test_every_status_has_its_sentence(status):
    assert verdict(result(status=status)).rstrip().endswith(".")


def test_intervals_of_an_inaccurate_solution_are_not_called_right():
    unknowns = {"estimates": {"speed": {"value": 1.0, "standard_error": 0.1}}}
    warned = "count the noise of the data only"
    assert warned in verdict(result(estimated_error=3e-2, **unknowns))
    assert warned not in verdict(result(estimated_error=3e-2))
    assert warned not in verdict(result(estimated_error=1e-3, **unknowns))
    no_error = {"estimates": {"speed": {"value": 1.0, "standard_error": None}}}
    assert warned not in verdict(result(estimated_error=3e-2, **no_error))
