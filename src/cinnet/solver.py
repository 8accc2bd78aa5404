"""One call from a problem to its solution: train, assess, save."""

import dataclasses
import inspect
import shutil
import textwrap
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Unpack

import equinox as eqx
import jax

from .assess.assessment import find_reference
from .assess.comparison import ErrorMeter
from .assess.diagnostics import Diagnostics
from .config.presets import resolve_settings
from .config.reproduction import reproduction
from .config.settings import Settings, check_name
from .machine import forget_programs_if_many
from .networks import Network, Windows
from .optimizers import Optimizer
from .overrides import Overrides
from .problems import PROBLEMS
from .problems.base import EvolutionProblem
from .problems.compatibility import incompatibilities
from .result import RunResult
from .solution import Solution
from .storage.checkpoint import load_checkpoint
from .storage.files import StorageError, read_json, write_json
from .storage.run_folder import (
    CHECKPOINT_FILE,
    CONFIG_FILE,
    DIAGNOSTICS_FILE,
    METRICS_FILE,
    OBSERVATIONS_FILE,
    RESULT_FILE,
    check_folder,
    configuration,
    held,
    load_records,
    read_config,
    save_observations,
)
from .training import Budget, Position, Solved, Trainer, TrainingOutcome
from .training.build import build_network
from .training.callbacks import Callback
from .training.stepper import assembled, num_parameters
from .training.trainer import ENDS, SECONDS_BETWEEN_CHECKPOINTS
from .training.windows import nearly_equal, window_mesh


def solve(
    problem: EvolutionProblem | str,
    method: str = "ci-pinn",
    preset: str = "fast",
    *,
    seed: int = 0,
    grid: tuple[int, int] | None = None,
    optimizer: str | Optimizer | None = None,
    steps: int | None = None,
    budget: float | Budget | None = None,
    folder: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    assess: bool = False,
    reference: bool = True,
    **settings: Unpack[Overrides],
) -> Solution:
    """Solve an evolution equation with a physics-informed network.

    `grid` is the paper's (N_t, N_x). `budget` limits the seconds of training. With a `folder`, the run is saved there
    and calling again with the same folder goes on where it was. `optimizer` and `steps` change the preset's last stage,
    and any other setting can be given by name, for example hidden=(32, 32), or as an object of your own.

    A callback sees every record of training and may end it. The solution is assessed when it is asked for its errors or
    its verdict; with `assess`, at once: then errors against a reference that is known already are recorded while
    training goes on. `reference=False` leaves out the comparison with a reference.
    """
    problem = as_problem(problem)
    resolved = resolve_settings(problem, method, preset, seed, grid, optimizer, steps, **settings)
    return run(problem, resolved, budget=budget, folder=folder, callbacks=callbacks, assess=assess, reference=reference)


def run(
    problem: EvolutionProblem,
    settings: Settings,
    *,
    budget: float | Budget | None = None,
    folder: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    assess: bool = False,
    reference: bool = True,
    progress: Callable[[str], None] | None = None,
    checkpoint_seconds: float = SECONDS_BETWEEN_CHECKPOINTS,
    solved: Solved | None = None,
    notes: dict[str, Any] | None = None,
) -> Solution:
    """Train as the settings say, save, and assess; see `solve`.

    `progress` receives a line on what is done after training. `solved` are the first windows where another run has
    solved them. `notes` are kept with the result.
    """
    folder = None if folder is None else Path(folder)
    forget_programs_if_many()
    with jax.enable_x64(True), nullcontext() if folder is None else held(folder):
        mismatches = tuple(incompatibilities(problem))
        if mismatches:
            warnings.warn(f"{problem.name}: {'; '.join(mismatches)}.", stacklevel=3)
        if folder is not None:
            config = configuration(problem, settings)
            check_folder(folder, config)
            save_observations(folder / OBSERVATIONS_FILE, problem.observations)
        comparing = assess and reference and not problem.unknowns
        known = find_reference(problem, compute=False)[0] if comparing else None
        error_of = None if known is None else ErrorMeter(problem, known).between
        trainer = Trainer(problem, settings, folder, callbacks, error_of, checkpoint_seconds, solved)
        if folder is not None:
            write_json(folder / CONFIG_FILE, config)
            if solved:
                trainer.save(folder)
        known_result = _finished_result(folder, trainer.position)
        outcome = trainer.run(Budget.of(budget))
        result = known_result or _result(problem, settings, outcome, mismatches, notes or {})
        solution = Solution(
            problem,
            outcome.network,
            settings,
            result,
            outcome.records,
            trainer.save,
            folder=folder,
            reference=reference,
        )
        solution.write_result()
        if assess:
            solution.assess(progress=progress)
    return solution


def _finished_result(folder: Path | None, position: Position) -> RunResult | None:
    """What is known of a run that was finished before, an assessment included."""
    try:
        result = None if folder is None else RunResult.from_json(read_json(folder / RESULT_FILE))
    except StorageError:
        return None
    return result if result and (result.status, result.steps) == (position.status, position.step) else None


