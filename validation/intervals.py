"""Do the 95 % intervals of an unknown cover the truth? Allen-Cahn's diffusivity from 20 simulated data sets.

    python validation/intervals.py [--sets 20]

Each data set has 200 points with 1 % noise and a seed of its own. Runs are kept under runs/intervals; the table
is written to validation/results/intervals.json. Exit code 1 if fewer than 85 % of the intervals cover the truth.
"""

import argparse
import json
import sys
from pathlib import Path

from studies import example, kept_run

from cinnet.config.presets import resolve_settings

RESULTS = Path(__file__).parent / "results" / "intervals.json"
LEAST_COVERAGE = 0.85


def main() -> None:
    inverse = example("allen_cahn_inverse")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", type=int, default=20)
    rows = []
    for seed in range(parser.parse_args().sets):
        problem = inverse.problem(seed)
        settings = resolve_settings(problem, seed=seed, grid=inverse.GRID)
        solution = kept_run(problem, settings, Path("runs/intervals") / str(seed), reference=False)
        found = solution.estimates["diffusivity"]
        covered = found.lower <= inverse.TRUTH.diffusivity <= found.upper
        rows.append({"seed": seed, **found.to_json(), "covers": covered})
        RESULTS.write_text(json.dumps(rows, indent=2) + "\n")
        print(
            f"set {seed:2}: {found.value:.3e}, {found.lower:.3e} to {found.upper:.3e} "
            f"{'covers' if covered else 'misses'} {inverse.TRUTH.diffusivity}",
            flush=True,
        )
    covering = sum(row["covers"] for row in rows)
    print(f"{covering} of {len(rows)} intervals cover the truth")
    sys.exit(covering < LEAST_COVERAGE * len(rows))


if __name__ == "__main__":
    main()
