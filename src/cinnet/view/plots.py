"""Figures in one consistent style, colour-blind safe. Each takes arrays and returns a Matplotlib figure."""

import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..assess.diagnostics import Diagnostics, Fields, OverTime
from ..objective.objective import term_names
from ..storage.files import write_atomically

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
STYLE: dict[Any, Any] = {
    "figure.dpi": 120,
    "savefig.dpi": 200,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=COLOURS),
    "legend.frameon": False,
    "pdf.fonttype": 42,
}
FIELD_COLOURS = "RdBu_r"
ERROR_COLOURS = "viridis"
REFERENCE_LINE: dict[str, Any] = {"color": "black", "linewidth": 2.5, "alpha": 0.35, "label": "reference"}
PREDICTION_LINE: dict[str, Any] = {"linestyle": "--", "label": "prediction"}
_TRAINING_CURVES = {"loss": "training loss", "held_out_residual": "held-out residual"}
_STRATEGY_CURVES = {
    "damping": "damping",
    "learning_rate": "learning rate",
    "step_length": "step length",
    "causality": "causal epsilon",
    "least_causal_weight": "least causal weight",
}


def all_figures(diagnostics: Diagnostics, records: Sequence[Mapping[str, float]], title: str) -> dict[str, Figure]:
    """Every figure that makes sense for a run, by name."""
    fields = diagnostics.fields
    figures = {"solution": plot_solution(fields, title)}
    if fields.axes:
        figures["snapshots"] = plot_snapshots(fields, title=title)
    if len(fields.axes) == 2:
        figures["cross_section"] = plot_cross_section(fields, title=title)
    if records:
        figures["training"] = plot_training(records, title)
    figures["over_time"] = plot_over_time({title: diagnostics})
    if diagnostics.invariants:
        figures["invariants"] = plot_invariants(diagnostics.times, diagnostics.invariants, title)
    if diagnostics.gates:
        figures["gates"] = plot_gates(diagnostics.gates, title)
    return figures


def save_figures(figures: Mapping[str, Figure], folder: Path, suffixes: Sequence[str] = ("png", "pdf")) -> list[Path]:
    """Save figures under their names and close them."""
    paths = []
    for name, figure in figures.items():
        for suffix in suffixes:
            content = io.BytesIO()
            figure.savefig(content, format=suffix)
            paths.append(folder / f"{name}.{suffix}")
            write_atomically(paths[-1], content.getvalue())
        plt.close(figure)
    return paths


def plot_solution(fields: Fields, title: str = "") -> Figure:
    """Prediction, reference and error: over (t, x) on a line, at the final time in the plane, over t for an ODE."""
    if not fields.axes:
        return _plot_curves(fields, title)
    if len(fields.axes) == 1:
        horizontal, vertical, level = fields.times, fields.coordinates[0], slice(None)
        labels, when = ("t", fields.axes[0]), ""
    else:
        (horizontal, vertical), level = fields.coordinates, -1
        labels, when = fields.axes[:2], f" at t = {fields.times[-1]:.3g}"
    with plt.rc_context(STYLE):
        rows = len(fields.components)
        columns = 1 if fields.reference is None else 3
        figure, axes = plt.subplots(
            rows, columns, figsize=(3.8 * columns + 0.6, 2.9 * rows), sharex=True, sharey=True, squeeze=False
        )
        for row, component in enumerate(fields.components):
            panels = _panels(fields, level, row)
            for axis, (name, values, colours, low, high) in zip(axes[row], panels, strict=True):
                image = field_image(axis, horizontal, vertical, values, colours, low, high)
                figure.colorbar(image, ax=axis)
                axis.set(title=f"{component}, {name}".rstrip(", ") + when)
                if len(fields.axes) == 2:
                    axis.set_aspect("equal")
            axes[row, 0].set_ylabel(labels[1])
        for axis in axes[-1]:
            axis.set_xlabel(labels[0])
        figure.suptitle(title)
    return figure


def _panels(fields: Fields, level: Any, component: int) -> list[tuple[str, np.ndarray, str, float, float]]:
    prediction = fields.values[level, ..., component]
    if fields.reference is None:
        limit = largest(prediction)
        return [("", prediction, FIELD_COLOURS, -limit, limit)]
    reference = fields.reference[level, ..., component]
    error, limit = np.abs(prediction - reference), largest(reference)
    return [
        ("prediction", prediction, FIELD_COLOURS, -limit, limit),
        ("reference", reference, FIELD_COLOURS, -limit, limit),
        ("absolute error", error, ERROR_COLOURS, 0.0, largest(error)),
    ]


def largest(values: np.ndarray) -> float:
    """The limit of a colour scale: the largest absolute value, 1 for a field of zeros."""
    return float(np.abs(values).max()) or 1.0


def field_image(axis: Axes, horizontal, vertical, values, colours: str, low: float, high: float):
    """A smooth colour map of values over two axes."""
    return axis.pcolormesh(
        horizontal, vertical, values.T, cmap=colours, vmin=low, vmax=high, shading="gouraud", rasterized=True
    )


def plot_snapshots(fields: Fields, times: Sequence[float] | None = None, title: str = "") -> Figure:
    """Profiles of prediction and reference at a few times; in the plane heat maps."""
    if not fields.axes:
        raise ValueError("an ODE has no snapshots; use plot_solution.")
    levels = _levels(fields.times, times)
    if len(fields.axes) == 2:
        return _plot_plane_snapshots(fields, levels, title)
    return _plot_profiles(fields, levels, (slice(None),), title)


