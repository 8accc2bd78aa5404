import dataclasses

import numpy as np
import pytest

from cinnet.assess.error_estimate import ErrorEstimate
from cinnet.assess.verdict import Accuracy, Facts, judge, recent_decrease, trained_residual

TIMES = np.linspace(0.5, 10.0, 20)


def estimated(error, **changes):
    errors = np.full(20, float(error))
    return ErrorEstimate(TIMES, errors, None, float(error), np.ones(20), **changes)


def facts(**changes):
    known = {"trained_residual": 1e-6, "held_out_residual": 1e-6, "steps": 200, "planned_steps": 200}
    return Facts("completed", **(known | changes))


@pytest.mark.parametrize(
    ("changes", "accuracy", "words"),
    [
        ({"relative_l2_error": 5.2e-3}, Accuracy.ACCURATE, "relative L2 error 0.52 % against the reference."),
        ({"relative_l2_error": 1e-2}, Accuracy.ACCURATE, "1 %"),
        ({"relative_l2_error": 3e-2}, Accuracy.MODERATE, "3 %"),
        ({"relative_l2_error": 0.4}, Accuracy.INACCURATE, "40 %"),
        ({"relative_l2_error": float("nan")}, Accuracy.INACCURATE, "error against the reference is not finite"),
        ({"relative_l2_error": 0.4, "estimate": estimated(1e-3)}, Accuracy.INACCURATE, "against the reference"),
        ({"estimate": estimated(1e-3)}, Accuracy.ACCURATE, "estimated relative L2 error 0.1 %, from the residual."),
        ({"estimate": estimated(3e-2)}, Accuracy.MODERATE, "estimated relative L2 error 3 %"),
        ({"estimate": estimated(0.4)}, Accuracy.INACCURATE, "estimated relative L2 error 40 %"),
        ({"estimate": estimated(8.9e51)}, Accuracy.INACCURATE, "estimated relative L2 error above 100 %"),
        ({"estimate": estimated(np.inf)}, Accuracy.INACCURATE, "estimated relative L2 error above 100 %"),
        ({"estimate": estimated(np.inf, solution_is_finite=False)}, Accuracy.INACCURATE, "solution is not finite"),
        ({"estimate": estimated(1e-3), "trained_residual": None}, Accuracy.INACCURATE, "nothing was trained"),
        ({"held_out_residual": float("nan")}, Accuracy.INACCURATE, "residual is not finite"),
        ({}, Accuracy.UNKNOWN, "neither a reference nor an estimate"),
        ({"held_out_residual": 1e-3}, Accuracy.UNKNOWN, "not between them"),
        (
            {"reference_failure": "w has no time derivative."},
            Accuracy.UNKNOWN,
            "no reference: w has no time derivative.",
        ),
    ],
)
def test_accuracy_follows_the_error(changes, accuracy, words):
    verdict = judge(facts(**changes))
    assert verdict.accuracy is accuracy
    assert words in verdict.text
    assert str(verdict).startswith(f"{accuracy.value}: ")
    assert "  " not in str(verdict)


def test_freedom_between_the_points_is_named_with_a_reference_too():
    verdict = judge(facts(relative_l2_error=0.4, trained_residual=2e-7, held_out_residual=5.6))
    assert "holds at the training points but not between them (squared residual 2e-07 against 5.6)" in verdict.text
    assert verdict.advice == ("Try a denser grid.",)


@pytest.mark.parametrize("known", [{"relative_l2_error": 0.4}, {"estimate": estimated(0.4)}, {}])
@pytest.mark.parametrize(
    ("changes", "reason", "advice"),
    [
        ({"recent_decrease": 3.0}, "still falling", "more steps"),
        ({"recent_decrease": 1.0}, "no longer fell", "dtype='float64'"),
        ({"recent_decrease": 1.0, "dtype": "float64"}, "no longer fell", "more windows or a larger network."),
        ({"status": "stalled"}, "no longer fell", "larger network"),
        ({"status": "time-limit", "steps": 53}, "53 of 200 steps", "Resume with more time"),
        ({"status": "time-limit", "can_be_resumed": False}, "200 of 200 steps", "Solve it anew with more time"),
        ({"status": "interrupted", "recent_decrease": 2.0}, "still falling", "Resume with more time"),
        ({"status": "time-limit", "windows": 4, "finished_windows": 3}, "3 of 4 windows", "Resume with more time"),
        ({"windows": 4, "finished_windows": 4, "steps": 4}, "only 4 steps for 4 windows", "more steps"),
        ({"status": "non-finite"}, "broke down", "dtype='float64'"),
        ({"incompatibilities": ("the axis x has no condition",)}, "Note that the axis x has no condition. ", "Try"),
    ],
)
def test_a_diagnosis_comes_with_advice(known, changes, reason, advice):
    verdict = judge(dataclasses.replace(facts(**known), **changes))
    assert reason in verdict.text
    assert advice in " ".join(verdict.advice)


