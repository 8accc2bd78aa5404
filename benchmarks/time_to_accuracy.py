"""How long preset `fast` takes to the paper's error, against 300,000 steps of the paper's recipe on this machine.

For each problem, on the paper's grid: one whole run of `fast` with its error beside the paper's five-seed mean, one
measured step of preset `paper` times 300,000, and their ratio. A run that misses the paper's error has no ratio.

    python benchmarks/time_to_accuracy.py [--problems allen-cahn kdv] [--seed 0]
"""

import argparse

import equinox as eqx
import jax
from step_cost import seconds

from cinnet import PROBLEMS
from cinnet.optimizers import OPTIMIZERS
from cinnet.runs import gemm_seconds, solve
from cinnet.settings import resolve_settings
from cinnet.training.build import Window, build_network, build_objective, build_points

PAPER_STEPS = 300_000
PAPER_ERRORS = {"allen-cahn": 1.94e-3, "kdv": 7.81e-3, "cahn-hilliard": 6.06e-3, "allen-cahn-2d": 5.09e-3}


def paper_step_seconds(name: str) -> float:
    """The time of one Adam step of the paper's recipe on its grid."""
    problem = PROBLEMS[name]()
    settings = resolve_settings(problem, "ci-pinn", "paper")
    network, points = build_network(problem, settings), build_points(problem, settings)
    objective = build_objective(problem, settings, network, points, Window.of(problem, settings, ()))
    optimizer = OPTIMIZERS["adam"]()
    step = eqx.filter_jit(optimizer.step)
    return seconds(step, objective, network, optimizer.init(network), repeats=3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", choices=sorted(PAPER_ERRORS), default=list(PAPER_ERRORS))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    print(f"GEMM 4096^3: {gemm_seconds():.2f} s")
    print(
        f"{'problem':14} {'our error':>10} {'paper':>9} {'our time':>10} {'its step':>11} {'x 300000':>12} {'ratio':>7}"
    )
    for name in arguments.problems:
        result = solve(name, seed=arguments.seed).result
        with jax.enable_x64(True):
            step = paper_step_seconds(name)
        reached = result["relative_l2_error"] <= PAPER_ERRORS[name]
        ratio = f"{PAPER_STEPS * step / result['wall_seconds']:7.0f}x" if reached else "missed"
        print(
            f"{name:14} {result['relative_l2_error']:10.2e} {PAPER_ERRORS[name]:9.2e} {result['wall_seconds']:8.0f} s "
            f"{step:9.2f} s {PAPER_STEPS * step / 3600:10.0f} h {ratio:>8}",
            flush=True,
        )


if __name__ == "__main__":
    main()
