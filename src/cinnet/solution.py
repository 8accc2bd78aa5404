"""What `solve` returns: the solution as a function, with its errors, diagnostics and files."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Inexact
from matplotlib.figure import Figure

from .assess.assessment import Assessment, assess
from .assess.comparison import ErrorMeter
from .assess.diagnostics import Diagnostics, diagnose
from .assess.error_estimate import ErrorEstimate, error_estimate
from .assess.inference import Estimate, known_problem
from .config.settings import Settings
from .evaluation import predict
from .fields import MultiIndex, parse_derivative
from .jets import JetSpace
from .networks import Network
from .problems.base import EvolutionProblem
from .reference import KnownSolution, known_solution
from .result import RunResult
from .storage.files import write_json
from .storage.run_folder import (
    CONFIG_FILE,
    DIAGNOSTICS_FILE,
    OBSERVATIONS_FILE,
    RESULT_FILE,
    check_folder,
    configuration,
    save_observations,
)
from .training.build import whole_objective
from .training.points import build_points, held_out_points
from .view import plots
from .view.animation import animate

_SCATTERED_COLUMNS = 1024


class Solution:
    """A trained solution u(t, x). Call it on arrays that broadcast; a system has a trailing component axis.

    It is assessed once, when its `verdict` is asked for or by `assess`.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        network: Network,
        settings: Settings,
        result: RunResult,
        records: list[dict[str, float]],
        save_state: Callable[[Path], None],
        diagnostics: Diagnostics | None = None,
        folder: Path | None = None,
        *,
        reference: bool = True,
    ):
        self.problem, self.network, self.settings = problem, network, settings
        self.result, self.records, self.folder = result, records, folder
        self._save_state = save_state
        self._known_diagnostics = diagnostics
        self._is_compared = reference

    def assess(self, *, reference: bool | None = None, progress: Callable[[str], None] | None = None) -> Assessment:
        """Measure how good the solution is; the result, and the run folder if there is one, know it from then on.

        With `reference`, it is compared with the exact solution that the problem states, or with a spectral reference;
        None does as `solve` was told.
        """
        with jax.enable_x64(True):
            assessment = assess(
                self.problem,
                self.network,
                self.result,
                self.records,
                held_out=held_out_points(self.problem, self.settings, build_points(self.problem, self.settings)),
                objective=whole_objective(self.problem, self.settings, self.network) if self.problem.unknowns else None,
                reference=self._is_compared if reference is None else reference,
                progress=progress,
            )
        self.result = dataclasses.replace(self.result, **assessment.figures)
        self._known_diagnostics = assessment.diagnostics
        self.write_result()
        return assessment

    def save(self, folder: str | Path) -> None:
        """Keep the solution as a run folder, which `cinnet.load` and the command line read."""
        folder = Path(folder)
        config = configuration(self.problem, self.settings)
        check_folder(folder, config)
        self._save_state(folder)
        save_observations(folder / OBSERVATIONS_FILE, self.problem.observations)
        write_json(folder / CONFIG_FILE, config)
        self._write_result(folder)

    def write_result(self) -> None:
        """Write what is known of the run to its folder, if it has one."""
        if self.folder is not None:
            self._write_result(self.folder)

    def _write_result(self, folder: Path) -> None:
        if self._known_diagnostics is not None:
            self._known_diagnostics.save(folder / DIAGNOSTICS_FILE)
        write_json(folder / RESULT_FILE, self.result.to_json())

    @property
    def status(self) -> str:
        return self.result.status

    @property
    def verdict(self) -> str:
        """How far the solution can be trusted, in a few sentences."""
        if not self.result.is_assessed:
            self.assess()
        assert self.result.verdict is not None
        return self.result.verdict

    def __repr__(self) -> str:
        error = self.result.relative_l2_error
        known = "" if error is None else f", relative L2 error {error:.2e}"
        return f"Solution({self.problem.name}, {self.settings.method}, {self.status}{known})"

    def __call__(self, t, *coordinates) -> Inexact[np.ndarray, "..."]:
        """u at arrays of t and x (and y, z) that broadcast against each other."""
        return self.derivative("", t, *coordinates)

    def derivative(self, name: str, t, *coordinates) -> Inexact[np.ndarray, "..."]:
        """A derivative by name at arrays of points: `solution.derivative("txx", t, x)`."""
        dimension = self.problem.box.dimension
        if len(coordinates) != dimension:
            raise ValueError(f"{len(coordinates)} coordinate(s) given; {self.problem.name} has {dimension}.")
        index: MultiIndex | None = (0,) * (1 + dimension) if name == "" else parse_derivative(name, dimension)
        if index is None:
            raise ValueError(f"derivative {name!r} is not made of the letters t, x, y, z.")
        t, *coordinates = np.broadcast_arrays(*(np.asarray(a, np.float64) for a in (t, *coordinates)))
        self.problem.interval.check(t)
        points = np.stack([c.ravel() for c in coordinates], axis=-1) if coordinates else np.zeros((t.size, 0))
        with jax.enable_x64(True):
            values = self._evaluate(index, t.ravel(), points).reshape(*t.shape, -1)
        return self.problem.joined(values)

    def _evaluate(self, index: MultiIndex, times: np.ndarray, points: np.ndarray) -> np.ndarray:
        distinct_times, time_of = np.unique(times, return_inverse=True)
        distinct_points, point_of = np.unique(points, axis=0, return_inverse=True)
        if len(distinct_times) * len(distinct_points) <= 4 * len(times):
            on_grid = predict(self.network, distinct_times, distinct_points, frozenset({index}))[index]
            return on_grid[time_of, point_of.ravel()]
        space, parts = JetSpace.of({index}), []
        for start in range(0, len(times), _SCATTERED_COLUMNS):
            chunk = slice(start, start + _SCATTERED_COLUMNS)
            plan = self.network.plan(jnp.asarray(times[chunk], self.network.dtype)[None])
            parts.append(self.network.jets(plan, jnp.asarray(points[chunk], self.network.dtype), space)[index][0])
        return np.concatenate(parts)

    @cached_property
    def reference(self) -> KnownSolution:
        """The exact solution that the problem states, or its spectral reference, from the cache or computed."""
        known = known_solution(self.known_problem)
        if known is None:
            raise ValueError(f"{self.problem.name} has no reference: it is not periodic and states no `exact`.")
        return known

    @cached_property
    def known_problem(self) -> EvolutionProblem:
        """The problem with what was learned in the place of its unknowns; the problem itself if it has none."""
        return known_problem(self.problem, self.network)

    @property
    def estimates(self) -> Mapping[str, Estimate]:
        """The unknown numbers, with standard errors and 95 % intervals where there were observations."""
        if self.problem.unknowns and not self.result.is_assessed:
            self.assess()
        return {name: Estimate(**one) for name, one in self.result.estimates.items()}

    @cached_property
    def error_estimate(self) -> ErrorEstimate | None:
        """The error over time that the residual implies, without a reference; None where it cannot be had."""
        with jax.enable_x64(True):
            return error_estimate(self.known_problem, self.network, self.settings.num_times)

    def relative_error(self) -> float:
        """RL2E against the reference on the test grid."""
        with jax.enable_x64(True):
            return ErrorMeter(self.problem, self.reference)(self.network)

    @property
    def diagnostics(self) -> Diagnostics:
        """Fields, residual and invariants over time, gates, and errors where a reference is at hand."""
        if self._known_diagnostics is None:
            computed = self.__dict__.get("reference")
            self._known_diagnostics = self._diagnose(computed or known_solution(self.known_problem, compute=False))
        return self._known_diagnostics

    def _diagnose(self, reference: KnownSolution | None) -> Diagnostics:
        with jax.enable_x64(True):
            return diagnose(self.known_problem, self.network, reference)

    def error_over_time(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and RL2E(t), against the reference, which is computed if need be."""
        if self.diagnostics.error is None:
            self._known_diagnostics = self._diagnose(self.reference)
        assert self.diagnostics.error is not None
        return self.diagnostics.times, self.diagnostics.error

    def residual_over_time(self) -> tuple[np.ndarray, np.ndarray]:
        """Times and L_res(t)."""
        return self.diagnostics.times, self.diagnostics.residual

    def invariants(self) -> Mapping[str, np.ndarray]:
        """The integrals that the problem declares, over the times of the diagnostics."""
        return {name: one.solution for name, one in self.diagnostics.invariants.items()}

    @property
    def title(self) -> str:
        return f"{self.problem.name}, {self.settings.method}"

    def plot(self) -> Figure:
        """Prediction, reference and error."""
        return plots.plot_solution(self.diagnostics.fields, self.title)

    def plot_snapshots(self, times: Sequence[float] | None = None) -> Figure:
        """Prediction and reference at a few times."""
        return plots.plot_snapshots(self.diagnostics.fields, times, self.title)

    def plot_cross_section(self, times: Sequence[float] | None = None) -> Figure:
        """Prediction and reference of a plane problem along its first axis, through the middle of the second."""
        return plots.plot_cross_section(self.diagnostics.fields, times, self.title)

    def plot_training(self) -> Figure:
        """Losses, held-out residual, error, damping and weights over the steps."""
        return plots.plot_training(self.records, self.title)

    def plot_over_time(self) -> Figure:
        """L_res(t) and RL2E(t)."""
        return plots.plot_over_time({self.title: self.diagnostics})

    def plot_invariants(self) -> Figure:
        """The integrals that the problem declares."""
        return plots.plot_invariants(self.diagnostics.times, self.diagnostics.invariants, self.title)

    def plot_gates(self) -> Figure:
        """The gate values of every layer of a CinNet."""
        return plots.plot_gates(self.diagnostics.gates, self.title)

    def animate(self, path: str | Path) -> Path:
        """Write the solution over time as a GIF."""
        return animate(self.diagnostics.fields, Path(path), self.title)
