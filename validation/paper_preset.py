"""Is the preset `paper` the paper's method? Its training beside that of a plain implementation of the formulas.

    python validation/paper_preset.py [--steps 2000] [--hidden 128 128 128 128]

Allen-Cahn on (10, 64) in float64, one seed, the same initial weights for both: the library's preset with its jets over
columns, and validation/plain_cipinn.py with nested automatic differentiation at every point.

Two trainings that run freely cannot agree to rounding for 2,000 steps, whoever wrote them: where Adam overshoots, a
difference of one unit in the last place grows by ten orders within twenty steps. So three things are measured.
- *Step by step*: before every step the plain implementation is given the library's parameters and moments; compared are
  the loss and the step that it takes from there.
- *Free*: the plain implementation trains on its own from the same initial weights, 800 steps.
- *One unit in the last place*: the library trains from initial weights that are changed by that much, 800 steps.
Writes validation/results/paper-preset.json and docs/results/paper-preset.png, in about 40 minutes on one core, and
fails if the steps differ by more than rounding. A shorter or narrower trial only prints.
"""

import argparse
import dataclasses
import json
import sys
import time
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from plain_cipinn import adam_step, parameters_of, train

from cinnet import AllenCahn, CinNet, Settings, Stage
from cinnet.config.presets import make_optimizer, resolve_settings
from cinnet.solver import run
from cinnet.training.build import build_network, whole_objective
from cinnet.view.style import STYLE

RESULTS = Path(__file__).parent / "results"
FIGURE = Path(__file__).parents[1] / "docs" / "results" / "paper-preset.png"
PROBLEM, GRID, STEPS, HIDDEN = AllenCahn(), (10, 64), 2000, (128, 128, 128, 128)
FREE_STEPS, TRAINER_STEPS = 800, 101
BARS = {"step_by_step": 1e-12, "of_the_step": 1e-9, "trainer": 0.0}
REPORT_EVERY = 100


class Library:
    """The library's network, objective and optimizer, one step at a time."""

    def __init__(self, settings: Settings, network: CinNet):
        (stage,) = settings.stages
        optimizer = make_optimizer(stage)
        self.network = network
        self._objective = whole_objective(PROBLEM, settings, network)
        self._advance = eqx.filter_jit(optimizer.step)
        self._state: Any = optimizer.init(network)

    @property
    def moments(self):
        """Adam's averages of the gradient and of its square."""
        memory = self._state.memory
        return parameters_of(memory.mu.layers), parameters_of(memory.nu.layers)

    def step(self) -> float:
        self.network, self._state, info = self._advance(self._objective, self.network, self._state)
        return float(info.loss)


def initial_network(settings: Settings) -> CinNet:
    network = build_network(PROBLEM, settings)
    assert isinstance(network, CinNet)
    return network


def length(one, other) -> float:
    differences = jax.tree.map(lambda a, b: jnp.sum((a - b) ** 2), one, other)
    return float(jnp.sqrt(sum(jax.tree.leaves(differences))))


def step_by_step(settings: Settings, steps: int) -> tuple[list[float], list[float], list[float]]:
    """The library's losses, and how far the plain loss and the plain step are from them, relative to their sizes."""
    library, plain_step = Library(settings, initial_network(settings)), jax.jit(adam_step, static_argnums=(4, 5))
    losses, loss_differences, step_differences = [], [], []
    for n in range(1, steps + 1):
        before, moments = parameters_of(library.network.layers), library.moments
        after, *_, plain_loss = plain_step(before, *moments, jnp.asarray(float(n)), *GRID)
        losses.append(library.step())
        moved = parameters_of(library.network.layers)
        loss_differences.append(abs(losses[-1] - float(plain_loss)) / float(plain_loss))
        step_differences.append(length(moved, after) / length(moved, before))
        if n % REPORT_EVERY == 0:
            recent = slice(-REPORT_EVERY, None)
            print(
                f"step {n:5}  loss {losses[-1]:.6e}  largest differences: of the loss "
                f"{max(loss_differences[recent]):.1e}, of the step {max(step_differences[recent]):.1e}",
                flush=True,
            )
    return losses, loss_differences, step_differences


