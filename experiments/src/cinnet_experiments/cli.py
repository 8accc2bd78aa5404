"""The command that runs the paper's experiments: reproduce."""

import difflib
import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from cinnet.cli.common import friendly_errors
from cinnet.cli.solve import FLAGGED, SettingValue
from cinnet.config.settings import METHODS, PRESETS

from . import EXPERIMENTS, Experiment
from .workers import ENGINE_NAMES, Workers

_WORDS = {"list": "name the experiments", "page": "write docs/results.md", "all": "run every experiment"}


class ExperimentChoice(click.ParamType):
    """An experiment by name, or one of the words list, page and all."""

    name = "experiment"

    def convert(self, value, param, ctx):
        known = (*EXPERIMENTS, *_WORDS, "run")
        if value in known:
            return value
        near = difflib.get_close_matches(value, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "See `cinnet reproduce list`."
        self.fail(f"{value!r} is not an experiment. {hint}", param, ctx)

    def shell_complete(self, ctx, param, incomplete):
        from click.shell_completion import CompletionItem

        summaries = {name: one.title for name, one in EXPERIMENTS.items()} | _WORDS
        return [CompletionItem(name, help=text) for name, text in summaries.items() if name.startswith(incomplete)]


class MethodNames(click.ParamType):
    """Methods separated by commas."""

    name = "methods"

    def convert(self, value, param, ctx):
        names = value.split(",")
        for name in names:
            if name not in METHODS:
                self.fail(f"{name!r} is not one of {', '.join(METHODS)}.", param, ctx)
        return names


class SettingChange(click.ParamType):
    """NAME=VALUE for a setting."""

    name = "name=value"

    def convert(self, value, param, ctx):
        name, separator, text = value.partition("=")
        if not separator:
            self.fail(f"{value!r}: give NAME=VALUE.", param, ctx)
        types = {one.name: one.type for one in FLAGGED}
        return name, SettingValue(types.get(name, str)).convert(text, param, ctx)


@click.command(
    epilog="""\b
Examples:
  cinnet reproduce list
  cinnet reproduce ac-grids --preset fast --seeds 3
  cinnet reproduce ac-grids kdv --engine processes --workers 2 --threads 1
  cinnet reproduce cahn-hilliard-ablation --preset paper --dry-run
  cinnet reproduce page"""
)
@click.argument("names", type=ExperimentChoice(), nargs=-1, required=True, metavar="list|page|all|NAME...")
@click.option("--preset", type=click.Choice(list(PRESETS)), default="fast", show_default=True)
@click.option("--seeds", type=click.IntRange(min=1), default=5, show_default=True, help="Seeds 0 to N-1.")
@click.option("--methods", type=MethodNames(), help="Only these methods, separated by commas.")
@click.option("--engine", type=click.Choice(ENGINE_NAMES), default="serial", show_default=True)
@click.option("--workers", type=click.IntRange(min=1), help="Runs at a time. Default: as many as there are cores.")
@click.option("--threads", type=click.IntRange(min=1), help="Threads of a run. Default: cores divided by workers.")
@click.option("--retry-failed", is_flag=True, help="Try runs again that ended with an error.")
@click.option("--steps", type=click.IntRange(min=1), help="A trial: steps of the last stage, in each window.")
@click.option("--set", "changed", type=SettingChange(), multiple=True, help="A trial: another value of a setting.")
@click.option("--runs", "root", type=click.Path(file_okay=False, path_type=Path), default=Path("runs/sweep"))
@click.option(
    "--results",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("validation/results/reproduce"),
    help="Where the summaries are; those of a trial stay with the runs.",
)
@click.option("--page", type=click.Path(dir_okay=False, path_type=Path), default=Path("docs/results.md"))
@click.option("--dry-run", is_flag=True, help="Name the runs and whether they are done; train nothing.")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def reproduce(names: tuple[str, ...], **flags: Any) -> None:
    """Run tables and figures of the paper, and compare.

    Every run is a folder: one that is finished is never repeated, one that was interrupted goes on.
    """
    chosen = tuple(name for name in names if name != "run")
    words = [name for name in chosen if name in _WORDS]
    if not chosen or (words and len(chosen) > 1):
        raise click.UsageError(f"give experiments by name, or one of {', '.join(_WORDS)} alone.")
    if words == ["list"]:
        _list(flags["as_json"])
    elif words == ["page"]:
        _write_page(flags["results"], flags["page"])
    else:
        experiments = list(EXPERIMENTS.values()) if words else [EXPERIMENTS[name] for name in dict.fromkeys(chosen)]
        _reproduce(experiments, **{name: value for name, value in flags.items() if name != "page"})


def _list(as_json: bool) -> None:
    if as_json:
        content = {
            name: {"title": one.title, "source": one.source, "cells": len(one.cells)}
            for name, one in EXPERIMENTS.items()
        }
        click.echo(json.dumps(content, indent=2))
        return
    for name, one in EXPERIMENTS.items():
        click.echo(f"{name:23} {len(one.cells):3} cells  {one.title} ({one.source})")


def _write_page(results: Path, page: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from .page import write_page
    from .summary import read_summaries

    if not results.is_dir():
        raise click.UsageError(f"--results {str(results)!r} is not a folder; run this in a clone of the repository.")
    with friendly_errors():
        written = write_page(read_summaries(results), page)
    for path in written:
        click.echo(f"written: {path}")


def _reproduce(
    experiments: Sequence[Experiment],
    *,
    preset: str,
    seeds: int,
    methods: Sequence[str] | None,
    engine: str,
    workers: int | None,
    threads: int | None,
    retry_failed: bool,
    steps: int | None,
    changed: Sequence[tuple[str, Any]],
    root: Path,
    results: Path,
    dry_run: bool,
    as_json: bool,
) -> None:
    with friendly_errors():
        team = Workers.fitting(engine, workers, threads)
    if engine == "serial" and "jax" not in sys.modules:
        os.environ.update(team.environment(root))
    from .engines import ENGINES
    from .summary import MOST_SEEDS
    from .sweep import Changes, distinct_runs, expand, prepare_references, read_result, runs_to_do
    from .watch import show_sweep

    changes = Changes(steps, dict(changed))
    with friendly_errors():
        planned = [
            one for experiment in experiments for one in expand(experiment, preset, range(seeds), methods, changes)
        ]
        all_runs = distinct_runs(planned)
        to_do = runs_to_do(all_runs, root, retry_failed)
    if dry_run:
        _describe(all_runs, root, as_json)
        return
    states = []
    with friendly_errors(), show_sweep(len(all_runs), len(all_runs) - len(to_do), root) as display:
        prepare_references(to_do, progress=display.say)
        for event in ENGINES[engine](to_do, root, team):
            display.show(event)
            states.append(event.state)
    command = _command(preset, seeds, methods, engine, team, changes)
    _report(experiments, preset, command, max(seeds, MOST_SEEDS), changes, root, results, as_json)
    if "interrupted" in states:
        click.echo("interrupted; the same command goes on.", err=True)
        raise SystemExit(130)
    raise SystemExit(1 if any(read_result(root / run.name) is None for run in all_runs) else 0)


def _command(preset: str, seeds: int, methods: Sequence[str] | None, engine: str, team: Workers, changes) -> str:
    """The flags that matter for the numbers, with what was left to the defaults filled in."""
    parts = ["--preset", preset, "--seeds", str(seeds), "--engine", engine]
    parts += ["--workers", str(team.count), "--threads", str(team.threads)]
    parts += ["--methods", ",".join(methods)] if methods else []
    parts += ["--steps", str(changes.steps)] if changes.steps is not None else []
    for name, value in changes.settings.items():
        parts += ["--set", f"{name}={value}"]
    return shlex.join(parts)


def _describe(all_runs: Sequence[Any], root: Path, as_json: bool) -> None:
    from .sweep import read_failure, read_result

    def state(name: str) -> str:
        if read_result(root / name) is not None:
            return "finished"
        if read_failure(root / name) is not None:
            return "failed"
        return "interrupted" if (root / name).is_dir() else "to do"

    states = {run.name: state(run.name) for run in all_runs}
    if as_json:
        click.echo(json.dumps(states, indent=2))
        return
    for name, word in states.items():
        click.echo(f"{word:12} {name}")
    click.echo(f"{len(states)} runs, {list(states.values()).count('finished')} finished")


def _report(
    experiments, preset: str, command: str, num_seeds: int, changes, root: Path, results: Path, as_json: bool
) -> None:
    """Write the summary of every experiment and show it."""
    from .summary import results_path, summarize, write_summary

    summaries = []
    for experiment in experiments:
        full = f"cinnet reproduce {experiment.name} {command}"
        summary = summarize(experiment, preset, root, full, num_seeds=num_seeds, changes=changes)
        path = results_path(root / "trials" if changes.any else results, experiment.name, preset)
        with friendly_errors():
            write_summary(path, summary)
        summaries.append(summary)
        if not as_json:
            _show(summary)
            click.echo(f"summary: {path}")
    if as_json:
        click.echo(json.dumps(summaries, indent=2))


def _show(summary: Mapping[str, Any]) -> None:
    from .page import remarks

    click.secho(f"{summary['experiment']}, preset {summary['preset']}: {summary['title']}", bold=True)
    width = max(len(summary["row_title"]), *(len(cell["row"]) for cell in summary["cells"]))
    heads = f"{'method':16} {'the paper':>9} {'ours':>9} {'± std':>8} {'seeds':>5} {'ratio':>6}"
    click.echo(f"  {summary['row_title']:{width}} {heads}")
    for cell in summary["cells"]:
        paper = None if cell["paper"] is None else cell["paper"]["mean"]
        numbers = [(paper, "9.2e", 9), (cell["mean"], "9.2e", 9), (cell["deviation"], "8.1e", 8)]
        texts = [" " * size if value is None else format(value, form) for value, form, size in numbers]
        ratio = " " * 6 if cell["ratio"] is None else f"{cell['ratio']:6.2g}"
        line = f"  {cell['row']:{width}} {cell['column']:16} {' '.join(texts)} {len(cell['seeds']):5} {ratio}"
        click.echo(f"{line}  {remarks(cell).replace('*', '')}".rstrip())
