"""Commands that train: solve, resume, extend."""

import ast
import dataclasses
import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..config.settings import METHODS, PRESETS, Settings
from .common import ProblemChoice, RunFolder, friendly_errors, load_problem, load_run

_OWN_FLAGS = ("method", "preset", "seed", "stages", "network", "strategies", "extra_terms")
REPORT_FILE = "report.html"
FLAGGED = [one for one in dataclasses.fields(Settings) if one.name not in _OWN_FLAGS]
_STATUS_EXIT_CODES = {"non-finite": 1, "interrupted": 130}


@dataclasses.dataclass(frozen=True)
class RunOptions:
    """The flags that commands which train have in common."""

    checkpoint_seconds: float = 20.0
    tensorboard: bool = False
    no_reference: bool = False
    no_report: bool = False
    as_json: bool = False


class SettingValue(click.ParamType):
    """A setting as it is written on the command line: a number, a word, true or false, none, or 24,24,24."""

    name = "value"

    def __init__(self, expected: Any):
        self.expected = expected

    def convert(self, value, param, ctx):
        if not isinstance(value, str):
            return value
        plain = {"none": None, "true": True, "false": False}
        if value.lower() in plain:
            return plain[value.lower()]
        try:
            parsed = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            return value
        several = str(self.expected).startswith("tuple")
        return (parsed,) if several and not isinstance(parsed, tuple) else parsed


def setting_flags(command: Callable) -> Callable:
    """A flag for every setting that has none of its own."""
    for one in reversed(FLAGGED):
        flag = "--" + one.name.replace("_", "-")
        command = click.option(flag, one.name, type=SettingValue(one.type), help=one.metadata["help"])(command)
    return command


