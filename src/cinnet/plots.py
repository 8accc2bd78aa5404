"""Figures in one consistent style, colour-blind safe."""

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from cycler import cycler
from jaxtyping import Float
from matplotlib.figure import Figure

STYLE: dict[Any, Any] = {
    "figure.dpi": 120,
    "savefig.dpi": 200,
    "figure.constrained_layout.use": True,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.prop_cycle": cycler(color=["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]),
}
FIELD_COLOURS = "RdBu_r"


def plot_space_time(
    times: Float[np.ndarray, " times"],
    x: Float[np.ndarray, " points"],
    values: Float[np.ndarray, "times points"],
    title: str,
    snapshots: Sequence[float] = (0.0, 0.5, 1.0),
) -> Figure:
    """A field over (t, x), and its profiles at a few times, given as fractions of the time interval."""
    with plt.rc_context(STYLE):
        figure, (field, profile) = plt.subplots(1, 2, figsize=(9, 3.2), width_ratios=(1.3, 1))
        limit = float(np.abs(values).max())
        image = field.pcolormesh(
            times, x, values.T, cmap=FIELD_COLOURS, vmin=-limit, vmax=limit, shading="gouraud", rasterized=True
        )
        figure.colorbar(image, ax=field, label="u")
        field.set(xlabel="t", ylabel="x", title=title)
        for fraction in snapshots:
            level = int(np.abs(times - (times[0] + fraction * (times[-1] - times[0]))).argmin())
            profile.plot(x, values[level], label=f"t = {times[level]:.3g}")
            field.axvline(times[level], color="black", linewidth=0.5, linestyle=":")
        profile.set(xlabel="x", ylabel="u", title="Profiles")
        profile.legend(frameon=False)
    return figure


def plot_plane_snapshots(
    times: Float[np.ndarray, " times"],
    x: Float[np.ndarray, " nx"],
    y: Float[np.ndarray, " ny"],
    values: Float[np.ndarray, "times nx ny"],
    title: str,
) -> Figure:
    """A two-dimensional field at a few times side by side."""
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(times), figsize=(3.2 * len(times), 3.2), sharey=True, squeeze=False)
        limit = float(np.abs(values).max())
        for axis, t, level in zip(axes[0], times, values, strict=True):
            image = axis.pcolormesh(x, y, level.T, cmap=FIELD_COLOURS, vmin=-limit, vmax=limit, rasterized=True)
            axis.set(xlabel="x", title=f"t = {t:.3g}", aspect="equal")
        axes[0, 0].set_ylabel("y")
        figure.colorbar(image, ax=axes[0], label="u", shrink=0.85)
        figure.suptitle(title)
    return figure


def plot_comparison(
    times: Float[np.ndarray, " times"],
    x: Float[np.ndarray, " points"],
    prediction: Float[np.ndarray, "times points"],
    reference: Float[np.ndarray, "times points"] | None,
    title: str,
) -> Figure:
    """Prediction over (t, x), beside the reference and the error where there is a reference."""
    if reference is None:
        return plot_space_time(times, x, prediction, title)
    limit = float(np.abs(reference).max())
    error = np.abs(prediction - reference)
    panels = [
        ("prediction", prediction, FIELD_COLOURS, -limit, limit),
        ("reference", reference, FIELD_COLOURS, -limit, limit),
        ("absolute error", error, "viridis", 0.0, float(error.max())),
    ]
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, 3, figsize=(11, 3), sharey=True)
        for axis, (name, values, colours, low, high) in zip(axes, panels, strict=True):
            image = axis.pcolormesh(
                times, x, values.T, cmap=colours, vmin=low, vmax=high, shading="gouraud", rasterized=True
            )
            figure.colorbar(image, ax=axis)
            axis.set(xlabel="t", title=name)
        axes[0].set_ylabel("x")
        figure.suptitle(title)
    return figure


def plot_training(records: Sequence[Mapping[str, float]], title: str) -> Figure:
    """Loss parts, held-out residual and error over the steps of a run."""
    names = {
        "loss": "training loss",
        "initial": "initial",
        "residual": "residual",
        "held_out_residual": "held-out residual",
        "relative_l2_error": "relative L2 error",
    }
    with plt.rc_context(STYLE):
        figure, axis = plt.subplots(figsize=(6, 3.4))
        for name, label in names.items():
            curve = [(r["step"], r[name]) for r in records if name in r]
            if curve:
                emphasis = {"color": "black", "linewidth": 2} if name == "relative_l2_error" else {}
                axis.semilogy(*zip(*curve, strict=True), label=label, **emphasis)
        axis.set(xlabel="step", title=title)
        axis.legend(frameon=False, ncols=2)
    return figure


def plot_methods(
    times: Float[np.ndarray, " times"],
    x: Float[np.ndarray, " points"],
    fields: Mapping[str, Float[np.ndarray, "times points"]],
) -> Figure:
    """Fields over (t, x) side by side, in one colour scale, each under its title."""
    limit = max(float(np.abs(values).max()) for values in fields.values())
    with plt.rc_context(STYLE):
        figure, axes = plt.subplots(1, len(fields), figsize=(3.6 * len(fields), 3), sharey=True, squeeze=False)
        for axis, (title, values) in zip(axes[0], fields.items(), strict=True):
            image = axis.pcolormesh(
                times, x, values.T, cmap=FIELD_COLOURS, vmin=-limit, vmax=limit, shading="gouraud", rasterized=True
            )
            axis.set(xlabel="t", title=title)
        axes[0, 0].set_ylabel("x")
        figure.colorbar(image, ax=axes[0], label="u")
    return figure
