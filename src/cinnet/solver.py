"""One call from a problem to its solution, with everything a run leaves on disk."""

import dataclasses
import inspect
import platform
import textwrap
import timeit
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp

from .assess.diagnostics import DIAGNOSTICS_FILE, Diagnostics, diagnose
from .assess.error_estimate import error_estimate
from .assess.inference import known_problem
from .assess.verdict import verdict
from .config.presets import resolve_settings
from .config.reproduction import reproduction
from .config.settings import Settings, check_name
from .networks import Network, Windows
from .problems import PROBLEMS
from .problems.base import EvolutionProblem
from .problems.compatibility import incompatibilities
from .reference import known_solution
from .solution import ErrorMeter, Solution
from .storage.files import write_json
from .storage.run_folder import (
    CONFIG_FILE,
    OBSERVATIONS_FILE,
    RESULT_FILE,
    check_folder,
    configuration,
    held,
    read_config,
    read_json,
    save_observations,
)
from .training import Budget, Trainer
from .training.trainer import SECONDS_BETWEEN_CHECKPOINTS

_MAPS, _MOST_MAPS = Path("/proc/self/maps"), Path("/proc/sys/vm/max_map_count")


def solve(
    problem: EvolutionProblem | str,
    method: str = "ci-pinn",
    preset: str = "fast",
    *,
    seed: int = 0,
    grid: tuple[int, int] | None = None,
    budget: float | Budget | None = None,
    folder: str | Path | None = None,
    reference: bool = True,
    watch: Callable[[dict[str, float]], None] | None = None,
    **overrides: Any,
) -> Solution:
    """Solve an evolution equation with a physics-informed network.

    `grid` is the paper's (N_t, N_x). `budget` limits the seconds of training. With a `folder`, the run is saved there
    and calling again with the same folder goes on where it was. Any setting can be overridden by name, for
    example hidden=(32, 32). `reference=False` skips the comparison with the exact solution or the spectral reference.
    """
    problem = named_problem(problem) if isinstance(problem, str) else problem
    settings = resolve_settings(problem, method, preset, seed, grid, **overrides)
    return run(problem, settings, budget=budget, folder=folder, reference=reference, watch=watch)


def run(
    problem: EvolutionProblem,
    settings: Settings,
    *,
    budget: float | Budget | None = None,
    folder: str | Path | None = None,
    reference: bool = True,
    watch: Callable[[dict[str, float]], None] | None = None,
    progress: Callable[[str], None] | None = None,
    checkpoint_seconds: float = SECONDS_BETWEEN_CHECKPOINTS,
    unit_seconds: float | None = None,
    solved: tuple[Network, ...] = (),
) -> Solution:
    """Train as the settings say and report; see `solve`.

    `progress` receives a line on what is done after training. `unit_seconds` is `gemm_seconds()` where it is known,
    and `solved` the networks of the first windows.
    """
    budget = budget if isinstance(budget, Budget) else Budget() if budget is None else Budget(seconds=float(budget))
    folder = None if folder is None else Path(folder)
    _forget_programs_if_many()
    with jax.enable_x64(True), nullcontext() if folder is None else held(folder):
        config = configuration(problem, settings)
        mismatches = incompatibilities(problem)
        if mismatches:
            warnings.warn(f"{problem.name}: {'; '.join(mismatches)}.", stacklevel=3)
        if folder is not None:
            check_folder(folder, config)
            save_observations(folder / OBSERVATIONS_FILE, problem.observations)
        known = known_solution(problem, compute=False) if reference and not problem.unknowns else None
        meter = None if known is None else ErrorMeter(problem, known)
        trainer = Trainer(problem, settings, folder, watch, meter and meter.between, checkpoint_seconds, solved)
        if folder is not None:
            write_json(folder / CONFIG_FILE, config)
            if solved:
                trainer.save(folder)
        outcome = trainer.run(budget)
        say = progress or (lambda message: None)
        learned, fitted = trainer.estimates(), known_problem(problem, outcome.network)
        if known is None and reference:
            known = known_solution(fitted, progress=progress)
            meter = None if known is None else ErrorMeter(fitted, known)
        say("errors, invariants, residual over time")
        estimate = error_estimate(fitted, outcome.network, settings.num_times)
        result = {
            "problem": problem.name,
            "equation": problem.equation,
            "residual_source": "" if problem.equation else _residual_source(problem),
            "reproduce": reproduction(problem, settings),
            "method": settings.method,
            "preset": settings.preset,
            "seed": settings.seed,
            "status": outcome.status,
            "num_times": settings.num_times,
            "num_points": settings.num_points,
            "num_mesh_intervals": settings.num_mesh_intervals,
            "windows": settings.windows,
            "parameters": int(sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(outcome.network, eqx.is_array)))),
            "steps": outcome.steps,
            "wall_seconds": round(outcome.seconds, 2),
            "gemm_seconds": round(gemm_seconds() if unit_seconds is None else unit_seconds, 4),
            "held_out_residual": trainer.held_out_residual(),
            "relative_l2_error": None if meter is None else meter(outcome.network),
            "estimated_error": None if estimate is None else estimate.overall,
            "error_bound": None if estimate is None else estimate.largest_bound,
            "incompatibilities": mismatches,
            "estimates": {name: one.to_json() for name, one in learned.items()},
            "final": outcome.records[-1] if outcome.records else {},
            "machine": {"processor": platform.machine(), "jax": jax.__version__, "devices": str(jax.devices())},
        }
        result["verdict"] = verdict(result)
        diagnostics = None if folder is None else diagnose(fitted, outcome.network, known)
        solution = Solution(problem, outcome.network, settings, result, outcome.records, diagnostics, trainer.save)
        if folder is not None:
            solution.write_outcome(folder)
    return solution


