"""Is the verdict right without a reference? Twenty runs, half of them bad on purpose, judged by their residual alone.

    python validation/verdicts.py

Every run is judged as if no reference existed, then its true error is measured. A run is bad if that exceeds 5e-2. The
table is printed and written to validation/results/verdicts.json; the script fails if a bad run is called accurate.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path

from studies import example, problem_of

from cinnet import PROBLEMS, EvolutionProblem, Stage, solve
from cinnet.assess.verdict import Accuracy
from cinnet.overrides import Overrides

RESULTS = Path(__file__).parent / "results" / "verdicts.json"
BAD = 5e-2
TOO_SMALL: Overrides = {"hidden": (2,), "harmonics": (1,), "windows": 1}
FEW_STEPS = (Stage("levenberg-marquardt", 5),)


@dataclass(frozen=True)
class Trial:
    """A run that should turn out well, or in the way that `flaw` says not."""

    name: str
    grid: tuple[int, int]
    flaw: str = ""
    method: str = "ci-pinn"
    settings: Overrides = field(default_factory=Overrides)


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


def problem_named(name: str) -> EvolutionProblem:
    return PROBLEMS[name]() if name in PROBLEMS else problem_of(example(name))()


def main() -> None:
    rows, verdicts = [], []
    for trial in TRIALS:
        solution = solve(problem_named(trial.name), trial.method, grid=trial.grid, **trial.settings)
        verdict = solution.assess(reference=False).verdict
        estimated = solution.result.estimated_error
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
