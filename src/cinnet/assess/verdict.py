"""What is known of a finished run, judged: how accurate its solution is, until when, why, and what to try.

The order is fixed. First the accuracy, by the error against a reference, else by the estimate from the residual; where
there is neither, nothing is claimed. Then the diagnosis, which is the same with and without a reference.
"""

import enum
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from .error_estimate import ErrorEstimate
from .metrics import last_time_below

ACCURATE_BELOW, MODERATE_BELOW = 1e-2, 5e-2  # of the relative L2 error
_FREEDOM = 10.0  # a held-out residual that exceeds the trained one by more means freedom between the points
_AMPLIFIED = 1e2  # errors that have grown by more are the equation's as much as training's
_STILL_FALLING = 1.1  # the factor by which the loss fell over the last quarter of the steps


class Accuracy(enum.StrEnum):
    ACCURATE = "Accurate"
    MODERATE = "Moderately accurate"
    INACCURATE = "Inaccurate"
    UNKNOWN = "Not checked"


@dataclass(frozen=True)
class Facts:
    """What a verdict rests on; None stands for what is not known.

    `status` says how training ended. `error_over_time` are times and RL2E(t) against the reference. The residuals are
    mean squares, at the training points and half-way between them. `recent_decrease` is the factor by which the loss
    fell over the last quarter of the steps, see `recent_decrease`. `reference_failure` says why a reference that was
    asked for could not be computed. `has_intervals` says that unknowns were found with standard errors.
    """

    status: str
    relative_l2_error: float | None = None
    error_over_time: tuple[Float[np.ndarray, " times"], Float[np.ndarray, " times"]] | None = None
    estimate: ErrorEstimate | None = None
    trained_residual: float | None = None
    held_out_residual: float | None = None
    recent_decrease: float | None = None
    steps: int = 0
    planned_steps: int | None = None
    windows: int = 1
    finished_windows: int = 1
    can_be_resumed: bool = True
    has_intervals: bool = False
    incompatibilities: Sequence[str] = ()
    reference_failure: str | None = None
    dtype: str = "float32"


@dataclass(frozen=True)
class _Finding:
    """Why a solution is not accurate, and what to try; either may be empty."""

    reason: str = ""
    advice: str = ""


@dataclass(frozen=True)
class Verdict:
    """A judgement with its reasons; `accurate_until` is the last time up to which the error stays below 1 %."""

    accuracy: Accuracy
    text: str
    accurate_until: float | None = None
    advice: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join([f"{self.accuracy}: {self.text}", *self.advice])


def judge(facts: Facts) -> Verdict:
    """How far a run can be trusted; never better than its known or estimated error."""
    accuracy, grounds = _accuracy(facts)
    findings = [] if accuracy is Accuracy.ACCURATE else _diagnosis(facts)
    if accuracy is Accuracy.UNKNOWN:
        findings.append(_Finding(advice="Compare several seeds before you rely on it."))
    until = _accurate_until(facts)
    reasons = [finding.reason for finding in findings if finding.reason]
    text = [*grounds, *_validity(facts, until), *_reservations(facts), *reasons, _ending(facts.status)]
    advice = tuple(dict.fromkeys(finding.advice for finding in findings if finding.advice))
    return Verdict(accuracy, " ".join(text), until, advice)


def trained_residual(records: Sequence[Mapping[str, float]]) -> float | None:
    """The mean squared residual at the training points at the end of every window; `records` are those of training."""
    last_of_window = {record["window"]: record["residual"] for record in records if "residual" in record}
    return float(np.mean(list(last_of_window.values()))) if last_of_window else None


