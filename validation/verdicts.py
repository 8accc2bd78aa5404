"""Is the verdict right without a reference? Twenty runs, half of them bad on purpose, judged by their residual alone.

    python validation/verdicts.py

Every run is judged as if no reference existed, then its true error is measured. A run is bad if that exceeds 5e-2. The
table is printed and written to validation/results/verdicts.json; the script fails if a bad run is called accurate.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gallery import forward_example

import cinnet
from cinnet.assess.error_estimate import error_estimate
from cinnet.assess.verdict import Accuracy, Facts, Verdict, judge, recent_decrease, trained_residual
from cinnet.config.settings import Stage

RESULTS = Path(__file__).parent / "results" / "verdicts.json"
BAD = 5e-2
TOO_SMALL = {"hidden": (2,), "harmonics": (1,), "windows": 1}
FEW_STEPS = (Stage("levenberg-marquardt", 5),)


@dataclass(frozen=True)
class Trial:
    """A run that should turn out well, or in the way that `flaw` says not."""

    name: str
    grid: tuple[int, int]
    flaw: str = ""
    method: str = "ci-pinn"
    settings: dict[str, Any] = field(default_factory=dict)


TRIALS = [
    Trial("allen-cahn", (10, 64)),
    Trial("allen-cahn", (10, 128)),
    Trial("allen-cahn", (20, 128)),
    Trial("burgers", (10, 64)),
    Trial("fisher_kpp", (10, 64)),
    Trial("heat_dirichlet", (10, 32)),
    Trial("heat_neumann", (10, 32)),
    Trial("lotka_volterra", (100, 1)),
    Trial("shallow_water", (20, 64)),
    Trial("swift_hohenberg", (20, 128)),
    Trial("allen-cahn", (10, 64), "wrong basin", "pinn", {"windows": 1}),
    Trial("allen-cahn", (10, 128), "network too small", settings=TOO_SMALL),
    Trial("allen-cahn", (10, 16), "too few points"),
    Trial("allen-cahn", (2, 64), "too few times", settings={"windows": 1}),
    Trial("burgers", (10, 64), "network too small", settings=TOO_SMALL),
    Trial("burgers", (2, 8), "too few points", settings={"windows": 1}),
    Trial("heat_dirichlet", (10, 32), "too few steps", settings={"stages": FEW_STEPS, "hidden": (4,), "windows": 1}),
    Trial("advection", (80, 32), "too few times"),
    Trial("lotka_volterra", (8, 1), "too few times", "pinn", {"windows": 1}),
    Trial("kdv", (10, 32), "too few points"),
]


def problem_named(name: str) -> cinnet.EvolutionProblem:
    return cinnet.PROBLEMS[name]() if name in cinnet.PROBLEMS else forward_example(name)[1]()


def judged_by_residual(solution: cinnet.Solution) -> tuple[Verdict, float | None]:
    """The verdict on a solution without its reference, and the estimated error."""
    estimate = error_estimate(solution.problem, solution.network, solution.settings.num_times)
    facts = Facts(
        # How training ended changes the words, never the accuracy.
        status="completed",
        estimate=estimate,
        trained_residual=trained_residual(solution.records),
        held_out_residual=solution.result["held_out_residual"],
        recent_decrease=recent_decrease(solution.records),
        steps=solution.result["steps"],
        windows=solution.settings.windows,
        finished_windows=solution.settings.windows,
        dtype=str(solution.network.dtype),
    )
    return judge(facts), None if estimate is None else estimate.overall


def main() -> None:
    rows, verdicts = [], []
    for trial in TRIALS:
        problem = problem_named(trial.name)
        solution = cinnet.solve(problem, trial.method, grid=trial.grid, reference=False, **trial.settings)
        verdict, estimated = judged_by_residual(solution)
        row = {
            "problem": trial.name,
            "grid": trial.grid,
            "flaw": trial.flaw,
            "estimated_error": estimated,
            "true_error": solution.relative_error(),
            "verdict": str(verdict),
        }
        rows.append(row)
        verdicts.append(verdict)
        estimate = "none" if estimated is None else f"{estimated:.1e}"
        print(
            f"{trial.name:16} {trial.grid!s:10} {trial.flaw or 'good':18} true {row['true_error']:.1e} "
            f"estimated {estimate:8} {verdict.accuracy}",
            flush=True,
        )
        RESULTS.write_text(json.dumps(rows, indent=2) + "\n")
    bad = [verdict.accuracy for row, verdict in zip(rows, verdicts, strict=True) if row["true_error"] > BAD]
    wrong = sum(accuracy in (Accuracy.ACCURATE, Accuracy.MODERATE) for accuracy in bad)
    accurate = sum(verdict.accuracy is Accuracy.ACCURATE for verdict in verdicts)
    print(
        f"{len(bad)} of {len(rows)} runs are bad, {wrong} of them were called accurate; "
        f"{accurate} runs were called accurate"
    )
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
