"""The solution over time as a moving picture."""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.animation import FuncAnimation, PillowWriter

from ..assess.diagnostics import Fields
from ..storage.files import write_atomically
from .style import FIELD_COLOURS, PREDICTION_LINE, REFERENCE_LINE, STYLE, field_image, largest

_MOST_FRAMES = 51


def animate(fields: Fields, path: Path, title: str = "", frames_per_second: int = 20) -> Path:
    """The solution over time as a GIF: profiles on a line, heat maps in the plane."""
    if path.suffix != ".gif":
        raise ValueError(f"path={str(path)!r}: the name of an animation must end with .gif.")
    if not fields.axes:
        raise ValueError("an ODE has no field to animate; use plot_solution.")
    draw = _animated_profiles if len(fields.axes) == 1 else _animated_plane
    with plt.rc_context(STYLE):
        figure, update = draw(fields, title)
        frames = min(len(fields.times), _MOST_FRAMES)
        levels = np.linspace(0, len(fields.times) - 1, frames).round().astype(int)
        animation = FuncAnimation(figure, update, frames=levels.tolist(), blit=False)
        with tempfile.TemporaryDirectory() as folder:
            drawn = Path(folder) / path.name
            animation.save(drawn, writer=PillowWriter(fps=min(frames_per_second, max(2, frames // 4))), dpi=100)
            write_atomically(path, drawn.read_bytes())
        plt.close(figure)
    return path


def _animated_profiles(fields: Fields, title: str):
    x, rows = fields.coordinates[0], len(fields.components)
    figure, axes = plt.subplots(rows, 1, figsize=(5, 0.6 + 2.4 * rows), sharex=True, squeeze=False)
    lines = []
    for row, axis in enumerate(axes[:, 0]):
        for values, style in ((fields.reference, REFERENCE_LINE), (fields.values, PREDICTION_LINE)):
            if values is not None:
                lines.append((axis.plot(x, values[0, :, row], **style)[0], values[..., row]))
        axis.set(ylabel=fields.components[row], ylim=_padded(fields.values[..., row]))
    axes[0, 0].legend(loc="upper right")
    axes[-1, 0].set_xlabel(fields.axes[0])

    def update(level: int) -> None:
        axes[0, 0].set_title(f"{title}   t = {fields.times[level]:.2f}")
        for line, values in lines:
            line.set_ydata(values[level])

    return figure, update


def _padded(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    pad = 0.06 * (high - low) or 1.0
    return low - pad, high + pad


def _animated_plane(fields: Fields, title: str):
    x, y = fields.coordinates
    values = fields.values[..., 0]
    limit = largest(values)
    figure, axis = plt.subplots(figsize=(4.4, 4))
    image = field_image(axis, x, y, values[0], FIELD_COLOURS, -limit, limit)
    figure.colorbar(image, ax=axis, label=fields.components[0])
    axis.set(xlabel=fields.axes[0], ylabel=fields.axes[1], aspect="equal")

    def update(level: int) -> None:
        axis.set_title(f"{title}   t = {fields.times[level]:.2f}")
        image.set_array(values[level].T)

    return figure, update
