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