@click.command(
    epilog="""\b
Examples:
  cinnet solve allen-cahn --grid 10 64 --seed 1 --output runs/first
  cinnet solve kdv --method pinn --windows 1 --hidden 32,32,32
  cinnet solve cahn-hilliard --config settings.toml --dry-run
  cinnet solve my_equation.py:Burgers --budget 120"""
)
@click.argument("problem", type=ProblemChoice())
@click.option("--method", type=click.Choice(list(METHODS)), help="Default: ci-pinn.")
@click.option("--preset", type=click.Choice(list(PRESETS)), help="Default: fast.")
@click.option("--grid", type=click.IntRange(min=1), nargs=2, help="N_t and N_x of the training grid.")
@click.option("--seed", type=click.IntRange(min=0), help="Default: 0.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Seconds of training at most.")
@click.option("--optimizer", help="One optimizer instead of the preset's stages.")
@click.option("--steps", type=click.IntRange(min=1), help="Steps of the last stage, in each window.")
@click.option("--config", type=click.Path(dir_okay=False, path_type=Path), help="A TOML file; flags go before it.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Run folder; an existing run goes on.")
@click.option("--checkpoint-seconds", type=click.FloatRange(min=0), default=20.0, show_default=True)
@click.option("--tensorboard", is_flag=True, help="Log to RUN/tensorboard; needs the extra `tensorboard`.")
@click.option("--no-reference", is_flag=True, help="Do not compare with a reference.")
@click.option("--no-report", is_flag=True, help="Train and save only: no errors, figures or report.")
@click.option("--dry-run", is_flag=True, help="Print the settings, sizes, memory and time; train nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@setting_flags
def solve(problem, budget, config, output, dry_run, **flags) -> None:
    """Solve PROBLEM with a physics-informed network and draw the solution.

    PROBLEM is a built-in name (see `cinnet list`) or a class of your own as path/to/file.py:ClassName.
    """
    from ..storage.run_folder import run_name

    equation = load_problem(problem)
    options = RunOptions(**{f.name: flags.pop(f.name) for f in dataclasses.fields(RunOptions)})
    stated = {} if config is None else _read_toml(config)
    budget = stated.pop("budget", None) if budget is None else budget
    settings = _resolve(equation, stated, {k: v for k, v in flags.items() if v is not None})
    if dry_run:
        _describe(equation, settings, options.as_json)
        return
    folder = output or Path("runs") / run_name(problem.rpartition(":")[2], settings)
    _train(problem, equation, settings, folder, budget, options)


def _read_toml(path: Path) -> dict[str, Any]:
    try:
        content = tomllib.loads(path.read_text())
    except OSError as error:
        raise click.UsageError(f"--config {str(path)!r} cannot be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--config {str(path)!r} is not TOML: {error}.") from None
    return {name: tuple(v) if isinstance(v, list) and name != "stages" else v for name, v in content.items()}


def _resolve(equation, stated: dict[str, Any], flags: dict[str, Any]) -> Settings:
    """The settings that a file states, unless a flag says otherwise."""
    from ..config.presets import resolve_settings, written_out
    from ..config.settings import Stage

    with friendly_errors():
        choices = written_out(stated) | written_out(flags)
        if "stages" in choices:
            choices["stages"] = tuple(Stage(**stage) for stage in choices["stages"])
        return resolve_settings(equation, **choices)


def _describe(equation, settings: Settings, as_json: bool) -> None:
    from ..training.forecast import forecast

    with friendly_errors():
        sizes = forecast(equation, settings)
    if as_json:
        click.echo(json.dumps({"settings": settings.to_json(), "estimate": sizes}, indent=2))
        return
    for name, value in settings.to_json().items():
        click.echo(f"{name:20} {value}")
    click.echo()
    for name, value in sizes.items():
        click.echo(f"{name:20} {value}")


@click.command(epilog="Example: cinnet resume runs/first")
@click.argument("run", type=RunFolder())
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Seconds of training at most, all in all.")
@click.option("--checkpoint-seconds", type=click.FloatRange(min=0), default=20.0, show_default=True)
@click.option("--problem", type=ProblemChoice(), help="The problem, where it is not a built-in one.")
@click.option("--tensorboard", is_flag=True, help="Log to RUN/tensorboard; needs the extra `tensorboard`.")
@click.option("--no-reference", is_flag=True, help="Do not compare with a reference.")
@click.option("--no-report", is_flag=True, help="Train and save only: no errors, figures or report.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def resume(run: Path, budget, problem, **options) -> None:
    """Go on with the run in a RUN folder where it stopped."""
    from ..storage.run_folder import read_config

    with friendly_errors():
        equation, settings = read_config(run, None if problem is None else load_problem(problem))
    _train(problem or "", equation, settings, run, budget, RunOptions(**options))


@click.command(epilog="Example: cinnet extend runs/first --until 2 --output runs/longer")
@click.argument("run", type=RunFolder())
@click.option("--until", type=float, required=True, help="The later end of the time interval.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Default: RUN-until-T.")
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Seconds of training at most.")
@click.option("--problem", type=ProblemChoice(), help="The problem, where it is not a built-in one.")
@click.option("--no-reference", is_flag=True, help="Do not compare with a reference.")
@click.option("--no-report", is_flag=True, help="Train and save only: no errors, figures or report.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def extend(run: Path, until: float, output, budget, problem, **options) -> None:
    """Carry the solution in a RUN folder on to a later time, without solving again what is solved."""
    from ..solver import extension

    solution = load_run(run, problem)
    with friendly_errors():
        equation, settings, solved = extension(solution, until)
    folder = output or run.with_name(f"{run.name}-until-{until:g}")
    _train(problem or "", equation, settings, folder, budget, RunOptions(**options), solved)


def _train(problem: str, equation, settings: Settings, folder: Path, budget, options: RunOptions, solved=None) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from ..solver import run
    from ..view.progress import show_progress
    from ..view.tensorboard import TensorBoardTracker

    with friendly_errors():
        trackers = [TensorBoardTracker(folder / "tensorboard")] if options.tensorboard else []
    with (
        friendly_errors(),
        show_progress(f"{equation.name} {settings.method}", settings.total_steps, budget or float("inf")) as display,
    ):
        solution = run(
            equation,
            settings,
            budget=budget,
            folder=folder,
            callbacks=(display.watch, *trackers),
            assess=not options.no_report,
            reference=not options.no_reference,
            progress=display.say,
            checkpoint_seconds=options.checkpoint_seconds,
            solved=solved,
        )
        if not options.no_report:
            display.say("figures and report")
            _draw(solution, folder)
    if options.as_json:
        click.echo(json.dumps(solution.result.to_json(), indent=2))
    else:
        _show(solution, folder, problem, not options.no_report)
    raise SystemExit(_STATUS_EXIT_CODES.get(solution.status, 0))


def _draw(solution, folder: Path) -> None:
    from ..view.plots import all_figures, save_figures
    from ..view.report import write_report

    save_figures(all_figures(solution.diagnostics, solution.records, solution.title), folder)
    write_report([folder], folder / REPORT_FILE)


def _show(solution, folder: Path, problem: str, has_report: bool) -> None:
    result = solution.result
    click.echo(f"{result.problem}: {result.status} after {result.steps} steps, {result.wall_seconds:.0f} s")
    if has_report:
        click.echo(solution.verdict)
        for name, one in solution.estimates.items():
            click.echo(f"{name}: {one}")
        click.echo(f"report:  {folder / REPORT_FILE}  (open it in a browser)\nfigures: {folder}/*.png and *.pdf")
    own = f" --problem {problem}" if ":" in problem else ""
    click.echo(f"next:    {_next_command(solution.problem, folder, result.can_be_resumed)}{own}")


def _next_command(equation, folder: Path, can_be_resumed: bool) -> str:
    if can_be_resumed:
        return f"cinnet resume {folder}"
    interval, box = equation.interval, equation.box
    places = "".join(f" --{axis}={one.lower}:{one.upper}:5" for axis, one in zip(box.names, box.axes, strict=True))
    return f"cinnet evaluate {folder} --t {interval.start}:{interval.end}:5{places}"
