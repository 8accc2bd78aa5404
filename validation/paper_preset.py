"""Is the preset `paper` the paper's method? Its loss curve beside that of a plain implementation of the formulas.

    python validation/paper_preset.py [--steps 2000] [--hidden 128 128 128 128]

Allen-Cahn on (10, 64) in float64, one seed, the same initial weights for both: the library's preset with its jets over
columns, and validation/plain_cipinn.py with nested automatic differentiation at every point. Prints the largest
relative difference of the losses and writes validation/results/paper-preset.json and paper-preset.png. It takes
about half an hour. A shorter or narrower trial only prints.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from plain_cipinn import parameters_of, train

from cinnet.plots import STYLE
from cinnet.presets import resolve_settings
from cinnet.problems import AllenCahn
from cinnet.settings import Stage
from cinnet.training import Trainer
from cinnet.training.build import build_network

RESULTS = Path(__file__).parent / "results"
GRID, STEPS, HIDDEN = (10, 64), 2000, (128, 128, 128, 128)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--hidden", type=int, nargs="+", default=list(HIDDEN))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    problem, stages = AllenCahn(), (Stage("adam", arguments.steps),)
    choices = {"hidden": tuple(arguments.hidden), "stages": stages, "dtype": "float64"}
    settings = resolve_settings(problem, "ci-pinn", "paper", arguments.seed, GRID, **choices)
    seconds = {}
    with jax.enable_x64(True):
        start = time.perf_counter()
        records = Trainer(problem, settings).run().records
        seconds["library"] = time.perf_counter() - start
        start = time.perf_counter()
        plain = train(parameters_of(build_network(problem, settings).layers), *GRID, arguments.steps)
        seconds["plain"] = time.perf_counter() - start
    steps = [int(record["step"]) for record in records]
    losses = [record["loss"] for record in records]
    differences = [abs(loss - plain[step]) / plain[step] for step, loss in zip(steps, losses, strict=True)]
    for step, loss, difference in zip(steps, losses, differences, strict=True):
        print(f"step {step:5}  library {loss:.12e}  plain {plain[step]:.12e}  relative difference {difference:.1e}")
    print(f"largest relative difference {max(differences):.1e}; seconds {seconds}")
    if (arguments.steps, tuple(arguments.hidden)) != (STEPS, HIDDEN):
        return
    content = {
        "grid": GRID,
        "hidden": arguments.hidden,
        "seed": arguments.seed,
        "largest_relative_difference": max(differences),
        "seconds": {name: round(value, 1) for name, value in seconds.items()},
        "steps": steps,
        "library": losses,
        "plain": [plain[step] for step in steps],
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "paper-preset.json").write_text(json.dumps(content, indent=2) + "\n")
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6, 3.4))
        axis.semilogy(range(len(plain)), plain, label="plain implementation")
        axis.semilogy(steps, losses, linestyle="", marker="o", label="preset paper")
        axis.set(xlabel="step", ylabel="loss", title=f"largest relative difference {max(differences):.1e}")
        axis.legend(frameon=False)
    figure.savefig(RESULTS / "paper-preset.png", dpi=110)


if __name__ == "__main__":
    main()
