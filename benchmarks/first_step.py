"""How long a user waits for the first iteration of preset `fast`: from starting Python to the first record on screen.

    python benchmarks/first_step.py [--problems allen-cahn kdv]

Import, symmetry, compilation and the first step are included; no reference solution is needed, and none is computed.
"""

import argparse
import subprocess
import sys
import time

PROBLEMS = ("allen-cahn", "kdv", "cahn-hilliard", "allen-cahn-2d")
UNTIL_FIRST_RECORD = """
import os, sys
from cinnet.solver import solve
solve(sys.argv[1], watch=lambda record: os._exit(42))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", choices=PROBLEMS, default=PROBLEMS)
    for name in parser.parse_args().problems:
        start = time.perf_counter()
        finished = subprocess.run([sys.executable, "-c", UNTIL_FIRST_RECORD, name], check=False)
        assert finished.returncode == 42, f"{name} ended before its first record"
        print(f"{name:14} {time.perf_counter() - start:5.1f} s", flush=True)


if __name__ == "__main__":
    main()
