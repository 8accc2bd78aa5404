"""How long the reference solutions take, how far two refinements agree, and the measured order of ETDRK4.

python validation/references.py
"""

import time

import numpy as np

from cinnet import PROBLEMS, reference_solution


def measured_order(name: str, modes: int, coarsest: int) -> float:
    """The slope of the error at mid-interval over the time step, against four times the steps of the finest."""
    problem = PROBLEMS[name]()
    points = problem.box.uniform_grid((128,))
    middle = np.array([(problem.interval.start + problem.interval.end) / 2])

    def at_middle(steps: int) -> np.ndarray:
        solution = reference_solution(problem, modes=modes, time_step=1 / steps, cache=False, levels=3)
        return solution.on_grid(middle, points)

    steps = [coarsest * 2**k for k in range(3)]
    exact = at_middle(4 * steps[-1])
    errors = [np.linalg.norm(at_middle(n) - exact) for n in steps]
    return -np.polyfit(np.log(steps), np.log(errors), 1)[0]


def main() -> None:
    print(f"{'problem':14} {'seconds':>8} {'modes':>12} {'time step':>10} {'agreement':>10}")
    for name, problem in PROBLEMS.items():
        start = time.perf_counter()
        solution = reference_solution(problem(), cache=False)
        elapsed = time.perf_counter() - start
        modes = "x".join(map(str, solution.modes))
        print(f"{name:14} {elapsed:8.1f} {modes:>12} {solution.time_step:10.2e} {solution.agreement:10.1e}", flush=True)
    print(f"order on Allen-Cahn (real operator): {measured_order('allen-cahn', 256, 80):.2f}", flush=True)
    print(f"order on KdV (imaginary operator):   {measured_order('kdv', 128, 1000):.2f}", flush=True)


if __name__ == "__main__":
    main()