def extend(
    solution: Solution,
    until: float,
    *,
    budget: float | Budget | None = None,
    folder: str | Path | None = None,
    reference: bool = True,
    watch: Callable[[dict[str, float]], None] | None = None,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """Carry a solution on to a later time, by more windows of the length that it has; what is solved stays as it is.

    Each new window starts from the values at the end of the one before; the history of its network starts anew.
    """
    problem, settings, pieces = extension(solution, until)
    options = {"budget": budget, "folder": folder, "reference": reference, "watch": watch, "progress": progress}
    return run(problem, settings, **options, solved=pieces)


def extension(solution: Solution, until: float) -> tuple[EvolutionProblem, Settings, tuple[Network, ...]]:
    """The problem, the settings and the networks with which a solution is carried on."""
    if solution.problem.unknowns:
        raise ValueError(
            f"until={until}: a solution with unknowns cannot be carried on; solve `known_problem` instead."
        )
    interval, settings = solution.problem.interval, solution.settings
    length = interval.duration / settings.windows
    windows = round((until - interval.start) / length)
    if windows <= settings.windows or abs(interval.start + windows * length - until) > 1e-9 * length * windows:
        following = interval.end + length
        raise ValueError(
            f"until={until} is not the end of a later window; they are {length:g} long, so take {following:g}, "
            f"{following + length:g}, ..."
        )
    nodes = settings.num_mesh_intervals
    longer = dataclasses.replace(
        settings,
        windows=windows,
        num_times=settings.num_times // settings.windows * windows,
        num_mesh_intervals=None if nodes is None else nodes // settings.windows * windows,
    )
    network = solution.network
    return solution.problem.until(until), longer, network.pieces if isinstance(network, Windows) else (network,)


def load(folder: str | Path, problem: EvolutionProblem | None = None) -> Solution:
    """A finished run from its folder. The problem is found by name if it is built in, else it must be given."""
    folder = Path(folder)
    result = read_json(folder / RESULT_FILE)
    problem, settings = read_config(folder, problem)
    with jax.enable_x64(True):
        trainer = Trainer(problem, settings, folder)
    path = folder / DIAGNOSTICS_FILE
    diagnostics = Diagnostics.load(path) if path.exists() else None
    return Solution(problem, trainer.network, settings, result, trainer.records, diagnostics, trainer.save)


def named_problem(name: str) -> EvolutionProblem:
    check_name("problem", name, PROBLEMS)
    return PROBLEMS[name]()


def _residual_source(problem: EvolutionProblem) -> str:
    """The residual as its author wrote it; empty where Python cannot find the text, as in an interactive session."""
    try:
        return textwrap.dedent(inspect.getsource(type(problem).residual))
    except (OSError, TypeError):
        return ""


def _forget_programs_if_many() -> None:
    """Make room for the programs of a run.

    Linux limits the memory maps of a process, every compiled program holds some for as long as JAX remembers it, and
    XLA aborts at the limit. Some twenty runs of different shapes would get there.
    """
    if _MAPS.exists() and _MOST_MAPS.exists():
        with _MAPS.open() as lines:
            count = sum(1 for _ in lines)
        if 2 * count > int(_MOST_MAPS.read_text()):
            jax.clear_caches()


def gemm_seconds(repeats: int = 3) -> float:
    """The least time of one 4096^3 float32 GEMM, the unit in which times compare across machines."""
    matrix = jnp.ones((4096, 4096), jnp.float32)
    multiply = jax.jit(jnp.matmul)
    multiply(matrix, matrix).block_until_ready()
    return min(timeit.repeat(lambda: multiply(matrix, matrix).block_until_ready(), number=1, repeat=repeats))
