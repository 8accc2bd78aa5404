"""A reference solution: Fourier coefficients at stored times, and the integrator that continues between them."""

import functools
from collections.abc import Iterator, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from ..problems.base import EvolutionProblem
from .etdrk4 import Etdrk4
from .spectrum import Spectrum, evaluate, resize, spectrum_modes
from .split import Split, double_precision

_ON_LEVEL = 1e-9  # a time this close to a step, measured in steps, is that step
_BATCH_NUMBERS = 2**22  # coefficients evaluated together


class ReferenceSolution:
    """u(t, x) by trigonometric interpolation in space and by integration from the last stored time before t.

    `snapshots` are the coefficients at the levels after the start, each without its negligible outer modes; at
    the start the problem's own initial value is used. `time_step` is the step the solution was computed (and
    certified) with, and no longer one is taken between snapshots. `agreement` is the relative L2 change under
    refinement of modes and time step, or None if it was not checked. Just after a start that is not smooth, before
    the first level, accuracy is limited by the cut-off of the initial value's spectrum.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        snapshots: Sequence[Spectrum],
        *,
        modes: tuple[int, ...],
        time_step: float,
        tolerance: float | None = None,
        agreement: float | None = None,
        split: Split | None = None,
    ):
        self.problem = problem
        self.snapshots = tuple(snapshots)
        self.modes = modes
        self.time_step = time_step
        self.tolerance = tolerance
        self.agreement = agreement
        self._split = split
        interval = problem.interval
        self.levels = np.linspace(interval.start, interval.end, len(self.snapshots) + 1)
        self._steps_per_level = max(1, round((self.levels[1] - self.levels[0]) / time_step))

    def __repr__(self) -> str:
        checked = "not checked" if self.agreement is None else f"agreement {self.agreement:.1e}"
        modes = "x".join(map(str, self.modes))
        return f"ReferenceSolution({self.problem.name}, {modes} modes, time step {self.time_step:.2e}, {checked})"

    def __call__(self, t: Any, *coordinates: Any) -> Float[np.ndarray, "..."]:
        """u at broadcastable arrays of t, x, ...; a trailing component axis only if the problem is a system."""
        box = self.problem.box
        if len(coordinates) != box.dimension:
            raise ValueError(
                f"{len(coordinates)} coordinate(s) after t, but the problem has axes {list(box.names)}; "
                f"call solution(t, {', '.join(box.names)})."
            )
        t, *where = np.broadcast_arrays(*(np.asarray(a, dtype=np.float64) for a in (t, *coordinates)))
        shape, components = t.shape, len(self.problem.outputs)
        points = np.stack([x.ravel() for x in where], axis=-1)
        self.problem.interval.check(t)
        times, at_time = np.unique(t.ravel(), return_inverse=True)
        places, at_place = np.unique(points, axis=0, return_inverse=True)
        at_place = at_place.ravel()
        if len(times) * len(places) <= 4 * t.size:  # times and points form (nearly) a grid: share the work
            values = self.on_grid(times, places)[at_time, at_place]
        else:
            values = np.empty((t.size, components))
            groups = np.split(np.argsort(at_time, kind="stable"), np.cumsum(np.bincount(at_time))[:-1])
            for group, time, spectrum in zip(groups, times, self.spectra(times), strict=True):
                values[group] = self._evaluate(np.array([time]), [spectrum], points[group], None)[0]
        return values.reshape((*shape, components) if components > 1 else shape)

    def on_grid(
        self,
        times: Float[np.ndarray, " times"] | Sequence[float],
        points: Float[np.ndarray, "points dim"],
        derivative: tuple[int, ...] | None = None,
    ) -> Float[np.ndarray, "times points components"]:
        """u, or a spatial derivative of it by its orders along x, y, ..., at every time and every point."""
        times, points = np.asarray(times, dtype=np.float64), np.asarray(points, dtype=np.float64)
        dimension = self.problem.box.dimension
        if times.ndim != 1 or points.ndim != 2 or points.shape[1] != dimension:
            raise ValueError(
                f"times of shape {times.shape} and points of shape {points.shape}: expected (times,) and "
                f"(points, {dimension})."
            )
        if derivative is not None and (len(derivative) != dimension or min(derivative) < 0):
            raise ValueError(f"derivative={derivative}: give {dimension} non-negative order(s), one for each axis.")
        self.problem.interval.check(times, "times")
        distinct, position = np.unique(times, return_inverse=True)
        values = np.empty((len(distinct), len(points), len(self.problem.outputs)))
        done, batch = 0, []
        for spectrum in self.spectra(distinct):
            batch.append(spectrum)
            full = sum(s.size for s in batch) >= _BATCH_NUMBERS
            if full or done + len(batch) == len(distinct):
                rows = slice(done, done + len(batch))
                values[rows] = self._evaluate(distinct[rows], batch, points, derivative)
                done, batch = rows.stop, []
        return values[position]

    def spectra(self, times: Float[np.ndarray, " times"]) -> Iterator[Spectrum]:
        """The Fourier coefficients at increasing times."""
        state, state_step = None, -1  # where the integration between two levels stands, counted in steps
        last = len(self.snapshots) * self._steps_per_level
        for time in times:
            position = (time - self.levels[0]) / self.time_step
            step = min(max(int(np.floor(position + _ON_LEVEL)), 0), last)
            level, offset = divmod(step, self._steps_per_level)
            remainder = time - (self.levels[level] + offset * self.time_step)
            on_step = step == last or remainder <= _ON_LEVEL * self.time_step
            if on_step and offset == 0 and level > 0:
                yield self.snapshots[level - 1]
                continue
            if state is None or state_step < level * self._steps_per_level:
                start = self._integrator.initial if level == 0 else self.snapshots[level - 1]
                state, state_step = resize(start, self.modes), level * self._steps_per_level
            state_time = self.levels[level] + (state_step - level * self._steps_per_level) * self.time_step
            state = self._integrator.advance(state, state_time, self.time_step, step - state_step)
            state_step = step
            yield state if on_step else self._integrator.advance(state, time - remainder, remainder, 1)

    @functools.cached_property
    def _integrator(self) -> Etdrk4:
        return Etdrk4(self.problem, self.modes, self._split)

    def _evaluate(
        self, times: np.ndarray, spectra: list[Spectrum], points: np.ndarray, derivative: tuple[int, ...] | None
    ) -> Float[np.ndarray, "times points components"]:
        common = tuple(map(max, *map(spectrum_modes, spectra))) if len(spectra) > 1 else spectrum_modes(spectra[0])
        fields = np.concatenate([resize(s, common) for s in spectra])
        values = evaluate(fields, self.problem.box, points, derivative or (0,) * len(self.modes))
        values = values.reshape(len(times), -1, len(points)).swapaxes(1, 2)
        if derivative is None:
            values[times <= self.levels[0]] = self._initial(points) if times[0] <= self.levels[0] else 0.0
        return values

    def _initial(self, points: np.ndarray) -> np.ndarray:
        """The initial value itself, continued periodically outside the box."""
        lower = np.array([axis.lower for axis in self.problem.box.axes])
        length = np.array([axis.length for axis in self.problem.box.axes])
        outside = (points < lower) | (points > lower + length)
        with double_precision():
            inside = np.where(outside, lower + np.mod(points - lower, length), points)
            return np.asarray(self.problem.initial_values(jnp.asarray(inside)))
