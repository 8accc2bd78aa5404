"""The one style of all figures, colour-blind safe."""

from typing import Any

import numpy as np
from cycler import cycler
from matplotlib.axes import Axes

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


def largest(values: np.ndarray) -> float:
    """The limit of a colour scale: the largest absolute value, 1 for a field of zeros."""
    return float(np.abs(values).max()) or 1.0


def field_image(axis: Axes, horizontal, vertical, values, colours: str, low: float, high: float):
    """A smooth colour map of values over two axes."""
    return axis.pcolormesh(
        horizontal, vertical, values.T, cmap=colours, vmin=low, vmax=high, shading="gouraud", rasterized=True
    )
