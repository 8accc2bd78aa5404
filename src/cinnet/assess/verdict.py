"""What the figures of a finished run mean, in words."""

from collections.abc import Mapping
from typing import Any

_GOOD_ERROR, _FAIR_ERROR = 1e-2, 5e-2
_GENERALISES = 10.0  # a held-out residual that exceeds the training residual by more means freedom between the points

_ENDINGS = {
    "converged": "Training reached its target.",
    "stalled": "Training stopped because the loss no longer fell.",
    "out-of-budget": "Training used all its steps or seconds.",
    "non-finite": "Training broke down: the loss was no longer finite. The best state before is kept.",
    "interrupted": "Training was interrupted; `cinnet resume` goes on.",
}


def verdict(result: Mapping[str, Any]) -> str:
    """A few sentences on how far a run can be trusted.

    By the error against a reference if there is one, else by the error that the residual implies, and where that is
    not known either, it never says that all is well. Intervals of unknowns do not know of an inaccurate solution.
    """
    words = _solution_verdict(result)
    has_intervals = any(one["standard_error"] is not None for one in result.get("estimates", {}).values())
    if has_intervals and not words.startswith("Right"):
        words += " The intervals of the unknowns count the noise of the data only, not this error; train longer first."
    return words


def _solution_verdict(result: Mapping[str, Any]) -> str:
    ending = _ENDINGS[result["status"]]
    trained, held_out = result["final"].get("residual"), result["held_out_residual"]
    if result["relative_l2_error"] is not None:
        return f"{_judged(result['relative_l2_error'], 'the relative L2 error against the reference is')} {ending}"
    if trained is None or not held_out < float("inf"):
        return f"Not to be trusted: nothing was trained. {ending}"
    if result.get("estimated_error") is not None:
        means = "its residual implies a relative L2 error of about"
        return f"{_judged(result['estimated_error'], means)} There is no reference to compare with. {ending}"
    ratio = held_out / max(trained, 1e-300)
    if ratio > _GENERALISES:
        return (
            f"Not to be trusted: between the training points the squared residual is {ratio:.0f} times that on them. "
            f"Use a denser grid. {ending}"
        )
    return (
        f"Not checked against a reference. The squared residual is {held_out:.1e} on points that were not trained on, "
        f"as small as on those that were; compare several seeds before you rely on it. {ending}"
    )


def _judged(error: float, means: str) -> str:
    if not error < float("inf"):
        return "Wrong: the solution is not finite."
    word = "Right" if error <= _GOOD_ERROR else "Roughly right" if error <= _FAIR_ERROR else "Wrong"
    return f"{word}: {means} {error:.1e}."
