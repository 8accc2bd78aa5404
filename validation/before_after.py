"""Whether the presets give the same errors on this code as on an earlier commit.

    python validation/before_after.py COMMIT [--rows 1 2 ...] [--digits 3] [--workers 2]

Both trees solve the same problems with the same seed, each run in a process of its own with one thread. The table is
printed, and what was measured is kept in validation/results/before-after.json and not run again.
Exit code 1 if an error differs in its first digits.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "validation/results/before-after.json"


@dataclass(frozen=True)
class Row:
    """One run; a single stage of an optimizer with so many steps where it is not trained as the preset says."""

    preset: str
    method: str
    problem: str
    grid: tuple[int, int] | None
    stage: tuple[str, int] | None = None


ROWS = [
    Row("fast", "ci-pinn", "allen-cahn", (10, 64)),
    Row("fast", "ci-pinn", "allen-cahn", (10, 128)),
    *(Row("fast", method, "allen-cahn", (20, 256)) for method in ("ci-pinn", "causal-pinn", "pinn")),
    *(Row("fast", method, "kdv", (20, 256)) for method in ("ci-pinn", "pinn")),
    Row("fast", "ci-pinn", "cahn-hilliard", (40, 256)),
    Row("fast", "ci-pinn", "allen-cahn-2d", (20, 1024)),
    Row("accurate", "ci-pinn", "allen-cahn", None, ("levenberg-marquardt", 10)),
    Row("accurate", "ci-pinn", "allen-cahn-2d", None, ("levenberg-marquardt", 3)),
    *(Row("whole", method, "allen-cahn", (10, 64)) for method in ("ci-pinn", "causal-pinn", "pinn")),
    Row("paper", "ci-pinn", "allen-cahn", (10, 64), ("adam", 500)),
]

RUN = """
import json, sys
import cinnet
try:
    from cinnet import Stage
except ImportError:  # before 0.2
    from cinnet.settings import Stage
row = json.loads(sys.argv[1])
grid = None if row["grid"] is None else tuple(row["grid"])
own = {} if row["stage"] is None else {"stages": (Stage(*row["stage"]),)}
solution = cinnet.solve(row["problem"], row["method"], row["preset"], grid=grid, **own)
print(json.dumps([solution.relative_error(), solution.records[-1]["loss"]]))
"""


def measured(tree: Path, cache: Path, row: Row) -> list[float]:
    """The error and the last loss of a run with the code of a tree."""
    own = {"PYTHONPATH": str(tree / "src"), "CINNET_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
    command = [sys.executable, "-c", RUN, json.dumps(asdict(row))]
    environment = {**os.environ, **own, "XLA_FLAGS": flags.strip()}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{row} with the code of {tree.name} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def commit(name: str) -> str:
    return git("rev-parse", "--short=8", name)


def git(*words: str) -> str:
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True, check=True).stdout.strip()


@contextmanager
def source_trees(*names: str) -> Iterator[dict[str, Path]]:
    """The source of some commits, each in a folder of its own."""
    with tempfile.TemporaryDirectory() as place:
        trees = {name: Path(place) / name for name in names}
        try:
            for name, tree in trees.items():
                git("worktree", "add", "--detach", str(tree), name)
            yield trees
        finally:
            for tree in trees.values():
                git("worktree", "remove", "--force", str(tree))


def compare(before: str, after: str, rows: Sequence[Row], workers: int) -> None:
    """Run what is missing of both commits, and write down every run as it is finished."""
    missing = [(name, row) for row in rows for name in (before, after) if measurement(name, row) is None]
    with source_trees(before, after) as trees, ThreadPoolExecutor(workers) as pool:
        jobs = [
            (name, row, pool.submit(measured, trees[name], trees[name].parent / f"cache-{name}", row))
            for name, row in missing
        ]
        for name, row, job in jobs:
            error, loss = job.result()
            RESULTS.write_text(
                json.dumps([*known(), {"commit": name, **asdict(row), "error": error, "loss": loss}], indent=1) + "\n"
            )


def known() -> list[dict]:
    return json.loads(RESULTS.read_text()) if RESULTS.exists() else []


def measurement(commit: str, row: Row) -> dict | None:
    """What was measured of a row with the code of a commit, if it was."""
    wanted = json.loads(json.dumps({"commit": commit, **asdict(row)}))
    return next((one for one in known() if wanted.items() <= one.items()), None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", help="The commit to compare with.")
    parser.add_argument("--after", default="HEAD")
    parser.add_argument("--rows", type=int, nargs="+", help="Which rows, from 1; all if left out.")
    parser.add_argument("--digits", type=int, default=3)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    rows = [ROWS[number - 1] for number in arguments.rows] if arguments.rows else ROWS
    commits = commit(arguments.before), commit(arguments.after)
    compare(*commits, rows, arguments.workers)
    same = True
    print(f"{'preset':9} {'method':12} {'problem':14} {'grid':>10} {'steps':>6} {commits[0]:>10} {commits[1]:>10}")
    for row in rows:
        errors = [f"{one['error']:.{arguments.digits - 1}e}" for c in commits if (one := measurement(c, row))]
        grid = "preset's" if row.grid is None else "x".join(map(str, row.grid))
        steps = "" if row.stage is None else row.stage[1]
        mark = "" if len(set(errors)) == 1 else "DIFFERS"
        print(f"{row.preset:9} {row.method:12} {row.problem:14} {grid:>10} {steps:>6} {' '.join(errors):>21} {mark}")
        same &= not mark
    raise SystemExit(not same)


if __name__ == "__main__":
    main()
