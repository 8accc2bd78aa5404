"""A network for each of several time windows, as one network over all of them."""

from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from ..domains import Box, TimeInterval
from ..jets import JetSpace
from ..symmetry import Symmetry
from .base import Network


class SharedTimes(eqx.Module):
    """For every window its plan, None where no query falls into it; and where each result belongs."""

    plans: tuple[Any, ...]
    order: tuple[int, ...] = eqx.field(static=True)


class ScatteredTimes(eqx.Module):
    """Every window's plan for all queries, and which window each query belongs to."""

    plans: tuple[Any, ...]
    window: Int[Array, "times columns"]


@eqx.filter_jit
def _piece_jets(piece: Network, plan: Any, points: Array, space: JetSpace) -> dict:
    return piece.jets(plan, points, space)


class Windows(Network):
    """The k-th network from the k-th of `starts` on; a time where two meet belongs to the earlier.

    All networks live on one interval, as long as the longest window, by clocks of their own. Without `starts` the
    windows are equally long.
    """

    pieces: tuple[Network, ...]
    interval: TimeInterval = eqx.field(static=True)
    starts: tuple[float, ...] = eqx.field(static=True)

    def __init__(self, pieces: tuple[Network, ...], interval: TimeInterval, starts: tuple[float, ...] | None = None):
        self.pieces, self.interval = pieces, interval
        if starts is None:
            starts = tuple((interval.start + np.arange(len(pieces)) * interval.duration / len(pieces)).tolist())
        if len(starts) != len(pieces) or starts[0] != interval.start or not (np.diff(starts) > 0).all():
            raise ValueError(f"starts={starts}: give {len(pieces)} increasing times from {interval.start} on.")
        self.starts = starts

    @property
    def box(self) -> Box:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.pieces[0].box

    @property
    def symmetry(self) -> Symmetry:
        return self.pieces[0].symmetry

    @property
    def dtype(self) -> np.dtype:
        return self.pieces[0].dtype

    @property
    def widths(self) -> tuple[int, ...]:
        return self.pieces[0].widths

    def _delays(self) -> np.ndarray:
        """How far the clock of each window's network is behind."""
        return np.array(self.starts) - self.interval.start

    def _window_of(self, times, library):
        slack = 1e-6 * min(np.diff([*self.starts, self.interval.end]))
        later = library.asarray(np.array(self.starts[1:]) + slack, times.dtype)
        return library.searchsorted(later, times, side="left")

    def __call__(self, t, x=()):
        t = jnp.asarray(t, self.dtype)
        own = self.pieces[0].interval
        values = [
            piece(jnp.clip(t - delay, own.start, own.end), x)
            for piece, delay in zip(self.pieces, self._delays().astype(self.dtype), strict=True)
        ]
        window = self._window_of(t, jnp)
        return jnp.stack(values)[window.astype(int)]

    def plan(self, times):
        own = self.pieces[0].interval
        numbered = list(zip(self.pieces, self._delays(), strict=True))
        if np.ndim(times) == 2:
            times = jnp.asarray(times, self.dtype)
            plans = [piece.plan(jnp.clip(times - delay, own.start, own.end)) for piece, delay in numbered]
            return ScatteredTimes(tuple(plans), self._window_of(times, jnp))
        times = np.asarray(times, np.float64)
        window = self._window_of(times, np).astype(int)
        most = int(np.bincount(window).max())
        plans, rows = [], np.empty(len(times), int)
        for number, (piece, delay) in enumerate(numbered):
            mine = np.flatnonzero(window == number)
            if not mine.size:
                plans.append(None)
                continue
            # Filled up to the same number in every window, so that all windows share one compilation.
            filled = np.concatenate([mine, np.repeat(mine[-1:], most - mine.size)])
            rows[mine] = most * (len(plans) - plans.count(None)) + np.arange(mine.size)
            plans.append(piece.plan(np.clip(times[filled] - delay, own.start, own.end)))
        return SharedTimes(tuple(plans), tuple(rows.tolist()))

    def jets(self, plan, points, space):
        parts = [
            _piece_jets(piece, own, points, space)
            for piece, own in zip(self.pieces, plan.plans, strict=True)
            if own is not None
        ]
        if isinstance(plan, ScatteredTimes):
            chosen = [(plan.window == k)[..., None] for k in range(len(parts))]
            return {
                index: sum(jnp.where(c, part[index], 0) for c, part in zip(chosen, parts, strict=True))
                for index in parts[0]
            }
        order = np.array(plan.order)
        return {index: jnp.concatenate([part[index] for part in parts])[order] for index in parts[0]}
