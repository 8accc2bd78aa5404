"""Kill a training run with SIGKILL at random moments, resume it every time, and compare with one left alone.

    python validation/resume.py [--kills 20] [--seed 0]

After every kill the checkpoint must be readable; at the end parameters and records must be equal to the bit.
Exit code 1 if not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

RUN = """
import sys
from cinnet.solver import run
from cinnet.problems import AllenCahn
from cinnet.config.presets import resolve_settings
from cinnet.config.settings import Stage
stages = (Stage("adam", 30, columns=8), Stage("levenberg-marquardt", 60), Stage("soap", 40, horizon=0.5))
settings = resolve_settings(
    AllenCahn(), grid=(8, 24), hidden=(8, 8), harmonics=(3,), windows=2, num_mesh_intervals=8, causality="auto",
    resample_every=7, balance_every=9, stages=stages,
)
run(AllenCahn(), settings, folder=sys.argv[1], reference=False, checkpoint_seconds=0.0)
"""


def start(folder: Path) -> subprocess.Popen:
    """A run in a process of its own; compiled programs are kept between processes, so that kills fall into training."""
    cache = {
        "JAX_COMPILATION_CACHE_DIR": str(folder.parent / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    return subprocess.Popen([sys.executable, "-c", RUN, str(folder)], env=os.environ | cache)


def final_state(folder: Path) -> tuple[dict[str, bytes], list[dict]]:
    with np.load(folder / "checkpoint.npz", allow_pickle=False) as file:
        arrays = {name: file[name].tobytes() for name in file.files if name != "header"}
    records = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return arrays, [{key: value for key, value in record.items() if key != "seconds"} for record in records]


def readable(folder: Path) -> bool:
    """Whether the checkpoint, if there is one, is whole."""
    from cinnet.storage.checkpoint import CheckpointError, verify_checkpoint

    path = folder / "checkpoint.npz"
    try:
        if path.exists():
            verify_checkpoint(path)
    except CheckpointError as error:
        print(error)
        return False
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    rng = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as scratch:
        assert start(Path(scratch) / "compile").wait() == 0
        alone = Path(scratch) / "alone"
        begin = time.time()
        assert start(alone).wait() == 0
        trained = (alone / "metrics.jsonl").stat().st_mtime - begin
        expected = final_state(alone)
        assert final_state(Path(scratch) / "compile") == expected
        print(f"left alone: trained after {trained:.1f} s, {len(expected[1])} records", flush=True)

        kills, equal, unreadable, number = 0, 0, 0, 0
        while kills < arguments.kills:
            folder, number = Path(scratch) / f"killed{number}", number + 1
            while True:
                process = start(folder)
                try:
                    process.wait(rng.uniform(0.1, 1.1) * trained)
                    break
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
                    kills += 1
                    unreadable += not readable(folder)
                    progress = (folder / "metrics.jsonl").exists() and len(final_state(folder)[1])
                    print(f"kill {kills}: {progress or 0} records so far", flush=True)
            same = process.returncode == 0 and final_state(folder) == expected
            equal += same
            print(f"run {number} finished: {'identical' if same else 'DIFFERENT'}", flush=True)
    print(f"{kills} kills, {number} runs: {equal} identical, {unreadable} checkpoints unreadable")
    sys.exit(0 if equal == number and not unreadable else 1)


if __name__ == "__main__":
    main()
