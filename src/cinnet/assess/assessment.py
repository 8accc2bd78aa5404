"""All that can be said of a finished run: errors, the error that its residual implies, unknowns, figures, a verdict."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..networks import Network, WithUnknowns
from ..objective import Objective
from ..problems.base import EvolutionProblem
from ..reference import KnownSolution, known_solution
from ..result import RunResult
from ..sampling import TrainingPoints
from .comparison import ErrorMeter
from .diagnostics import Diagnostics, diagnose
from .error_estimate import ErrorEstimate, error_estimate
from .inference import Estimate, estimates, known_problem
from .metrics import residual_over_time
from .verdict import Facts, Verdict, judge, recent_decrease, trained_residual

_FAILURES = (ArithmeticError, RuntimeError, ValueError, np.linalg.LinAlgError)  # of numerics, not of programs


@dataclass(frozen=True)
class Assessment:
    """What an assessment found; `figures` are those that a result keeps."""

    held_out_residual: float
    relative_l2_error: float | None
    estimate: ErrorEstimate | None
    estimates: Mapping[str, Estimate]
    diagnostics: Diagnostics
    verdict: Verdict

    @property
    def figures(self) -> dict[str, Any]:
        estimate = self.estimate
        return {
            "held_out_residual": self.held_out_residual,
            "relative_l2_error": self.relative_l2_error,
            "estimated_error": None if estimate is None else estimate.overall,
            "error_bound": None if estimate is None else estimate.largest_bound,
            "accurate_until": self.verdict.accurate_until,
            "accuracy": str(self.verdict.accuracy),
            "verdict": str(self.verdict),
            "estimates": {name: one.to_json() for name, one in self.estimates.items()},
        }


def assess(
    problem: EvolutionProblem,
    network: Network,
    result: RunResult,
    records: Sequence[Mapping[str, float]],
    *,
    held_out: TrainingPoints,
    objective: Objective | None = None,
    reference: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Assessment:
    """Assess a network as the solution of a problem.

    `held_out` are points that were not trained on, and `objective` is that of training where the problem has unknowns.
    A reference that fails is a sentence in the verdict, never an error.
    """
    say = progress or (lambda message: None)
    say("residual between the training points")
    residual = float(residual_over_time(problem, network, held_out.times, held_out.points).mean())
    learned: Mapping[str, Estimate] = {}
    if isinstance(network, WithUnknowns) and objective is not None:
        learned = estimates(problem, objective, network)
    fitted = known_problem(problem, network)
    known, failure = find_reference(fitted, progress=progress) if reference else (None, None)
    say("errors and invariants over time")
    error = None if known is None else ErrorMeter(fitted, known)(network)
    estimate = _estimate(fitted, network, result.num_times)
    diagnostics = diagnose(fitted, network, known)
    facts = Facts(
        status=result.status,
        relative_l2_error=error,
        error_over_time=None if diagnostics.error is None else (diagnostics.times, diagnostics.error),
        estimate=estimate,
        trained_residual=trained_residual(records),
        held_out_residual=residual,
        recent_decrease=recent_decrease(records),
        steps=result.steps,
        planned_steps=result.planned_steps,
        windows=result.windows,
        finished_windows=len(result.outcomes),
        can_be_resumed=result.can_be_resumed,
        has_intervals=any(one.standard_error is not None for one in learned.values()),
        incompatibilities=result.incompatibilities,
        reference_failure=failure,
        dtype=network.dtype.name,
    )
    return Assessment(residual, error, estimate, learned, diagnostics, judge(facts))


def find_reference(
    problem: EvolutionProblem, *, compute: bool = True, progress: Callable[[str], None] | None = None
) -> tuple[KnownSolution | None, str | None]:
    """What `known_solution` gives, and why it gives nothing where there should be something."""
    try:
        return known_solution(problem, compute=compute, progress=progress), None
    except _FAILURES as error:
        return None, str(error)


def _estimate(problem: EvolutionProblem, network: Network, num_times: int) -> ErrorEstimate | None:
    try:
        return error_estimate(problem, network, num_times)
    except _FAILURES:
        return None