def test_seeds_should_be_compared_where_nothing_is_known():
    seeds = "Compare several seeds before you rely on it."
    assert seeds in judge(facts()).advice
    assert seeds not in judge(facts(estimate=estimated(0.4))).advice


def test_an_accurate_solution_needs_no_advice():
    assert judge(facts(relative_l2_error=1e-3, held_out_residual=1e-3)).advice == ()


def test_it_says_until_when_a_solution_is_accurate():
    growing = 1e-4 * np.exp(TIMES)
    over_time = judge(facts(relative_l2_error=0.4, error_over_time=(TIMES, growing)))
    assert over_time.accurate_until == 4.5
    assert "stays below 1 % until t = 4.5." in over_time.text
    estimate = dataclasses.replace(estimated(0.4), estimate=growing)
    assert judge(facts(estimate=estimate)).accurate_until == 4.5
    assert judge(facts(relative_l2_error=0.4, estimate=estimate)).accurate_until is None
    never = judge(facts(estimate=estimated(0.4)))
    assert never.accurate_until is None
    assert "until" not in never.text


def test_errors_that_the_equation_amplifies_are_not_blamed_on_training_alone():
    growth = np.exp(2 * TIMES)
    unstable = dataclasses.replace(estimated(0.4), estimate=1e-6 * growth, overall=100.0, growth=growth)
    verdict = judge(facts(estimate=unstable))
    assert verdict.accurate_until == 4.5
    assert "The estimate exceeds 100 % after t = 6.5 and says nothing about later times." in verdict.text
    assert "amplifies errors, by a factor of 4e+05 until t = 6.5" in verdict.text
    assert "earlier time" in verdict.advice[0]


def test_growth_after_the_estimate_has_failed_is_not_blamed_on_the_equation():
    """Linearised at a solution that is wrong from the start, the equation may do anything."""
    growth = np.exp(5 * TIMES)
    wrong = dataclasses.replace(estimated(np.inf), estimate=10 * growth, growth=growth)
    verdict = judge(facts(estimate=wrong, held_out_residual=1.0))
    assert "amplifies" not in verdict.text
    assert "exceeds 100 % after t = 0.5 " in verdict.text
    assert verdict.advice == ("Try a denser grid.",)


def test_an_ill_posed_equation_is_named():
    verdict = judge(facts(estimate=estimated(np.inf, ill_posed=True)))
    assert "ill-posed" in verdict.text
    assert "solution is not finite" not in verdict.text
    assert verdict.advice == ("Check the sign of its highest derivative.",)


def test_a_free_constant_is_named():
    verdict = judge(facts(estimate=estimated(1e-3, free_constants=("psi",))))
    assert verdict.accuracy is Accuracy.ACCURATE
    assert "determines psi only up to a constant, which is not counted." in verdict.text
    against_a_reference = judge(facts(relative_l2_error=0.4, estimate=estimated(1e-3, free_constants=("psi",))))
    assert "determines psi only up to a constant, which counts as an error." in against_a_reference.text


def test_intervals_of_an_inaccurate_solution_are_not_trusted():
    warned = "noise of the data only"
    assert warned in judge(facts(estimate=estimated(3e-2), has_intervals=True)).text
    assert warned not in judge(facts(estimate=estimated(3e-2))).text
    assert warned not in judge(facts(estimate=estimated(1e-3), has_intervals=True)).text


def test_recent_decrease_is_over_the_last_quarter_of_the_last_window():
    def record(window, step, loss):
        return {"window": window, "stage": 0, "step": step, "loss": loss}

    earlier = [record(0, step, 1e3) for step in (1, 50, 100)]
    later = [record(1, 101 + 10 * k, 2.0**-k) for k in range(9)]
    assert recent_decrease([*earlier, *later]) == 4.0
    assert recent_decrease(earlier) == 1.0
    assert recent_decrease(earlier[:1]) is None
    assert recent_decrease([]) is None
    assert recent_decrease([record(0, 1, 1.0), record(0, 2, 0.0)]) == np.inf


def test_trained_residual_is_that_at_the_end_of_every_window():
    records = [
        {"window": window, "residual": residual} for window, residual in ((0, 9.0), (0, 1.0), (1, 9.0), (1, 3.0))
    ]
    assert trained_residual(records) == 2.0
    assert trained_residual([]) is None
