"""`reference_solution`: refine modes and time step until neither changes the solution any more."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..problems.base import EvolutionProblem
from . import cache as storage
from .etdrk4 import Etdrk4
from .solution import ReferenceSolution
from .spectrum import Spectrum, difference, trim
from .split import Split


class NotConvergedError(RuntimeError):
    """The reference solution did not reach its tolerance within the limits."""


@dataclass(frozen=True)
class _Defaults:
    tolerance: float
    levels: int  # fewer in two and three dimensions, where a snapshot is megabytes
    first_modes: int
    most_modes: int
    most_steps: int


_DEFAULTS = {
    1: _Defaults(tolerance=1e-8, levels=101, first_modes=128, most_modes=16384, most_steps=2**20),
    2: _Defaults(tolerance=1e-6, levels=51, first_modes=64, most_modes=2048, most_steps=2**15),
    3: _Defaults(tolerance=1e-4, levels=11, first_modes=16, most_modes=256, most_steps=2**13),
}
_TRIM = 1e-3  # modes that matter less than this fraction of the tolerance are not stored
_UNCHECKED_TRIM = 1e-14
_SAME_BLOW_UPS = 5


def cached_reference(problem: EvolutionProblem) -> ReferenceSolution | None:
    """The reference solution with default settings if it was computed before, without computing it."""
    defaults = _DEFAULTS[problem.box.dimension]
    settings = {"tolerance": defaults.tolerance, "modes": None, "time_step": None, "levels": defaults.levels}
    path = storage.cache_path(problem, settings)
    return None if path is None or not path.exists() else _stored(problem, Split(problem), path)


def _stored(problem: EvolutionProblem, split: Split, path: Path) -> ReferenceSolution | None:
    stored = storage.load(path)
    if stored is None:
        return None
    snapshots, metadata = stored
    return ReferenceSolution(
        problem,
        snapshots,
        modes=tuple(metadata["modes"]),
        time_step=metadata["time_step"],
        tolerance=metadata["tolerance"],
        agreement=metadata["agreement"],
        split=split,
    )


def reference_solution(
    problem: EvolutionProblem,
    tolerance: float | None = None,
    modes: int | tuple[int, ...] | None = None,
    time_step: float | None = None,
    cache: bool = True,
    progress: Callable[[str], None] | None = None,
    levels: int | None = None,
) -> ReferenceSolution:
    """A Fourier ETDRK4 solution of a periodic problem, checked against its own refinements.

    The time step is halved and the modes are doubled, each while it changes the solution by more than
    `tolerance` in relative L2 over all stored levels (default 1e-8 in one, 1e-6 in two, 1e-4 in three
    dimensions). A given `modes` (one number or one for each axis) or `time_step` is used as it is; with both there
    is no check. `levels` times are stored, both ends included. `progress` receives a line before every run.
    """
    split = Split(problem)
    defaults = _DEFAULTS[problem.box.dimension]
    levels = defaults.levels if levels is None else levels
    fixed_modes = _check_arguments(problem, tolerance, modes, time_step, levels)
    checked = fixed_modes is None or time_step is None
    tolerance = (defaults.tolerance if tolerance is None else float(tolerance)) if checked else None
    settings = {"tolerance": tolerance, "modes": fixed_modes, "time_step": time_step, "levels": levels}

    path = storage.cache_path(problem, settings) if cache else None
    stored = None if path is None else _stored(problem, split, path)
    if stored is not None:
        return stored
    refinement = _Refinement(problem, split, defaults, tolerance, levels, progress)
    solution = refinement.solve(fixed_modes, time_step)
    if path is not None:
        metadata = {
            "problem": problem.name,
            "modes": solution.modes,
            "time_step": solution.time_step,
            "tolerance": solution.tolerance,
            "agreement": solution.agreement,
        }
        storage.store(path, solution.snapshots, metadata)
    return solution


def _check_arguments(
    problem: EvolutionProblem,
    tolerance: float | None,
    modes: int | tuple[int, ...] | None,
    time_step: float | None,
    levels: int,
) -> tuple[int, ...] | None:
    """The modes of each axis, or None if they are to be found."""
    if tolerance is not None and not 1e-12 <= tolerance < 1:  # below is rounding, which no refinement removes
        raise ValueError(f"tolerance={tolerance}: give a relative error of at least 1e-12, for example 1e-8.")
    if time_step is not None and not 0 < time_step <= problem.interval.duration:
        raise ValueError(
            f"time_step={time_step}: give a positive step no longer than the interval, {problem.interval.duration}."
        )
    if int(levels) != levels or levels < 2:
        raise ValueError(f"levels={levels}: at least 2 times are stored, the start and the end.")
    if modes is None:
        return None
    dimension = problem.box.dimension
    each = modes if isinstance(modes, tuple | list) else (modes,) * dimension
    if len(each) != dimension or any(int(n) != n or n < 4 for n in each):
        raise ValueError(f"modes={modes}: give one integer of at least 4, or {dimension}, one for each axis.")
    return tuple(int(n) for n in each)


@dataclass
class _Refinement:
    """Runs with different modes and steps per level; the ones still needed are kept."""

    problem: EvolutionProblem
    split: Split
    defaults: _Defaults
    tolerance: float | None  # None: nothing is refined
    levels: int
    progress: Callable[[str], None] | None

    def __post_init__(self):
        interval = self.problem.interval
        self.times = np.linspace(interval.start, interval.end, self.levels)
        self.runs: dict[tuple[tuple[int, ...], int], list[Spectrum] | None] = {}
        self.reached: dict[str, float] = {}  # the last change measured in each direction, for messages
        self.blow_ups: list[int] = []  # the level that each run reached that did not reach the end

    def time_step(self, steps: int) -> float:
        return self.problem.interval.duration / ((self.levels - 1) * steps)

    def run(self, modes: tuple[int, ...], steps: int) -> list[Spectrum] | None:
        """The solution at all levels but the first; None if it blew up."""
        if (modes, steps) not in self.runs:
            if self.progress is not None:
                shape = "x".join(map(str, modes))
                self.progress(f"reference {self.problem.name}: {shape} modes, time step {self.time_step(steps):.2e}")
            cut = _UNCHECKED_TRIM if self.tolerance is None else _TRIM * self.tolerance
            integrator = Etdrk4(self.problem, modes, self.split)
            snapshots = [trim(s, cut) for s in integrator.levels(self.times, steps)]
            finished = len(snapshots) == self.levels - 1
            self.runs[modes, steps] = snapshots if finished else None
            if not finished:
                self.blow_ups.append(len(snapshots))
        return self.runs[modes, steps]

    def solve(self, modes: tuple[int, ...] | None, time_step: float | None) -> ReferenceSolution:
        """Halve the step until that changes nothing, then double the modes if that does, and again.

        The step comes first because halving it costs a factor 2, doubling the modes 2^dimension. At the end both
        changes have been measured with the very modes and step that are returned.
        """
        refinable = [name for name, given in (("time", time_step), ("space", modes)) if given is None]
        modes = (self.defaults.first_modes,) * self.problem.box.dimension if modes is None else modes
        level = self.problem.interval.duration / (self.levels - 1)
        steps = 1 if time_step is None else max(1, math.ceil(level / time_step - 1e-9))
        while True:
            base = self.run(modes, steps)
            if base is None:  # too coarse; usually in time, but aliasing of too few modes can do it too
                self.check_blow_up(refinable, modes, steps)
                for name in refinable if len(self.blow_ups) % 3 == 0 else refinable[:1]:
                    modes, steps = self.finer(name, modes, steps)
                continue
            changes: dict[str, float] = {}
            for name in refinable:
                changes[name] = self.change(base, *self.finer(name, modes, steps))
                self.reached[name] = changes[name]
                if changes[name] > (self.tolerance or 0.0):
                    # If only the run with more modes blew up, it is the step that is too long for them.
                    direction = refinable[0] if math.isinf(changes[name]) else name
                    modes, steps = self.finer(direction, modes, steps)
                    break
            else:
                return ReferenceSolution(
                    self.problem,
                    base,
                    modes=modes,
                    time_step=self.time_step(steps),
                    tolerance=self.tolerance,
                    agreement=max(changes.values(), default=None),
                    split=self.split,
                )
            self.runs = {key: run for key, run in self.runs.items() if key[0] >= modes and key[1] >= steps}

    def check_blow_up(self, refinable: list[str], modes: tuple[int, ...], steps: int) -> None:
        """Raise if a blow-up cannot be cured by refinement: nothing may be refined, or it stays where it is."""
        where = f"reference {self.problem.name}: the solution is not finite after t={self.times[self.blow_ups[-1]]:.4g}"
        if not refinable:
            raise NotConvergedError(
                f"{where} with modes={modes} and time_step={self.time_step(steps):.2e}; give more modes or a shorter "
                "time step, or neither to have them found."
            )
        recent = self.blow_ups[-_SAME_BLOW_UPS:]
        # An instability of the scheme moves when the step is halved; the end of the solution's life does not.
        if len(recent) == _SAME_BLOW_UPS and min(recent) > 2 and max(recent) - min(recent) <= 1:
            raise NotConvergedError(f"{where}, whatever the modes and the time step; shorten the problem's `time`.")

    def finer(self, name: str, modes: tuple[int, ...], steps: int) -> tuple[tuple[int, ...], int]:
        """The next modes and steps in one direction, if the limits allow it."""
        modes, steps = (modes, 2 * steps) if name == "time" else (tuple(2 * n for n in modes), steps)
        total = steps * (self.levels - 1)
        if max(modes) > self.defaults.most_modes or total > max(self.defaults.most_steps, self.levels):
            reached = (
                ", ".join(f"{value:.1e} in {name}" for name, value in self.reached.items()) or "no finite solution"
            )
            raise NotConvergedError(
                f"reference {self.problem.name}: tolerance={self.tolerance} was not reached within "
                f"{self.defaults.most_modes} modes an axis and {self.defaults.most_steps} time steps "
                f"(reached: {reached}); is the problem well posed and its solution smooth? Otherwise give a larger "
                "tolerance, or modes and time_step to compute without a check."
            )
        return modes, steps

    def change(self, base: list[Spectrum], modes: tuple[int, ...], steps: int) -> float:
        """Relative L2 distance to a finer run over all levels; infinite if that one blew up."""
        finer = self.run(modes, steps)
        if finer is None:
            return math.inf
        squares = np.sum([difference(a, b) for a, b in zip(base, finer, strict=True)], axis=0)
        return math.sqrt(squares[0] / squares[1]) if squares[1] else math.sqrt(squares[0])