def _result(
    problem: EvolutionProblem,
    settings: Settings,
    outcome: TrainingOutcome,
    mismatches: tuple[str, ...],
    notes: dict[str, Any],
) -> RunResult:
    return RunResult(
        problem=problem.name,
        equation=problem.equation,
        residual_source="" if problem.equation else _residual_source(problem),
        reproduce=reproduction(problem, settings),
        method=settings.method,
        preset=settings.preset,
        seed=settings.seed,
        status=outcome.status,
        outcomes=outcome.outcomes,
        num_times=settings.num_times,
        num_points=settings.num_points,
        num_mesh_intervals=settings.num_mesh_intervals,
        windows=settings.windows,
        parameters=num_parameters(outcome.network),
        steps=outcome.steps,
        planned_steps=settings.total_steps,
        wall_seconds=round(outcome.seconds, 2),
        final=outcome.records[-1] if outcome.records else {},
        made_by=outcome.made_by,
        incompatibilities=mismatches,
        notes=notes,
    )


def extend(
    solution: Solution,
    until: float,
    *,
    budget: float | Budget | None = None,
    folder: str | Path | None = None,
    callbacks: Sequence[Callback] = (),
    assess: bool = False,
    reference: bool = True,
    progress: Callable[[str], None] | None = None,
) -> Solution:
    """Carry a solution on to a later time, by more windows like its last; what is solved stays as it is.

    Each new window starts from the values at the end of the one before; the history of its network starts anew.
    """
    problem, settings, solved = extension(solution, until)
    options: dict[str, Any] = {"budget": budget, "folder": folder, "callbacks": callbacks, "progress": progress}
    return run(problem, settings, **options, assess=assess, reference=reference, solved=solved)


def extension(solution: Solution, until: float) -> tuple[EvolutionProblem, Settings, Solved]:
    """The problem, the settings and the windows with which a solution is carried on."""
    if solution.problem.unknowns:
        raise ValueError(
            f"until={until}: a solution with unknowns cannot be carried on; solve `known_problem` instead."
        )
    interval, settings = solution.problem.interval, solution.settings
    levels = nearly_equal(settings.num_times, settings.windows)  # more windows like the last leave these as they are
    length = interval.duration * levels[-1] / settings.num_times
    more = round((until - interval.end) / length) if abs(until) < float("inf") else 0
    windows, num_times = settings.windows + more, settings.num_times + more * levels[-1]
    if more < 1 or abs(interval.end + more * length - until) > 1e-9 * length * windows:
        following = interval.end + length
        raise ValueError(
            f"until={until} is not the end of a later window; they are {length:g} long, so take {following:g}, "
            f"{following + length:g}, ..."
        )
    solved = sum(outcome in ENDS for outcome in solution.result.outcomes)
    if solved < settings.windows:
        raise ValueError(
            f"until={until}: only {solved} of {settings.windows} windows are solved; finish the run first."
        )
    nodes = settings.num_mesh_intervals
    if nodes is not None:
        nodes = window_mesh(nodes, settings.num_times, settings.windows) * num_times // levels[0]
    longer = dataclasses.replace(settings, windows=windows, num_times=num_times, num_mesh_intervals=nodes)
    network = solution.network
    pieces = network.pieces if isinstance(network, Windows) else (network,)
    return solution.problem.until(until), longer, Solved(pieces, solution.result.outcomes, solution.result.made_by)


def load(folder: str | Path, problem: EvolutionProblem | None = None, **settings: Any) -> Solution:
    """A finished run from its folder.

    The problem is found by name if it is built in, else it must be given, and so must settings that are objects of your
    own: `load(folder, MyProblem(), network=my_network)`.
    """
    folder = Path(folder)
    result = RunResult.from_json(read_json(folder / RESULT_FILE))
    problem, resolved = read_config(folder, problem, **settings)
    with jax.enable_x64(True):
        network = _saved_network(folder, problem, resolved)
    path = folder / DIAGNOSTICS_FILE
    diagnostics = Diagnostics.load(path) if path.exists() else None
    records = load_records(folder / METRICS_FILE)

    def copy_state(target: Path) -> None:
        target.mkdir(parents=True, exist_ok=True)
        for name in (CHECKPOINT_FILE, METRICS_FILE):
            shutil.copyfile(folder / name, target / name)

    return Solution(problem, network, resolved, result, records, copy_state, diagnostics, folder)


def _saved_network(folder: Path, problem: EvolutionProblem, settings: Settings) -> Network:
    """The solution in a checkpoint, without what only training needs."""
    one = build_network(problem, settings)

    def like(metadata: dict[str, Any]) -> dict[str, Any]:
        return {"solution": eqx.filter((one,) * (len(metadata["outcomes"]) + 1), eqx.is_array)}

    trees, _ = load_checkpoint(folder / CHECKPOINT_FILE, like)
    pieces = tuple(eqx.combine(piece, one) for piece in trees["solution"])
    return assembled(pieces, problem, settings)


def as_problem(problem: EvolutionProblem | str) -> EvolutionProblem:
    """A problem, or the built-in one of a name."""
    if isinstance(problem, str):
        check_name("problem", problem, PROBLEMS)
        return PROBLEMS[problem]()
    if isinstance(problem, EvolutionProblem):
        return problem
    if isinstance(problem, type) and issubclass(problem, EvolutionProblem):
        raise TypeError(f"problem={problem.__name__} is a class; give an instance of it, {problem.__name__}().")
    raise TypeError(f"problem={problem!r}: give an EvolutionProblem or the name of a built-in one.")


def _residual_source(problem: EvolutionProblem) -> str:
    """The residual as its author wrote it; empty where Python cannot find the text, as in an interactive session."""
    try:
        return textwrap.dedent(inspect.getsource(type(problem).residual))
    except (OSError, TypeError):
        return ""
