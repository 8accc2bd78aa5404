"""Figures of experiments from their summaries, in the style of plots.py."""

from collections.abc import Mapping
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from ..plots import ERROR_COLOURS, FIELD_COLOURS, REFERENCE_LINE, STYLE


def has_figure(summary: Mapping[str, Any]) -> bool:
    """Whether an experiment has a figure and the runs it shows are there."""
    if summary["figure"] == "sweep":
        return any(cell["mean"] is not None for cell in summary["cells"])
    return bool(summary["arrays"])


def draw(summary: Mapping[str, Any]) -> Figure:
    """The figure of an experiment that has one."""
    if summary["figure"] == "sweep":
        return _sweep(summary)
    kinds = {"metrics": _metrics, "profiles": _profiles, "planes": _planes}
    return kinds[summary["figure"]](summary["title"], summary["arrays"])


def _metrics(title: str, arrays: Mapping[str, Any]) -> Figure:
    """L_res(t) and RL2E(t) of the methods."""
    names = {"residual": "L_res(t)", "error": "RL2E(t)"}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
        for axis, (name, label) in zip(axes, names.items(), strict=True):
            for method, curves in arrays["curves"].items():
                axis.semilogy(arrays["times"], curves[name], label=method)
            axis.set(xlabel="t", ylabel=label)
        axes[0].legend()
        figure.suptitle(title)
    return figure


def _profiles(title: str, arrays: Mapping[str, Any]) -> Figure:
    """The solutions over x and, since good ones look alike, their errors: a column for each time."""
    times = arrays["times"]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(
            2, len(times), figsize=(3.4 * len(times), 5), sharex=True, sharey="row", squeeze=False
        )
        for level, ((above, below), t) in enumerate(zip(axes.T, times, strict=True)):
            reference = np.asarray(arrays["reference"][level])
            above.plot(arrays["x"], reference, **REFERENCE_LINE)
            for method, values in arrays["values"].items():
                above.plot(arrays["x"], values[level], linestyle="--", label=method)
                below.semilogy(arrays["x"], np.abs(np.asarray(values[level]) - reference), label=method)
            above.set(title=f"t = {t:.3g}")
            below.set(xlabel="x")
        axes[0, 0].set_ylabel("u")
        axes[1, 0].set_ylabel("absolute error")
        axes[0, 0].legend()
        figure.suptitle(title)
    return figure


def _planes(title: str, arrays: Mapping[str, Any]) -> Figure:
    """Reference, prediction and error: a row for each time, and one for the section y = 0."""
    rows = [
        (arrays["x"], arrays["y"], reference, prediction, f"t = {t:.3g}", ("x", "y"))
        for t, reference, prediction in zip(arrays["times"], arrays["reference"], arrays["prediction"], strict=True)
    ]
    section = arrays["section_reference"], arrays["section_prediction"]
    rows.append((arrays["section_times"], arrays["section_x"], *section, "y = 0", ("t", "x")))
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(len(rows), 3, figsize=(9, 2.6 * len(rows)))
        for panels, (first, second, reference, prediction, label, names) in zip(axes, rows, strict=True):
            exact, found = np.asarray(reference), np.asarray(prediction)
            limit, error = float(np.abs(exact).max()), np.abs(found - exact)
            fields = [
                ("reference", exact, FIELD_COLOURS, -limit, limit),
                ("prediction", found, FIELD_COLOURS, -limit, limit),
                ("absolute error", error, ERROR_COLOURS, 0.0, float(error.max())),
            ]
            for axis, (name, values, colours, low, high) in zip(panels, fields, strict=True):
                image = axis.pcolormesh(first, second, values.T, cmap=colours, vmin=low, vmax=high, rasterized=True)
                figure.colorbar(image, ax=axis)
                axis.set(xlabel=names[0], ylabel=names[1], title=f"{name}, {label}")
        methods = ", ".join(arrays["seeds"])
        figure.suptitle(f"{title}\nshown: the best run of {methods}")
    return figure


def _sweep(summary: Mapping[str, Any]) -> Figure:
    """Mean errors over the rows with the errors of all seeds, and the paper's where it gives them."""
    cells = summary["cells"]
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5, 3.2))
        positions = range(len(cells))
        means = [np.nan if cell["mean"] is None else cell["mean"] for cell in cells]
        axis.semilogy(positions, means, marker="o", label="ours, mean")
        seeds = [(i, error) for i, cell in enumerate(cells) for error in cell["errors"] if error is not None]
        axis.semilogy(*zip(*seeds, strict=True), linestyle="", marker=".", color="grey", label="ours, seeds")
        paper = [(i, cell["paper"]["mean"]) for i, cell in enumerate(cells) if cell["paper"] is not None]
        if paper:
            axis.semilogy(*zip(*paper, strict=True), linestyle="", marker="*", markersize=10, label="the paper")
        axis.set(xlabel=summary["row_title"], ylabel="relative L2 error")
        axis.set_xticks(list(positions), [cell["row"] for cell in cells])
        axis.set_title(summary["title"], fontsize=8)
        axis.legend()
    return figure