def recent_decrease(records: Sequence[Mapping[str, float]]) -> float | None:
    """The factor by which the loss fell over the last quarter of the last window's last stage, None if it is not known.

    `records` are those of training, each with `step`, `stage`, `window` and `loss`.
    """
    if not records:
        return None
    last = records[-1]
    here = [r for r in records if (r["window"], r["stage"]) == (last["window"], last["stage"])]
    begin = here[0]["step"] + 0.75 * (last["step"] - here[0]["step"])
    before = [r for r in here if r["step"] <= begin]
    if len(here) < 2 or not before[-1]["loss"] > 0:
        return None
    return float(before[-1]["loss"] / last["loss"]) if last["loss"] > 0 else math.inf


_ENDINGS = {
    "completed": "Training took all its steps.",
    "time-limit": "Training stopped at its time limit.",
    "converged": "Training reached its target.",
    "stalled": "Training stopped because the loss no longer fell.",
    "non-finite": "Training broke down, as the loss was no longer finite; the best state before is kept.",
    "interrupted": "Training was interrupted; `cinnet resume` continues it.",
}


def _ending(status: str) -> str:
    return _ENDINGS.get(status, f"Training ended with the status {status!r}.")


def _accuracy(facts: Facts) -> tuple[Accuracy, list[str]]:
    """The accuracy, and the sentences that it rests on."""
    estimate = facts.estimate
    if estimate is not None and not estimate.solution_is_finite:
        return Accuracy.INACCURATE, ["the solution is not finite."]
    if facts.relative_l2_error is not None:
        error = facts.relative_l2_error
        if not math.isfinite(error):
            return Accuracy.INACCURATE, ["the error against the reference is not finite."]
        return _level(error), [f"relative L2 error {_percent(error)} against the reference."]
    if facts.trained_residual is None:
        return Accuracy.INACCURATE, ["nothing was trained."]
    if facts.held_out_residual is not None and not math.isfinite(facts.held_out_residual):
        return Accuracy.INACCURATE, ["the residual is not finite between the training points."]
    if estimate is None:
        grounds = ["there is neither a reference nor an estimate of the error.", *_missing_reference(facts)]
        if facts.held_out_residual is not None:
            grounds.append(f"The squared residual is {facts.held_out_residual:.1e} at points that were not trained on.")
        return Accuracy.UNKNOWN, grounds
    error = estimate.overall
    known = _percent(error) if error <= 1 else "above 100 %"
    return _level(error), [f"estimated relative L2 error {known}, from the residual.", *_missing_reference(facts)]


def _level(error: float) -> Accuracy:
    if error <= ACCURATE_BELOW:
        return Accuracy.ACCURATE
    return Accuracy.MODERATE if error <= MODERATE_BELOW else Accuracy.INACCURATE


def _percent(error: float) -> str:
    return f"{100 * error:.2g} %" if 100 * error < 1e3 else f"{100 * error:.1e} %"


def _missing_reference(facts: Facts) -> list[str]:
    return [] if facts.reference_failure is None else [f"There is no reference: {facts.reference_failure}"]


def _error_over_time(facts: Facts) -> tuple[np.ndarray, np.ndarray] | None:
    if facts.error_over_time is not None:
        return facts.error_over_time
    if facts.estimate is not None and facts.relative_l2_error is None:
        return facts.estimate.times, facts.estimate.estimate
    return None


def _accurate_until(facts: Facts) -> float | None:
    known = _error_over_time(facts)
    return None if known is None else last_time_below(*known, ACCURATE_BELOW)


def _validity(facts: Facts, until: float | None) -> list[str]:
    known = _error_over_time(facts)
    if known is None or until is None or not known[0][0] < until < known[0][-1]:
        return []
    return [f"The error stays below {_percent(ACCURATE_BELOW)} until t = {until:.3g}."]


def _reservations(facts: Facts) -> list[str]:
    """What is to be known of the error on which the accuracy rests."""
    if facts.estimate is None or not facts.estimate.free_constants:
        return []
    names = " and ".join(facts.estimate.free_constants)
    counted = "is not counted" if facts.relative_l2_error is None else "counts as an error"
    return [f"The equation determines {names} only up to a constant, which {counted}."]


