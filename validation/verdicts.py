"""Is the verdict right without a reference? Twenty runs, half of them bad on purpose, judged by their residual alone.

    python validation/verdicts.py

Every run is judged as if no reference existed, then its true error is measured. A run is bad if that exceeds 5e-2. The
table is printed and written to validation/results/verdicts.json; the script fails if a bad run is called right.
"""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gallery import forward_example

import cinnet
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


def main() -> None:
    rows = []
    for trial in TRIALS:
        problem = problem_named(trial.name)
        solution = cinnet.solve(problem, trial.method, grid=trial.grid, reference=False, **trial.settings)
        row = {
            "problem": trial.name,
            "grid": trial.grid,
            "flaw": trial.flaw,
            "estimated_error": solution.result["estimated_error"],
            "true_error": solution.relative_error(),
            "verdict": solution.result["verdict"],
        }
        rows.append(row)
        estimate = "none" if row["estimated_error"] is None else f"{row['estimated_error']:.1e}"
        print(
            f"{trial.name:16} {trial.grid!s:10} {trial.flaw or 'good':18} true {row['true_error']:.1e} "
            f"estimated {estimate:8} {row['verdict'].split(':')[0]}",
            flush=True,
        )
        RESULTS.write_text(json.dumps(rows, indent=2) + "\n")
    wrong = [row for row in rows if row["true_error"] > BAD and row["verdict"].startswith(("Right", "Roughly right"))]
    bad = sum(row["true_error"] > BAD for row in rows)
    right = sum(row["verdict"].startswith("Right") for row in rows)
    print(f"{bad} of {len(rows)} runs are bad, {len(wrong)} of them were called right; {right} runs were called right")
    raise SystemExit(bool(wrong))


if __name__ == "__main__":
    main()
