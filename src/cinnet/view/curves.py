"""Curves over steps and over time: training, residual and error, invariants; and the gates of a network."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..assess.diagnostics import Diagnostics, OverTime
from ..training.records import term_names
from .style import COLOURS, PREDICTION_LINE, REFERENCE_LINE, STYLE

_TRAINING_CURVES = {"loss": "training loss", "held_out_residual": "held-out residual"}
_STRATEGY_CURVES = {
    "damping": "damping",
    "learning_rate": "learning rate",
    "step_length": "step length",
    "causality": "causal epsilon",
    "least_causal_weight": "least causal weight",
}


def plot_training(records: Sequence[Mapping[str, float]], title: str = "") -> Figure:
    """Loss and its parts, held-out residual and error over the steps; below them damping, weights and the like."""
    losses = _TRAINING_CURVES | {part: part for part in term_names(records[0])}
    strategies = {name: label for name, label in _STRATEGY_CURVES.items() if any(name in r for r in records)}
    strategies |= {name: name for name in records[0] if name.startswith("weight ")}
    with plt.rc_context(STYLE):
        rows = 2 if strategies else 1
        figure, axes = plt.subplots(
            rows, 1, figsize=(7, 2.2 + 1.6 * rows), sharex=True, squeeze=False, height_ratios=(2, 1)[:rows]
        )
        upper = axes[0, 0]
        for name, label in losses.items():
            _curve(upper, records, name, label)
        _curve(upper, records, "relative_l2_error", "relative L2 error", color="black", linewidth=2)
        for name, label in strategies.items():
            _curve(axes[-1, 0], records, name, label)
        for axis in axes[:, 0]:
            axis.set_yscale("log")
            axis.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
            for start in _window_starts(records):
                axis.axvline(start, color="grey", linewidth=0.6, linestyle=":")
        upper.set_title(title)
        axes[-1, 0].set_xlabel("step" if not _window_starts(records) else "step (dotted: a new time window)")
    return figure


def _curve(axis: Axes, records, name: str, label: str, **style: Any) -> None:
    """A curve with a gap where a new window begins."""
    points = [(r["step"], r[name], r.get("window", 0)) for r in records if name in r]
    if not points:
        return
    steps, values, windows = (np.array(column, float) for column in zip(*points, strict=True))
    breaks = np.flatnonzero(np.diff(windows)) + 1
    axis.plot(np.insert(steps, breaks, np.nan), np.insert(values, breaks, np.nan), label=label, **style)


def _window_starts(records) -> list[float]:
    return [b["step"] for a, b in itertools.pairwise(records) if a.get("window") != b.get("window")]


def plot_over_time(runs: Mapping[str, Diagnostics]) -> Figure:
    """L_res(t) and RL2E(t) of one run or of several, by name."""
    known = any(one.error is not None for one in runs.values())
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 1 + known, figsize=(4.2 * (1 + known), 3.2), squeeze=False)
        for name, one in runs.items():
            axes[0, 0].semilogy(one.times, one.residual, label=name)
            if one.error is not None:
                axes[0, 1].semilogy(one.times, one.error, label=name)
        axes[0, 0].set(xlabel="t", title="mean squared residual, L_res(t)")
        if known:
            axes[0, 1].set(xlabel="t", title="relative L2 error, RL2E(t)")
        if len(runs) > 1:
            axes[0, 0].legend()
        else:
            figure.suptitle(*runs)
    return figure


def plot_invariants(times: Float[np.ndarray, " times"], invariants: Mapping[str, OverTime], title: str = "") -> Figure:
    """Every declared integral over time, with that of the reference."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(invariants), figsize=(3.6 * len(invariants) + 0.4, 3), squeeze=False)
        for axis, (name, one) in zip(axes[0], invariants.items(), strict=True):
            if one.reference is not None:
                axis.plot(times, one.reference, **REFERENCE_LINE)
            axis.plot(times, one.solution, **PREDICTION_LINE)
            axis.set(xlabel="t", title=f"{name} ({'conserved' if one.conserved else 'may only fall'})")
            if one.conserved:
                _widen(axis, float(np.abs(one.solution).max()))
        axes[0, 0].legend()
        figure.suptitle(title)
    return figure


def _widen(axis: Axes, size: float) -> None:
    """Show a constant as a flat line instead of its rounding errors."""
    low, high = axis.get_ylim()
    least = 0.02 * size or 0.02
    if high - low < least:
        axis.set_ylim((low + high - least) / 2, (low + high + least) / 2)


def plot_gates(gates: Sequence[Float[np.ndarray, "windows _"]], title: str = "") -> Figure:
    """The gate values z of every layer: 1 is all local, 0 all memory."""
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(1.2 + 1.0 * len(gates), 3))
        for number, values in enumerate(gates, start=1):
            spread = np.linspace(-0.3, 0.3, values.size) if values.size > 1 else np.zeros(1)
            axis.scatter(number + spread, values.ravel(), s=8, alpha=0.6, color=COLOURS[0], linewidths=0)
            axis.hlines(np.median(values), number - 0.38, number + 0.38, color=COLOURS[1])
        axis.axhline(0.5, color="grey", linewidth=0.6, linestyle=":")
        axis.set(xlabel="layer", ylabel="gate z (1 local, 0 memory)", title=title, ylim=(-0.02, 1.02))
        axis.set_xticks(range(1, len(gates) + 1))
    return figure
