"""The page docs/results.md, written from the committed summaries alone, never from runs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt

from cinnet.config.settings import PRESETS

from . import EXPERIMENTS
from .cells import Cell, Experiment
from .claims import WRONG, claims_section
from .figures import draw, has_figure

PAGE = Path("docs/results.md")
_INTRODUCTION = """\
# Results beside the paper's

Made by `cinnet reproduce page` from the files in `validation/results/reproduce`; do not edit it by hand. Every number
is a relative L2 error against the spectral reference: the paper's mean ± standard deviation of five seeds, and ours
with the number of seeds. The ratio is ours over the paper's, and **worse** marks where ours is larger. The preset
`paper` is the paper's recipe. `whole` compares methods as the paper does, one network for the whole interval and an
optimizer that follows the gradient, but with 5,000 steps of SOAP in the place of 300,000 of Adam. `fast` solves short
time windows with small networks and Levenberg-Marquardt: windows give every method the order in time that CinNet has
by construction, so there a baseline may do as well as CI-PINN. Nothing is left out: a cell that failed or was not run
says so.
"""


def write_page(summaries: Sequence[Mapping[str, Any]], page: Path) -> list[Path]:
    """Write the page and its figures, and say which files were written."""
    figures = page.with_suffix("")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_text(summaries))
    written = [page]
    for summary in filter(has_figure, summaries):
        figures.mkdir(exist_ok=True)
        figure, path = draw(summary), figures / f"{_stem(summary)}.png"
        figure.savefig(path, dpi=110)
        plt.close(figure)
        written.append(path)
    return written


def page_text(summaries: Sequence[Mapping[str, Any]]) -> str:
    """The whole page as Markdown."""
    by_name = {(summary["experiment"], summary["preset"]): summary for summary in summaries}
    parts = [_INTRODUCTION, *filter(None, [claims_section(summaries)])]
    for experiment in EXPERIMENTS.values():
        found = [by_name[experiment.name, preset] for preset in PRESETS if (experiment.name, preset) in by_name]
        parts.append(f"## {experiment.title}\n\n`{experiment.name}`: {experiment.source}.\n")
        parts += [_section(summary) for summary in found] or [_missing(experiment)]
    return "\n".join(parts)


def _missing(experiment: Experiment) -> str:
    """What the paper has where we have nothing yet."""
    known = [cell for cell in experiment.cells if cell.target is not None]
    text = f"Not run yet; `cinnet reproduce {experiment.name}` runs it.\n"
    if not known:
        return text
    rows = [f"| {cell.row} | {cell.column} | {_paper_value(cell)} |" for cell in known]
    return "\n".join([text, f"| {experiment.row_title} | method | the paper |", "| --- | --- | --- |", *rows, ""])


def _paper_value(cell: Cell) -> str:
    assert cell.target is not None
    return _with_deviation(cell.target.mean, cell.target.deviation)


def _section(summary: Mapping[str, Any]) -> str:
    machine = summary["machine"]
    place = f"{machine['processor']}, {machine['cores']} cores, {', '.join(machine['devices'])}, JAX {machine['jax']}"
    lines = [
        f"### Preset `{summary['preset']}`",
        "",
        f"`{summary['command']}`, commit {summary['commit'] or 'unknown'}, on {place}.",
        "",
        f"| {summary['row_title']} | method | the paper | ours | seeds | best | ratio | median seconds | remarks |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
        *(_row(cell) for cell in summary["cells"]),
        "",
    ]
    if has_figure(summary):
        lines += [f"![{summary['title']}]({PAGE.stem}/{_stem(summary)}.png)", ""]
    return "\n".join(lines)


def _stem(summary: Mapping[str, Any]) -> str:
    return f"{summary['experiment']}-{summary['preset']}"


def _row(cell: Mapping[str, Any]) -> str:
    paper = cell["paper"]
    known = _known_errors(cell)
    seconds = sorted(cell["wall_seconds"])
    columns = [
        cell["row"],
        cell["column"],
        "" if paper is None else _with_deviation(paper["mean"], paper["deviation"]),
        "" if cell["mean"] is None else _with_deviation(cell["mean"], cell["deviation"]),
        str(len(known)),
        _best(cell),
        "" if cell["ratio"] is None else f"{cell['ratio']:.2g}",
        f"{seconds[len(seconds) // 2]:.0f}" if seconds else "",
        remarks(cell),
    ]
    return f"| {' | '.join(columns)} |"


def _best(cell: Mapping[str, Any]) -> str:
    if cell["best"] is None:
        return ""
    papers = None if cell["paper"] is None else cell["paper"]["best"]
    return f"{cell['best']:.2e}" if papers is None else f"{cell['best']:.2e} (the paper {papers:.2e})"


def _known_errors(cell: Mapping[str, Any]) -> list[float]:
    return [error for error in cell["errors"] if error is not None]


def remarks(cell: Mapping[str, Any]) -> str:
    """What a reader must know of a cell: worse, wrong on some seeds, failed, not run, ended early."""
    failures, statuses = cell["failures"], cell["statuses"]
    known = _known_errors(cell)
    wrong = sum(error > WRONG for error in known)
    words = []
    if cell["ratio"] is not None and cell["ratio"] > 1:
        words.append("**worse**")
    if 0 < wrong < len(known):
        words.append(f"{wrong} of {len(known)} seeds above {WRONG:g}")
    if failures:
        kinds = ", ".join(sorted({failure["type"] for failure in failures}))
        words.append(f"**{len(failures)} failed** ({kinds})")
    if "non-finite" in statuses:
        words.append(f"**{statuses.count('non-finite')} ended non-finite**")
    if not statuses and not failures:
        words.append("not run")
    return ", ".join(words)


def _with_deviation(mean: float, deviation: float | None) -> str:
    return f"{mean:.2e}" if deviation is None else f"{mean:.2e} ± {deviation:.1e}"