def _diagnosis(facts: Facts) -> list[_Finding]:
    """What is wrong, the most telling first; how training went is looked at where its points explain nothing."""
    if facts.estimate is not None and facts.estimate.ill_posed:
        found = [
            _Finding(
                "The equation looks ill-posed: errors grow without bound, the finest fastest.",
                "Check the sign of its highest derivative.",
            )
        ]
    else:
        found = _amplification(facts) + (_incompleteness(facts) or _freedom(facts) or _training(facts))
    found += [_Finding(f"Note that {one}.") for one in facts.incompatibilities]
    if facts.has_intervals:
        found.append(_Finding("The intervals of the unknowns reflect the noise of the data only, not this error."))
    return found


def _amplification(facts: Facts) -> list[_Finding]:
    """Errors that the equation itself multiplies, as long as they are small enough for the estimate to hold."""
    estimate = facts.estimate
    if estimate is None or not estimate.solution_is_finite:
        return []
    valid_until = estimate.accurate_until(1.0)
    beyond = []
    if valid_until != estimate.times[-1] and facts.relative_l2_error is None:
        since = estimate.times[0] if valid_until is None else valid_until
        beyond.append(_Finding(f"The estimate exceeds 100 % after t = {since:.3g} and says nothing about later times."))
    if valid_until is None:
        return beyond
    growth = float(estimate.growth[estimate.times <= valid_until].max())
    if not growth > _AMPLIFIED:
        return beyond
    reason = f"The equation amplifies errors, by a factor of {growth:.0e} until t = {valid_until:.3g}."
    return [*beyond, _Finding(reason, "Solve up to an earlier time, or use dtype='float64' and more steps.")]


def _incompleteness(facts: Facts) -> list[_Finding]:
    """Training that did not get far enough to tell anything else."""
    if facts.windows > 1 and facts.finished_windows < facts.windows:
        return [
            _Finding(
                f"Only {facts.finished_windows} of {facts.windows} windows are finished.", "Resume with more time."
            )
        ]
    if facts.steps < 2 * facts.windows and facts.status != "converged":
        count = f"{facts.steps} steps for {facts.windows} windows" if facts.windows > 1 else f"{facts.steps} step(s)"
        return [_Finding(f"Training took only {count}.", "Give it more steps or more time.")]
    return []


def _freedom(facts: Facts) -> list[_Finding]:
    """A residual that is small at the training points only."""
    trained, held_out = facts.trained_residual, facts.held_out_residual
    if trained is None or held_out is None or not held_out > _FREEDOM * trained:
        return []
    return [
        _Finding(
            "The equation holds at the training points but not between them "
            f"(squared residual {trained:.2g} against {held_out:.2g}).",
            "Try a denser grid.",
        )
    ]


def _training(facts: Facts) -> list[_Finding]:
    """How training went, where the residual is about the same everywhere."""
    if facts.status == "non-finite":
        return [_Finding(advice="Try dtype='float64', more windows or a smaller learning rate.")]
    decrease = facts.recent_decrease
    falling = decrease is not None and decrease > _STILL_FALLING
    trend = "The loss was still falling." if falling else ""
    if facts.status in ("interrupted", "time-limit"):
        done = "" if facts.planned_steps is None else f"Training took {facts.steps} of {facts.planned_steps} steps."
        how = "Resume" if facts.can_be_resumed else "Solve it anew"
        return [_Finding(" ".join(filter(None, (done, trend))), f"{how} with more time.")]
    if falling:
        return [_Finding(trend, "Give it more steps.")]
    plateau = "The loss no longer fell." if decrease is not None and facts.status != "stalled" else ""
    options = ["more windows", "a larger network", *(["dtype='float64'"] if facts.dtype == "float32" else [])]
    return [_Finding(plateau, f"Try {', '.join(options[:-1])} or {options[-1]}.")]
