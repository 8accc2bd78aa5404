"""What the preset `whole` was chosen by: training loss and held-out residual of some settings, and never an error.

    python validation/search.py [--rows NAME ...] [--settings NAME ...] [--methods ci-pinn ...] [--seeds 5 ...]

No reference solution is read, so nobody can choose by the test error, and the seeds are not those of any table. Prints
a line a run and adds it to validation/results/search.jsonl.
"""

import argparse
import json
import time
from pathlib import Path

from cinnet import AllenCahn, Stage
from cinnet.config.presets import resolve_settings
from cinnet.config.settings import METHODS
from cinnet.overrides import Overrides
from cinnet.solver import run

RESULTS = Path(__file__).parent / "results" / "search.jsonl"
ROWS: dict[str, tuple[tuple[int, int], Overrides]] = {
    "(10, 64)": ((10, 64), {}),
    "(20, 128)": ((20, 128), {}),
    "(20, 256), omega 1": ((20, 256), {"initial_weight": 1.0}),
}


def _constant(**steps_of_rate: int) -> Overrides:
    rates = {"high": 3e-3, "middle": 1e-3, "low": 3e-4}
    return {"stages": tuple(Stage("soap", n, {"learning_rate": rates[name]}) for name, n in steps_of_rate.items())}


def _cosine(steps: int, learning_rate: float = 3e-3, **options: float) -> Overrides:
    return {"stages": (Stage("soap", steps, {"learning_rate": learning_rate, "decay_steps": steps, **options}),)}


SETTINGS: dict[str, Overrides] = {
    "steps 5000, three rates": _constant(high=3000, middle=1000, low=1000),
    "cosine 5000": _cosine(5000),
    "cosine 5000, rate 1e-2": _cosine(5000, 1e-2),
    "cosine 5000, rate 2e-2": _cosine(5000, 2e-2),
    "cosine 5000, rate 4e-2": _cosine(5000, 4e-2),
    "cosine 5000, b2 0.99": _cosine(5000, b2=0.99),
    "cosine 5000, b2 0.999": _cosine(5000, b2=0.999),
    "cosine 5000, weight decay 0.1": _cosine(5000, weight_decay=0.1),
    "cosine 5000, 3x32": _cosine(5000) | {"hidden": (32, 32, 32)},
    "cosine 10000, 3x32": _cosine(10_000) | {"hidden": (32, 32, 32)},
    "cosine 10000, rate 1e-2, 3x32": _cosine(10_000, 1e-2) | {"hidden": (32, 32, 32)},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--settings", nargs="+", choices=SETTINGS, default=list(SETTINGS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=["ci-pinn"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[5])
    arguments = parser.parse_args()
    for row in arguments.rows:
        for name in arguments.settings:
            for method in arguments.methods:
                for seed in arguments.seeds:
                    try_one(row, name, method, seed)


def try_one(row: str, name: str, method: str, seed: int) -> None:
    problem = AllenCahn()
    grid, overrides = ROWS[row]
    settings = resolve_settings(problem, method, "whole", seed, grid, **(overrides | SETTINGS[name]))
    start = time.perf_counter()
    final = run(problem, settings).result.final
    last = {name: final[name] for name in ("loss", "residual", "initial", "held_out_residual")}
    seconds = round(time.perf_counter() - start, 1)
    content = {"row": row, "settings": name, "method": method, "seed": seed, **last, "seconds": seconds}
    with RESULTS.open("a") as file:
        file.write(json.dumps(content) + "\n")
    numbers = "  ".join(f"{name} {value:.2e}" for name, value in last.items())
    print(f"{row:20} {name:32} {method:11} seed {seed}  {numbers}  {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