def plot_cross_section(fields: Fields, times: Sequence[float] | None = None, title: str = "") -> Figure:
    """Profiles along the first axis through the middle of the second, y = 0 in the paper."""
    if len(fields.axes) != 2:
        raise ValueError(f"a cross section needs two axes, the solution has {fields.axes or 'none'}.")
    y = fields.coordinates[1]
    middle = len(y) // 2
    title = f"{title}, {fields.axes[1]} = {y[middle]:.3g}".strip(", ")
    return _plot_profiles(fields, _levels(fields.times, times), (slice(None), middle), title)


def _levels(times: np.ndarray, chosen: Sequence[float] | None) -> list[int]:
    if chosen is None:
        return [0, len(times) // 2, len(times) - 1]
    outside = [t for t in chosen if not times[0] <= t <= times[-1]]
    if outside:
        raise ValueError(f"times={list(chosen)}: {outside[0]} is outside [{times[0]:g}, {times[-1]:g}].")
    return [int(np.abs(times - t).argmin()) for t in chosen]


def _plot_profiles(fields: Fields, levels: list[int], where: tuple[Any, ...], title: str) -> Figure:
    x = fields.coordinates[0]
    with plt.rc_context(STYLE):
        rows = len(fields.components)
        shape = {"figsize": (2.9 * len(levels) + 0.6, 2.6 * rows), "sharex": True, "sharey": "row", "squeeze": False}
        figure, axes = plt.subplots(rows, len(levels), **shape)
        for row, component in enumerate(fields.components):
            for axis, level in zip(axes[row], levels, strict=True):
                if fields.reference is not None:
                    exact = fields.reference[(level, *where, row)]
                    axis.plot(x, exact, **REFERENCE_LINE)
                axis.plot(x, fields.values[(level, *where, row)], **PREDICTION_LINE)
                axis.set_title(f"t = {fields.times[level]:.3g}")
            axes[row, 0].set_ylabel(component)
        for axis in axes[-1]:
            axis.set_xlabel(fields.axes[0])
        if fields.reference is not None:
            axes[0, 0].legend()
        figure.suptitle(title)
    return figure


def _plot_plane_snapshots(fields: Fields, levels: list[int], title: str) -> Figure:
    x, y = fields.coordinates
    with plt.rc_context(STYLE):
        rows = []
        for number, component in enumerate(fields.components):
            panels = [_panels(fields, level, number) for level in levels]
            rows += [
                (f"{component}, {panel[0][0]}".rstrip(", "), [one[1:] for one in panel])
                for panel in zip(*panels, strict=True)
            ]
        figure, axes = plt.subplots(
            len(rows), len(levels), figsize=(2.6 * len(levels) + 1.2, 2.4 * len(rows)), squeeze=False,
            sharex=True, sharey=True,
        )  # fmt: skip
        for line, (name, panels) in zip(axes, rows, strict=True):
            low, high = min(panel[2] for panel in panels), max(panel[3] for panel in panels)
            for axis, (values, colours, *_), level in zip(line, panels, levels, strict=True):
                image = field_image(axis, x, y, values, colours, low, high)
                axis.set(aspect="equal", title=f"t = {fields.times[level]:.3g}")
            line[0].set_ylabel(f"{name}\n{fields.axes[1]}")
            figure.colorbar(image, ax=line)
        for axis in axes[-1]:
            axis.set_xlabel(fields.axes[0])
        figure.suptitle(title)
    return figure


def _plot_curves(fields: Fields, title: str) -> Figure:
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6, 3.4))
        for number, component in enumerate(fields.components):
            if fields.reference is not None:
                axis.plot(fields.times, fields.reference[:, number], color="black", linewidth=2.5, alpha=0.35)
            axis.plot(fields.times, fields.values[:, number], linestyle="--", label=component)
        axis.set(xlabel="t", title=title)
        axis.legend()
    return figure


def plot_training(records: Sequence[Mapping[str, float]], title: str = "") -> Figure:
    """Loss and its parts, held-out residual and error over the steps; below them damping, weights and the like."""
    parts = term_names(records[0])
    strategies = {name: label for name, label in _STRATEGY_CURVES.items() if any(name in r for r in records)}
    strategies |= {name: name for name in records[0] if name.startswith("weight ")}
    with plt.rc_context(STYLE):
        rows = 2 if strategies else 1
        figure, axes = plt.subplots(
            rows, 1, figsize=(7, 2.2 + 1.6 * rows), sharex=True, squeeze=False, height_ratios=(2, 1)[:rows]
        )
        upper = axes[0, 0]
        for name, label in {**_TRAINING_CURVES, **{part: part for part in parts}}.items():
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


def plot_fields(
    times: Float[np.ndarray, " times"],
    x: Float[np.ndarray, " points"],
    fields: Mapping[str, Float[np.ndarray, "times points"]],
) -> Figure:
    """Fields over (t, x) side by side, in one colour scale, each under its title."""
    limit = max(largest(values) for values in fields.values())
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(fields), figsize=(3.6 * len(fields) + 0.6, 3), sharey=True, squeeze=False)
        for axis, (title, values) in zip(axes[0], fields.items(), strict=True):
            image = field_image(axis, times, x, values, FIELD_COLOURS, -limit, limit)
            axis.set(xlabel="t", title=title)
        axes[0, 0].set_ylabel("x")
        figure.colorbar(image, ax=axes[0], label="u")
    return figure
