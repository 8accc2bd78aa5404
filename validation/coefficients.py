"""How well are both coefficients of Korteweg-de Vries found from 500 points with 1 % noise?

    python validation/coefficients.py [--sets 3]

Each data set has a seed of its own, which the network starts from too. Runs are kept under runs/coefficients; the table
is written to validation/results/coefficients.json. Exit code 1 if a coefficient is off by more than 1 % in any of them.
"""

import argparse
import json
import sys
from pathlib import Path

from studies import example, kept_run

from cinnet.config.presets import resolve_settings

RESULTS = Path(__file__).parent / "results" / "coefficients.json"
LARGEST_DEVIATION = 0.01


def main() -> None:
    inverse = example("kdv_inverse")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=3)
    rows = []
    for seed in range(parser.parse_args().sets):
        problem = inverse.problem(seed)
        settings = resolve_settings(problem, seed=seed, grid=inverse.GRID, stages=inverse.STAGES)
        solution = kept_run(problem, settings, Path("runs/coefficients") / str(seed), reference=False)
        for name, found in solution.estimates.items():
            deviation = found.value / getattr(inverse.TRUTH, name) - 1
            about = {"deviation": deviation, "seconds": solution.result.wall_seconds}
            rows.append({"seed": seed, "name": name, **found.to_json(), **about})
            print(f"set {seed}: {name:10} {found.value:.5g}, off by {deviation:+.2%}", flush=True)
        RESULTS.write_text(json.dumps(rows, indent=2) + "\n")
    largest = max(abs(row["deviation"]) for row in rows)
    print(f"largest deviation {largest:.2%}")
    sys.exit(largest > LARGEST_DEVIATION)


if __name__ == "__main__":
    main()
