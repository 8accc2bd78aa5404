"""Commands that look without training: list, doctor, reference."""

import json
import time
from pathlib import Path

import click

from ..config.settings import METHODS, PRESETS
from .common import PROBLEM_SUMMARIES, ProblemChoice, friendly_errors, load_problem


@click.command("list", epilog="Example: cinnet list --json")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def list_names(as_json: bool) -> None:
    """The problems, methods and presets, with one line each."""
    groups = {"problems": PROBLEM_SUMMARIES, "methods": METHODS, "presets": PRESETS}
    if as_json:
        click.echo(json.dumps(groups, indent=2))
        return
    for title, names in groups.items():
        click.secho(title, bold=True)
        for name, summary in names.items():
            click.echo(f"  {name:14} {summary}")
    click.echo("your own problem: cinnet solve path/to/file.py:ClassName")


@click.command(epilog="Example: cinnet doctor")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def doctor(as_json: bool) -> None:
    """Versions, devices, precision, cache and speed of this machine."""
    import os
    import platform
    from importlib.metadata import version

    import jax
    import jax.numpy as jnp

    from ..machine import gemm_seconds
    from ..reference import cache_directory

    seconds = gemm_seconds()
    cache = cache_directory()
    with jax.enable_x64(True):
        float64 = jnp.ones(()).dtype == jnp.float64
    facts = {
        "cinnet": version("cinnet"),
        "python": platform.python_version(),
        **{name: version(name) for name in ("jax", "equinox", "optax", "numpy", "scipy")},
        "devices": [str(device) for device in jax.devices()],
        "cores": os.cpu_count(),
        "float64": bool(float64),
        "cache": str(cache),
        "cached references": len(list(cache.glob("reference-*.npz"))) if cache.is_dir() else 0,
        "GEMM 4096^3 float32": f"{seconds:.2f} s, {2 * 4096**3 / seconds / 1e9:.0f} GFLOP/s",
    }
    if as_json:
        click.echo(json.dumps(facts, indent=2))
        return
    for name, value in facts.items():
        click.echo(f"{name:20} {', '.join(value) if isinstance(value, list) else value}")


@click.command(epilog="Example: cinnet reference allen-cahn --output figures")
@click.argument("problem", type=ProblemChoice())
@click.option("--tolerance", type=click.FloatRange(min=0, min_open=True), help="Agreement of two refinements.")
@click.option("--output", type=click.Path(file_okay=False, path_type=Path), default=Path("runs/reference"))
@click.option("--no-cache", is_flag=True, help="Compute even if the cache has the solution.")
def reference(problem: str, tolerance: float | None, output: Path, no_cache: bool) -> None:
    """Compute the spectral reference solution of PROBLEM, certify it by refinement and draw it."""
    import matplotlib
    from rich.console import Console

    matplotlib.use("Agg")
    from ..assess.diagnostics import sample_fields
    from ..reference import reference_solution
    from ..view.plots import plot_snapshots, plot_solution, save_figures

    equation = load_problem(problem)
    name = problem.rpartition(":")[2]
    console, start = Console(stderr=True), time.perf_counter()
    with friendly_errors(), console.status(f"reference solution of {name}") as status:
        solution = reference_solution(
            equation,
            tolerance=tolerance,
            cache=not no_cache,
            progress=lambda message: status.update(f"{name}: {message}"),
        )
    click.echo(f"{solution} in {time.perf_counter() - start:.1f} s")

    with friendly_errors():
        output.mkdir(parents=True, exist_ok=True)
        fields = sample_fields(equation, solution.on_grid)
        figures = {name: plot_solution(fields, f"{name}, reference")}
        if fields.axes:
            figures[f"{name}-snapshots"] = plot_snapshots(fields, title=f"{name}, reference")
        paths = save_figures(figures, output, ("png",))
    click.echo(f"figures: {', '.join(map(str, paths))}")
