"""Kill a training run with SIGKILL at random moments, resume it every time, and compare with one left alone.

    python validation/resume.py [--kills 20] [--seed 0]

After every kill the checkpoint must be readable; at the end parameters and records must be equal to the bit.
Exit code 1 if not.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from cinnet import AllenCahn, Stage
from cinnet.config.presets import resolve_settings
from cinnet.overrides import Overrides
from cinnet.solver import run
from cinnet.storage.checkpoint import load_checkpoint
from cinnet.storage.files import StorageError
from cinnet.storage.run_folder import CHECKPOINT_FILE, METRICS_FILE, load_records


def train(folder: Path) -> None:
    """A run in which all that changes the objective happens, and every step is saved."""
    choices: Overrides = {
        "stages": (Stage("adam", 30, columns=8), Stage("levenberg-marquardt", 60), Stage("soap", 40, horizon=0.5)),
        "windows": 2,
        "causality": "auto",
        "resample_every": 7,
        "balance_every": 9,
        "hidden": (8, 8),
        "harmonics": (3,),
        "num_mesh_intervals": 8,
    }
    settings = resolve_settings(AllenCahn(), grid=(8, 24), **choices)
    run(AllenCahn(), settings, folder=folder, checkpoint_seconds=0.0)


def ended(folder: Path, seconds: float | None = None) -> int | None:
    """Run in a process of its own, and return its exit code; it is killed after so many seconds and has none then."""
    process = multiprocessing.get_context("spawn").Process(target=train, args=(folder,))
    process.start()
    process.join(seconds)
    code = process.exitcode
    if code is None:
        process.kill()
        process.join()
    return code


def final_state(folder: Path) -> tuple[dict[str, bytes], list[dict[str, float]]]:
    """The bytes of all arrays, and the records without their times."""
    with np.load(folder / CHECKPOINT_FILE, allow_pickle=False) as file:
        arrays = {name: file[name].tobytes() for name in file.files if name != "header"}
    records = load_records(folder / METRICS_FILE)
    return arrays, [{key: value for key, value in record.items() if key != "seconds"} for record in records]


def readable(folder: Path) -> bool:
    """Whether the checkpoint, if there is one, is whole."""
    path = folder / CHECKPOINT_FILE
    try:
        if path.exists():
            load_checkpoint(path, lambda metadata: {})
    except StorageError as error:
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
        place = Path(scratch)
        # Compiled programs are kept between processes, so that kills fall into training.
        os.environ["JAX_COMPILATION_CACHE_DIR"] = str(place / "compiled")
        os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"
        assert ended(place / "compile") == 0
        alone, begin = place / "alone", time.time()
        assert ended(alone) == 0
        trained = (alone / METRICS_FILE).stat().st_mtime - begin
        expected = final_state(alone)
        assert final_state(place / "compile") == expected
        print(f"left alone: trained after {trained:.1f} s, {len(expected[1])} records", flush=True)

        kills, equal, unreadable, number = 0, 0, 0, 0
        while kills < arguments.kills:
            folder, number = place / f"killed{number}", number + 1
            while (code := ended(folder, rng.uniform(0.1, 1.1) * trained)) is None:
                kills += 1
                unreadable += not readable(folder)
                print(f"kill {kills}: {len(load_records(folder / METRICS_FILE))} records so far", flush=True)
            same = code == 0 and final_state(folder) == expected
            equal += same
            print(f"run {number} finished: {'identical' if same else 'DIFFERENT'}", flush=True)
    print(f"{kills} kills, {number} runs: {equal} identical, {unreadable} checkpoints unreadable")
    sys.exit(0 if equal == number and not unreadable else 1)


if __name__ == "__main__":
    main()
