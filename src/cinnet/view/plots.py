"""Figures of a run: which there are, and those of its solution. Each takes arrays and returns a Matplotlib figure."""

import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from jaxtyping import Float
from matplotlib.figure import Figure

from ..assess.diagnostics import Diagnostics, Fields
from ..storage.files import write_atomically
from .curves import plot_gates, plot_invariants, plot_over_time, plot_training
from .style import ERROR_COLOURS, FIELD_COLOURS, PREDICTION_LINE, REFERENCE_LINE, STYLE, field_image, largest


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
