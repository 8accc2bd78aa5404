"""Figures of experiments from their summaries, in the style of plots.py."""

from collections.abc import Mapping, Sequence
from textwrap import fill
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from cinnet.view.plots import ERROR_COLOURS, FIELD_COLOURS, REFERENCE_LINE, STYLE

_DOTS = {"linestyle": "", "marker": "o", "markersize": 4, "alpha": 0.6}
_STARS = {"linestyle": "", "marker": "*", "markersize": 9, "markerfacecolor": "none"}


def has_figure(summary: Mapping[str, Any]) -> bool:
    """Whether an experiment has something to draw: fields or curves, or errors of several cells."""
    if summary["figure"] in _OF_ERRORS:
        return sum(cell["mean"] is not None for cell in summary["cells"]) > 1
    return bool(summary["arrays"])


def draw(summary: Mapping[str, Any]) -> Figure:
    """The figure of an experiment that has one."""
    kind = summary["figure"]
    return _OF_ERRORS[kind](summary) if kind in _OF_ERRORS else _OF_ARRAYS[kind](summary["title"], summary["arrays"])


def _metrics(title: str, arrays: Mapping[str, Any]) -> Figure:
    """L_res(t) and RL2E(t), a line a run and a colour a method."""
    names = {"residual": "L_res(t)", "error": "RL2E(t)"}
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 2, figsize=(9, 3.2))
        colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]
        for axis, (name, label) in zip(axes, names.items(), strict=True):
            for colour, (method, curves) in zip(colours, arrays["curves"].items(), strict=False):
                lines = axis.semilogy(arrays["times"], np.transpose(curves[name]), color=colour, linewidth=1)
                seeds = ", ".join(map(str, curves["seeds"]))
                lines[0].set_label(f"{method}, seed{'s' if len(lines) > 1 else ''} {seeds}")
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
        figure.suptitle(_with_best_runs(title, arrays))
    return figure


def _with_best_runs(title: str, arrays: Mapping[str, Any]) -> str:
    return f"{title}\nshown: the best run of {', '.join(arrays['seeds'])}"


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
        figure.suptitle(_with_best_runs(title, arrays))
    return figure


def _sweep(summary: Mapping[str, Any]) -> Figure:
    """Mean errors over the rows, a line a column, with the errors of all seeds, and the paper's where it gives them."""
    rows, columns = _labels(summary)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(5, 3.2))
        places = [(rows.index(cell["row"]), cell) for cell in summary["cells"]]
        for column in columns:
            own = [(i, cell["mean"]) for i, cell in places if cell["column"] == column]
            means = [(i, np.nan if mean is None else mean) for i, mean in own]
            axis.semilogy(*_transposed(means), marker="o", label=column if len(columns) > 1 else "ours, mean")
        axis.semilogy(*_transposed(_seed_errors(places)), linestyle="", marker=".", color="grey", label="ours, seeds")
        paper = _paper_errors(places)
        if paper:
            axis.semilogy(*_transposed(paper), linestyle="", marker="*", markersize=10, label="the paper")
        axis.set(xlabel=summary["row_title"], ylabel="relative L2 error")
        axis.set_xticks(range(len(rows)), rows)
        axis.legend()
        _set_title(figure, summary["title"])
    return figure


def _table(summary: Mapping[str, Any]) -> Figure:
    """The errors of all seeds and the paper's means: a band for each row of the table, a colour for each column."""
    rows, columns = _labels(summary)
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(7, 1.2 + 0.14 * len(rows) * (len(columns) + 1)))
        colours = plt.rcParams["axes.prop_cycle"].by_key()["color"]
        for n, (column, colour) in enumerate(zip(columns, colours, strict=False)):
            offset = (n + 1) / (len(columns) + 1) - 0.5
            places = [(rows.index(c["row"]) + offset, c) for c in summary["cells"] if c["column"] == column]
            heights, errors = _transposed(_seed_errors(places))
            axis.semilogx(errors, heights, **_DOTS, color=colour, label=column)
            heights, means = _transposed(_paper_errors(places))
            axis.semilogx(means, heights, **_STARS, color=colour)
        if any(cell["paper"] is not None for cell in summary["cells"]):
            axis.plot([], [], **_STARS, color="grey", label="the paper's mean")
        for boundary in range(1, len(rows)):
            axis.axhline(boundary - 0.5, color="lightgrey", linewidth=0.6)
        axis.set(xlabel="relative L2 error, a dot a seed", ylabel=summary["row_title"])
        axis.set_yticks(range(len(rows)), rows)
        axis.set_ylim(len(rows) - 0.5, -0.5)
        axis.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        _set_title(figure, summary["title"])
    return figure


def _set_title(figure: Figure, title: str) -> None:
    """A title over the whole figure, in as many lines as its width asks for."""
    characters_per_inch = 14
    figure.suptitle(fill(title, int(characters_per_inch * figure.get_figwidth())), fontsize=9)


def _labels(summary: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Rows and columns in the order of their first mention."""
    rows, columns = ([cell[name] for cell in summary["cells"]] for name in ("row", "column"))
    return list(dict.fromkeys(rows)), list(dict.fromkeys(columns))


Places = Sequence[tuple[float, Mapping[str, Any]]]


def _seed_errors(places: Places) -> list[tuple[float, float]]:
    return [(place, error) for place, cell in places for error in cell["errors"] if error is not None]


def _paper_errors(places: Places) -> list[tuple[float, float]]:
    return [(place, cell["paper"]["mean"]) for place, cell in places if cell["paper"] is not None]


def _transposed(pairs: Sequence[tuple[float, float]]) -> tuple[list[float], list[float]]:
    return [x for x, _ in pairs], [y for _, y in pairs]


_OF_ARRAYS = {"metrics": _metrics, "profiles": _profiles, "planes": _planes}
_OF_ERRORS = {"sweep": _sweep, None: _table}