def nudged(network: CinNet) -> CinNet:
    """The network with every parameter one unit in the last place away, up or down by chance."""
    rng = np.random.default_rng(0)

    def nudge(leaf):
        return jnp.asarray(np.nextafter(leaf, rng.choice([-np.inf, np.inf], leaf.shape)))

    return jax.tree.map(lambda leaf: nudge(leaf) if eqx.is_inexact_array(leaf) else leaf, network)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--hidden", type=int, nargs="+", default=list(HIDDEN))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    steps = arguments.steps
    choices = {"hidden": tuple(arguments.hidden), "stages": (Stage("adam", steps),), "dtype": "float64"}
    settings = resolve_settings(PROBLEM, "ci-pinn", "paper", arguments.seed, GRID, **choices)
    start = time.perf_counter()
    with jax.enable_x64(True):
        losses, loss_differences, step_differences = step_by_step(settings, steps)
        short = dataclasses.replace(settings, stages=(Stage("adam", min(TRAINER_STEPS, steps) - 1),))
        records = run(PROBLEM, short).records
        network = initial_network(settings)
        free_steps = min(FREE_STEPS, steps)
        free = train(parameters_of(network.layers), *GRID, free_steps - 1)
        other = Library(settings, nudged(network))
        nudged_losses = [other.step() for _ in range(free_steps)]
    # A record of the library's own training loop holds the loss after its step, here the loss before the next one.
    trainer_difference = max(abs(r["loss"] - losses[int(r["step"])]) / r["loss"] for r in records)
    relative = {
        "step_by_step": loss_differences,
        "of_the_step": step_differences,
        "free": [abs(a - b) / b for a, b in zip(losses, free, strict=False)],
        "one_unit_in_the_last_place": [abs(a - b) / b for a, b in zip(losses, nudged_losses, strict=False)],
    }
    largest = {name: max(values) for name, values in relative.items()} | {"trainer": trainer_difference}
    agreeing = {name: first_above(relative[name], 1e-12) for name in ("free", "one_unit_in_the_last_place")}
    print(f"largest relative differences: {largest}")
    print(f"steps that agree to 1e-12: {agreeing}")
    if (steps, tuple(arguments.hidden)) == (STEPS, HIDDEN):
        content = {
            "grid": GRID,
            "hidden": arguments.hidden,
            "seed": arguments.seed,
            "seconds": round(time.perf_counter() - start, 1),
            "largest_relative_differences": largest,
            "steps_that_agree_to_1e-12": agreeing,
        }
        save(content, losses, free, relative)
        draw(losses, free, relative)
    missed = {name: largest[name] for name, bar in BARS.items() if largest[name] > bar}
    if missed:
        sys.exit(f"more than rounding: {missed}, the bars are {BARS}")


def save(content: dict, losses: list[float], free: list[float], relative: dict[str, list[float]]) -> None:
    every = slice(0, None, 10)
    curves = {
        "step": list(range(1, len(losses) + 1))[every],
        "loss": losses[every],
        "plain_free_loss": free[every],
        "relative_differences": {name: values[every] for name, values in relative.items()},
    }
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "paper-preset.json").write_text(json.dumps(content | curves, indent=1) + "\n")


def first_above(values: list[float], bound: float) -> int:
    """How many values at the beginning are at most the bound."""
    return next((n for n, value in enumerate(values) if value > bound), len(values))


def draw(losses: list[float], free: list[float], relative: dict[str, list[float]]) -> None:
    steps = np.arange(1, len(losses) + 1)
    with plt.rc_context(STYLE):
        figure, (above, below) = plt.subplots(2, 1, figsize=(7, 6), sharex=True, layout="constrained")
        above.semilogy(steps[: len(free)], free, label="plain implementation, on its own")
        above.semilogy(steps, losses, linestyle="--", label="preset paper")
        above.set(ylabel="loss", title="Allen-Cahn (10, 64), CinNet 4x128, Adam, float64")
        above.legend(frameon=False)
        labels = {
            "free": "plain implementation, on its own",
            "one_unit_in_the_last_place": "the library itself, initial weights off by one unit in the last place",
            "step_by_step": "plain implementation, from the same state before every step",
        }
        smallest = np.finfo(np.float64).eps / 10
        for name, label in labels.items():
            shown = np.maximum(relative[name], smallest)
            below.semilogy(steps[: len(shown)], shown, label=label, linewidth=1)
        below.set(xlabel="step", ylabel="relative difference of the loss")
        below.legend(frameon=False, fontsize="small")
    figure.savefig(FIGURE, dpi=110)


if __name__ == "__main__":
    main()
