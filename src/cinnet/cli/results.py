"""Commands on finished runs: evaluate, compare, report."""

import io
import json
from pathlib import Path

import click

from .common import ProblemChoice, RunFolder, friendly_errors, load_run


@click.command(epilog="Example: cinnet evaluate runs/first --t 0:1:11 --x=-1:1:101 --output values.csv")
@click.argument("run", type=RunFolder())
@click.option("--t", "times", required=True, help="Times, separated by spaces or commas, or START:STOP:COUNT.")
@click.option("--x", "xs", help="Values of x, in the same way.")
@click.option("--y", "ys", help="Values of y, in the same way.")
@click.option("--z", "zs", help="Values of z, in the same way.")
@click.option("--derivative", default="", metavar="NAME", help="A derivative such as xx or tx instead of u.")
@click.option("--problem", type=ProblemChoice(), help="The problem, where it is not a built-in one.")
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="A .csv or .npz file; else the screen.")
def evaluate(run: Path, times, xs, ys, zs, derivative, problem, output: Path | None) -> None:
    """Evaluate the solution in a RUN folder on the grid of all given times and coordinates."""
    import numpy as np

    from ..storage.files import write_atomically

    if output is not None and output.suffix not in (".csv", ".npz"):
        raise click.UsageError(f"--output {str(output)!r}: the name must end with .csv or .npz.")
    given = {name: _numbers(text, name) for name, text in (("t", times), ("x", xs), ("y", ys), ("z", zs)) if text}
    solution = load_run(run, problem)
    needed = ["t", *solution.problem.box.names]
    if list(given) != needed:
        raise click.UsageError(f"{solution.problem.name} needs {' '.join(f'--{name}' for name in needed)}.")
    grid = np.meshgrid(*given.values(), indexing="ij")
    with friendly_errors():
        values = solution.derivative(derivative, *grid)
        components = solution.problem.outputs
        columns = solution.problem.parted(values).reshape(-1, len(components))
        suffix = f"_{derivative}" if derivative else ""
        table = np.column_stack([*(axis.ravel() for axis in grid), columns])
        header = ",".join([*given, *(f"{name}{suffix}" for name in components)])
        if output is None:
            click.echo(header)
            for row in table:
                click.echo(",".join(f"{number:.9g}" for number in row))
        elif output.suffix == ".csv":
            lines = [header, *(",".join(f"{number:.9g}" for number in row) for row in table)]
            write_atomically(output, ("\n".join(lines) + "\n").encode())
        else:
            content = io.BytesIO()
            np.savez(content, **{name: np.asarray(axis) for name, axis in given.items()}, **{f"u{suffix}": values})
            write_atomically(output, content.getvalue())
    if output is not None:
        click.echo(f"{len(table)} values: {output}")


def _numbers(text: str, name: str) -> list[float]:
    import numpy as np

    try:
        if text.count(":") == 2:
            start, stop, count = text.split(":")
            return np.linspace(float(start), float(stop), int(count)).tolist()
        return [float(part) for part in text.replace(",", " ").split()]
    except ValueError:
        raise click.UsageError(f"--{name} {text!r}: give numbers, or START:STOP:COUNT.") from None


@click.command(epilog="Example: cinnet compare runs/*")
@click.argument("runs", type=RunFolder(), nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def compare(runs: tuple[Path, ...], as_json: bool) -> None:
    """A table of finished runs, the most accurate first."""
    from ..result import RunResult
    from ..storage.files import read_json
    from ..storage.run_folder import RESULT_FILE

    rows = []
    for folder in runs:
        if not (folder / RESULT_FILE).exists():
            click.echo(f"{folder} is not finished and is left out; go on with: cinnet resume {folder}", err=True)
            continue
        with friendly_errors():
            rows.append({"run": str(folder), **RunResult.from_json(read_json(folder / RESULT_FILE)).to_json()})
    if not rows:
        raise click.UsageError("none of these runs is finished.")
    rows.sort(key=lambda row: tuple(_or_infinity(row[name]) for name in ("relative_l2_error", "held_out_residual")))
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    width = max(len(row["run"]) for row in rows)
    click.echo(f"{'run':{width}} {'error':>9} {'held-out':>9} {'seconds':>8} {'steps':>7} {'parameters':>10} status")
    for row in rows:
        error, held_out = (_or_unknown(row[name]) for name in ("relative_l2_error", "held_out_residual"))
        click.echo(
            f"{row['run']:{width}} {error:>9} {held_out:>9} {row['wall_seconds']:8.0f} "
            f"{row['steps']:7} {row['parameters']:10} {row['status']}"
        )


def _or_infinity(value: float | None) -> float:
    return float("inf") if value is None else value


def _or_unknown(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.2e}"


@click.command(
    epilog="""\b
Examples:
  cinnet report runs/first
  cinnet report runs/pinn runs/ci-pinn --output comparison.html"""
)
@click.argument("runs", type=RunFolder(), nargs=-1, required=True)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The page; by default report.html in the run folder, for several runs in the present one.",
)
@click.option("--animation", is_flag=True, help="Also write animation.gif into each run folder.")
def report(runs: tuple[Path, ...], output: Path | None, animation: bool) -> None:
    """One self-contained HTML page on a RUN, or on several side by side."""
    import matplotlib

    matplotlib.use("Agg")
    from ..assess.diagnostics import Diagnostics
    from ..storage.run_folder import DIAGNOSTICS_FILE
    from ..view.animation import animate
    from ..view.report import write_report

    with friendly_errors():
        default = runs[0] / "report.html" if len(runs) == 1 else Path("report.html")
        click.echo(f"report: {write_report(runs, output or default)}")
        for folder in runs if animation else ():
            fields = Diagnostics.load(folder / DIAGNOSTICS_FILE).fields
            click.echo(f"animation: {animate(fields, folder / 'animation.gif', folder.name)}")
