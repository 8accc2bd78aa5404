"""The paper's central claim in one command: a low loss can be a wrong solution, and memory prevents it.

    python validation/claim.py [--seeds 0 1 2] [--steps 3000] [--output runs/claim]

Allen-Cahn on the sparse grid (10, 64), one window, no causal weights: `pinn` (an MLP) and `ci-pinn` (a CinNet) of
about the same number of parameters, with the same number of steps of the same optimizer (SOAP). Prints losses and
errors and draws both solutions beside the reference.
"""

import argparse
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np

from cinnet import Stage, solve
from cinnet.view.plots import plot_fields

GRID, STEPS = (10, 64), 3000
WIDTHS = {"pinn": (92, 92, 92), "ci-pinn": (64, 64, 64)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--output", type=Path, default=Path("runs/claim"))
    arguments = parser.parse_args()
    times, x = np.linspace(0, 1, 101), np.linspace(-1, 1, 257)
    print(f"{'method':8} {'seed':>4} {'parameters':>10} {'loss':>9} {'held-out':>9} {'error':>9}")
    for seed in arguments.seeds:
        fields = {}
        for method, hidden in WIDTHS.items():
            stages = (Stage("soap", arguments.steps),)
            solution = solve("allen-cahn", method, seed=seed, grid=GRID, hidden=hidden, windows=1, stages=stages)
            error, final = solution.relative_error(), solution.result.final
            print(
                f"{method:8} {seed:4} {solution.result.parameters:10} {final['loss']:9.1e} "
                f"{final['held_out_residual']:9.1e} {error:9.1e}",
                flush=True,
            )
            fields[f"{method}: loss {final['loss']:.0e}, error {error:.0e}"] = solution(times[:, None], x)
            exact = solution.reference.on_grid(times, x[:, None])[..., 0]
        arguments.output.mkdir(parents=True, exist_ok=True)
        path = arguments.output / f"claim-s{seed}.png"
        plot_fields(times, x, fields | {"reference": exact}).savefig(path)
        print(f"figure: {path}")


if __name__ == "__main__":
    main()
