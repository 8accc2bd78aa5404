"""The command `cinnet`. JAX is imported inside the commands, so that help is instant."""

import difflib
import time
from pathlib import Path

import click

PROBLEM_NAMES = ("allen-cahn", "kdv", "cahn-hilliard", "allen-cahn-2d")


class ProblemName(click.ParamType):
    """A built-in problem; a wrong name is answered with the nearest one."""

    name = "problem"

    def convert(self, value, param, ctx):
        if value in PROBLEM_NAMES:
            return value
        near = difflib.get_close_matches(value, PROBLEM_NAMES, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else f"Choose one of: {', '.join(PROBLEM_NAMES)}."
        self.fail(f"{value!r} is not a built-in problem. {hint}", param, ctx)

    def shell_complete(self, ctx, param, incomplete):
        from click.shell_completion import CompletionItem

        return [CompletionItem(name) for name in PROBLEM_NAMES if name.startswith(incomplete)]


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="cinnet")
def main() -> None:
    """Solve evolution equations with physics-informed networks whose layers remember."""


@main.command(epilog="Example: cinnet reference allen-cahn --output figures")
@click.argument("problem", type=ProblemName())
@click.option("--tolerance", type=click.FloatRange(min=0, min_open=True), help="Agreement of two refinements.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("runs/reference"))
@click.option("--no-cache", is_flag=True, help="Compute even if the cache has the solution.")
def reference(problem: str, tolerance: float | None, output: Path, no_cache: bool) -> None:
    """Compute the spectral reference solution of PROBLEM, certify it by refinement and draw it."""
    import numpy as np
    from rich.console import Console

    from .plots import plot_plane_snapshots, plot_space_time
    from .problems import PROBLEMS
    from .reference import reference_solution

    equation = PROBLEMS[problem]()
    console, start = Console(stderr=True), time.perf_counter()
    with console.status(f"reference solution of {problem}") as status:
        solution = reference_solution(
            equation,
            tolerance=tolerance,
            cache=not no_cache,
            progress=lambda message: status.update(f"{problem}: {message}"),
        )
    click.echo(f"{solution} in {time.perf_counter() - start:.1f} s")

    interval, box = equation.interval, equation.box
    axes = [np.linspace(axis.lower, axis.upper, 257 if box.dimension == 1 else 129) for axis in box.axes]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, box.dimension)
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{problem}.png"
    if box.dimension == 1:
        times = np.linspace(interval.start, interval.end, 101)
        figure = plot_space_time(times, axes[0], solution.on_grid(times, points)[..., 0], f"{problem}, reference")
    else:
        times = np.linspace(interval.start, interval.end, 3)
        values = solution.on_grid(times, points)[..., 0].reshape(len(times), len(axes[0]), len(axes[1]))
        figure = plot_plane_snapshots(times, axes[0], axes[1], values, f"{problem}, reference")
    figure.savefig(path)
    click.echo(f"figure: {path}")


def _setting(text: str):
    """NAME=VALUE, the value written as in Python."""
    import ast

    name, separator, value = text.partition("=")
    if not separator:
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE.", param_hint="--set")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value


@main.command(epilog="Example: cinnet solve allen-cahn --grid 10 64 --seed 1 --output runs/first")
@click.argument("problem", type=ProblemName())
@click.option("--method", type=click.Choice(["ci-pinn", "causal-pinn", "pinn"]), default="ci-pinn", show_default=True)
@click.option("--preset", type=click.Choice(["fast", "accurate", "paper"]), default="fast", show_default=True)
@click.option("--grid", type=click.IntRange(min=1), nargs=2, help="N_t and N_x of the training grid.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--budget", type=click.FloatRange(min=0, min_open=True), help="Seconds of training at most.")
@click.option("--steps", type=click.IntRange(min=1), help="Steps of the last optimizer, instead of the preset's.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), help="Run folder; an existing run goes on.")
@click.option(
    "--checkpoint-seconds", type=click.FloatRange(min=0), default=20.0, show_default=True, help="Time between saves."
)
@click.option("--set", "settings", multiple=True, metavar="NAME=VALUE", help="Any other setting, may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def solve(problem, method, preset, grid, seed, budget, steps, output, checkpoint_seconds, settings, as_json) -> None:
    """Solve PROBLEM with a physics-informed network and draw the solution."""
    import dataclasses
    import json

    import matplotlib

    matplotlib.use("Agg")
    from .presets import resolve_settings
    from .runs import named_problem, run, run_name
    from .training.progress import show_progress

    equation = named_problem(problem)
    try:
        overrides = dict(_setting(text) for text in settings)
        resolved = resolve_settings(equation, method, preset, seed, grid or None, **overrides)
    except (ValueError, TypeError) as error:
        raise click.UsageError(str(error)) from None
    if steps is not None:
        stages = (*resolved.stages[:-1], dataclasses.replace(resolved.stages[-1], steps=steps))
        resolved = dataclasses.replace(resolved, stages=stages)
    folder = output or Path("runs") / run_name(problem, resolved)
    try:
        with show_progress(f"{problem} {method}", resolved.total_steps, budget or float("inf")) as display:
            solution = run(
                equation,
                resolved,
                budget=budget,
                folder=folder,
                watch=display.watch,
                progress=display.say,
                checkpoint_seconds=checkpoint_seconds,
            )
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    figures = _draw(solution, folder)
    if as_json:
        click.echo(json.dumps(solution.result, indent=2))
        return
    result = solution.result
    click.echo(f"{problem}: {result['status']} after {result['steps']} steps, {result['wall_seconds']:.0f} s")
    if result["relative_l2_error"] is not None:
        click.echo(f"relative L2 error against the spectral reference: {result['relative_l2_error']:.2e}")
    if result["status"] == "interrupted":
        click.echo(f"interrupted; the same command with --output {folder} goes on")
    click.echo(f"run folder: {folder}\nfigures: {', '.join(str(path) for path in figures)}")


def _draw(solution, folder: Path) -> list[Path]:
    import numpy as np

    from .plots import plot_comparison, plot_plane_snapshots, plot_training

    problem = solution.problem
    interval, box = problem.interval, problem.box
    title = f"{problem.name}, {solution.settings.method}"
    figures = {"training": plot_training(solution.records, title)}
    if box.dimension == 1:
        times, axis = np.linspace(interval.start, interval.end, 101), box.axes[0]
        x = np.linspace(axis.lower, axis.upper, 257)
        exact = solution.reference.on_grid(times, x[:, None])[..., 0] if box.periodic else None
        figures["solution"] = plot_comparison(times, x, solution(times[:, None], x[None]), exact, title)
    elif box.dimension == 2:
        times = np.linspace(interval.start, interval.end, 3)
        x, y = (np.linspace(axis.lower, axis.upper, 129) for axis in box.axes)
        values = solution(times[:, None, None], x[:, None], y)
        figures["solution"] = plot_plane_snapshots(times, x, y, values, title)
    paths = []
    for name, figure in figures.items():
        for suffix in ("png", "pdf"):
            path = folder / f"{name}.{suffix}"
            figure.savefig(path)
            paths.append(path)
    return paths
