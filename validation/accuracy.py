"""The paper's accuracy on its own training grids, with seeds, in units of one 4096^3 float32 GEMM.

    python validation/accuracy.py [--preset fast|accurate] [--seeds 0 1 2] [--rows 1 2 ...] [--method ci-pinn]

Every run is a folder under runs/accuracy and goes on if it was interrupted; finished ones are not repeated. The table
is printed and its rows are written to validation/results/accuracy-<preset>.json. Exit code 1 if a bar is missed.
"""

import argparse
import json
import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from studies import kept_run

from cinnet import PROBLEMS, Solution
from cinnet.config.presets import resolve_settings
from cinnet.storage.run_folder import run_name

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Row:
    """A problem on a training grid, the error to reach and the time it may take, in GEMMs."""

    problem: str
    grid: tuple[int, int] | None
    error: float
    gemms: float


ROWS = {
    "fast": [
        Row("allen-cahn", (10, 64), 1.35e-2, 150),
        Row("allen-cahn", (10, 128), 2.99e-3, 150),
        Row("allen-cahn", (20, 256), 1.9e-3, 240),
        Row("kdv", (20, 256), 7.8e-3, 600),
        Row("cahn-hilliard", (40, 256), 6.0e-3, 1200),
        Row("allen-cahn-2d", (20, 1024), 5.0e-3, 1200),
    ],
    "accurate": [
        Row("allen-cahn", None, 5e-5, 1640),
        Row("kdv", None, 1e-3, 1640),
        Row("cahn-hilliard", None, 8.8e-4, 1640),
        Row("allen-cahn-2d", None, 1e-3, 1640),
    ],
}


def measured(row: Row, method: str, preset: str, seed: int) -> Solution:
    problem = PROBLEMS[row.problem]()
    settings = resolve_settings(problem, method, preset, seed, row.grid)
    folder = Path("runs/accuracy") / run_name(row.problem, settings)
    return kept_run(problem, settings, folder, gemms=row.gemms)


def summarised(row: Row, arguments: argparse.Namespace) -> dict[str, Any]:
    """A row of the table, with all seeds."""
    solutions = [measured(row, arguments.method, arguments.preset, seed) for seed in arguments.seeds]
    errors = [solution.relative_error() for solution in solutions]
    results = [solution.result for solution in solutions]
    gemms = [result.wall_seconds / result.notes["gemm_seconds"] for result in results]
    median = statistics.median(errors)
    return {
        "problem": row.problem,
        "grid": [results[0].num_times, results[0].num_points],
        "method": arguments.method,
        "preset": arguments.preset,
        "seeds": arguments.seeds,
        "errors": errors,
        "median": median,
        "bar": row.error,
        "gemms": [round(count, 1) for count in gemms],
        "gemm_limit": row.gemms,
        "wall_seconds": [result.wall_seconds for result in results],
        "held_out_residuals": [result.held_out_residual for result in results],
        "status": [result.status for result in results],
        "met": median <= row.error and statistics.median(gemms) <= row.gemms,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--preset", choices=sorted(ROWS), default="fast")
    parser.add_argument("--method", default="ci-pinn")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--rows", type=int, nargs="+", help="Which rows of the table, from 1; all if left out.")
    arguments = parser.parse_args()
    chosen = ROWS[arguments.preset]
    chosen = [chosen[number - 1] for number in arguments.rows] if arguments.rows else chosen
    summary = []
    print(f"{'problem':14} {'grid':>10} {'errors of the seeds':36} {'median':>8} {'bar':>8} {'GEMMs':>18} {'limit':>6}")
    for row in chosen:
        one = summarised(row, arguments)
        summary.append(one)
        grid = "x".join(map(str, one["grid"]))
        errors = " ".join(f"{error:.2e}" for error in one["errors"])
        gemms = " ".join(f"{count:.0f}" for count in one["gemms"])
        print(
            f"{row.problem:14} {grid:>10} {errors:36} {one['median']:8.2e} {row.error:8.2e} {gemms:>18} "
            f"{row.gemms:6.0f} {'met' if one['met'] else 'NOT MET'}",
            flush=True,
        )
    write(arguments.preset, summary)
    raise SystemExit(not all(row["met"] for row in summary))


def write(preset: str, summary: list[dict[str, Any]]) -> None:
    """Put the measured rows into the file of the preset, in the place of earlier ones of the same problem and grid."""
    path = RESULTS / f"accuracy-{preset}.json"
    known = json.loads(path.read_text()) if path.exists() else []
    rows = {(row["problem"], row["method"], *row["grid"]): row for row in [*known, *summary]}
    RESULTS.mkdir(exist_ok=True)
    path.write_text(json.dumps(list(rows.values()), indent=2) + "\n")
    print(f"written: {path.relative_to(Path(__file__).parent.parent)}")


if __name__ == "__main__":
    main()
