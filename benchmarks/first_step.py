"""How long a user waits for the first iteration of preset `fast`: from starting Python to the first record on screen.

    python benchmarks/first_step.py [--problems allen-cahn kdv]

Import, symmetry, compilation and the first step are included; no reference solution is needed, and none is computed.
"""

import argparse
import multiprocessing
import os
import time

from cinnet import solve

PROBLEMS = ("allen-cahn", "kdv", "cahn-hilliard", "allen-cahn-2d")
AT_FIRST_RECORD = 42


def train_until_first_record(name: str) -> None:
    solve(name, callbacks=(lambda view: os._exit(AT_FIRST_RECORD),))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    fresh = multiprocessing.get_context("spawn")
    for name in parser.parse_args().problems:
        process = fresh.Process(target=train_until_first_record, args=(name,))
        start = time.perf_counter()
        process.start()
        process.join()
        assert process.exitcode == AT_FIRST_RECORD, f"{name} ended before its first record"
        print(f"{name:14} {time.perf_counter() - start:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
