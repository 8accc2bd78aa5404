"""How long preset `fast` takes to the paper's error, against 300,000 steps of the paper's recipe on this machine.

For each problem, on the paper's grid: one whole run of `fast` with its error beside the paper's five-seed mean, one
measured step of preset `paper` times 300,000, and the ratio of the two, each in units of a GEMM measured beside it. A
run that misses the paper's error has no ratio. Finished runs in the folder are used, such as those of
validation/accuracy.py; others are made there.

    python benchmarks/time_to_accuracy.py [--problems allen-cahn kdv] [--seed 0] [--runs runs/accuracy]
"""

import argparse
from pathlib import Path

import jax
from step_cost import seconds

from cinnet import PROBLEMS, Solution, load
from cinnet.config.presets import resolve_settings
from cinnet.machine import gemm_seconds
from cinnet.solver import run
from cinnet.storage.run_folder import RESULT_FILE, run_name
from cinnet.training import Trainer

PAPER_STEPS = 300_000
PAPER_ERRORS = {"allen-cahn": 1.94e-3, "kdv": 7.81e-3, "cahn-hilliard": 6.06e-3, "allen-cahn-2d": 5.09e-3}


def paper_step_seconds(name: str) -> float:
    """The time of one Adam step of the paper's recipe on its grid."""
    problem = PROBLEMS[name]()
    with jax.enable_x64(True):
        return seconds(Trainer(problem, resolve_settings(problem, preset="paper")).stepper.step)


def fast_run(name: str, seed: int, runs: Path) -> Solution:
    """The run of preset `fast` that a folder has, or a new one."""
    problem = PROBLEMS[name]()
    settings = resolve_settings(problem, seed=seed)
    folder = runs / run_name(name, settings)
    if (folder / RESULT_FILE).exists():
        return load(folder)
    return run(problem, settings, folder=folder, notes={"gemm_seconds": gemm_seconds()})


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", choices=sorted(PAPER_ERRORS), default=list(PAPER_ERRORS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--runs", type=Path, default=Path("runs/accuracy"))
    arguments = parser.parse_args()
    print("times in units of one 4096^3 float32 GEMM")
    print(f"{'problem':14} {'error':>10} {'paper':>9} {'time':>10} {'its step':>9} {'x 300000':>12} {'ratio':>7}")
    for name in arguments.problems:
        solution = fast_run(name, arguments.seed, arguments.runs)
        error, result = solution.relative_error(), solution.result
        ours = result.wall_seconds / result.notes["gemm_seconds"]
        step = paper_step_seconds(name) / gemm_seconds()
        ratio = f"{PAPER_STEPS * step / ours:6.0f}x" if error <= PAPER_ERRORS[name] else "missed"
        print(
            f"{name:14} {error:10.2e} {PAPER_ERRORS[name]:9.2e} {ours:10.0f} {step:9.2f} "
            f"{PAPER_STEPS * step:12.0f} {ratio:>7}",
            flush=True,
        )


if __name__ == "__main__":
    main()
