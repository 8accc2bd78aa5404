"""From run folders to one small JSON file for an experiment, the only thing that pages and figures are made of."""

import json
import math
import re
import statistics
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np

from cinnet.machine import merged
from cinnet.reference import reference_solution
from cinnet.solution import Solution
from cinnet.solver import load
from cinnet.storage.files import write_atomically
from cinnet.storage.run_folder import described_problem

from .cells import Cell, Experiment, Target
from .sweep import Changes, Planned, expand, read_failure, read_result

RESULTS_FOLDER = Path("validation/results/reproduce")
MOST_SEEDS = 5
_PROFILE_POINTS, _PROFILE_TIMES = 257, (0.0, 0.5, 1.0)
_PLANE_POINTS, _SECTION_TIMES, _SECTION_POINTS = 41, 41, 65


def results_path(folder: Path, name: str, preset: str) -> Path:
    return folder / f"{name}-{preset}.json"


def summarize(
    experiment: Experiment,
    preset: str,
    root: Path,
    command: str,
    *,
    num_seeds: int = MOST_SEEDS,
    changes: Changes | None = None,
) -> dict[str, Any]:
    """What the folders below `root` know of an experiment: every cell with the seeds that were run, failures too."""
    planned = expand(experiment, preset, range(num_seeds), changes=changes)
    of_cell = {id(cell): [one for one in planned if one.cell is cell] for cell in experiment.cells}
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "row_title": experiment.row_title,
        "figure": experiment.figure,
        "preset": preset,
        "command": command,
        **_made_by(planned, root),
        "cells": [_summarize_cell(cell, of_cell[id(cell)], root) for cell in experiment.cells],
        "arrays": _arrays(experiment.figure, planned, root),
    }


def _made_by(planned: Sequence[Planned], root: Path) -> dict[str, Any]:
    """The version, the commit and the machine that made the runs; of all of them where they differ."""
    results = [read_result(root / one.run.name) for one in planned]
    makers = merged(*(result["made_by"] for result in results if result is not None))
    machine = {name: makers.get(name) for name in ("processor", "cores", "python", "jax")}
    devices = makers.get("devices", "").split(", ")
    return {
        "version": makers.get("cinnet"),
        "commit": makers.get("commit"),
        "machine": {**machine, "devices": devices},
    }


def _summarize_cell(cell: Cell, planned: Sequence[Planned], root: Path) -> dict[str, Any]:
    found = [(one.seed, read_result(root / one.run.name), read_failure(root / one.run.name)) for one in planned]
    results = [(seed, result) for seed, result, _ in found if result is not None]
    errors = [_finite(result["relative_l2_error"]) for _, result in results]
    known = [error for error in errors if error is not None]
    mean = statistics.fmean(known) if known else None
    return {
        "row": cell.row,
        "column": cell.column,
        "problem": cell.problem,
        "method": cell.method,
        "grid": list(cell.grid),
        "budget": cell.budget,
        "seeds": [seed for seed, _ in results],
        "errors": errors,
        "statuses": [result["status"] for _, result in results],
        "steps": [result["steps"] for _, result in results],
        "held_out_residuals": [_finite(result["held_out_residual"]) for _, result in results],
        "wall_seconds": [result["wall_seconds"] for _, result in results],
        "gemm_seconds": [result["notes"]["gemm_seconds"] for _, result in results],
        "failures": [
            {"seed": seed, "type": failure["type"], "message": failure["message"]}
            for seed, _, failure in found
            if failure is not None
        ],
        "mean": mean,
        "deviation": statistics.stdev(known) if len(known) > 1 else None,
        "best": min(known, default=None),
        "paper": _target_content(cell.target),
        "ratio": None if mean is None or cell.target is None else mean / cell.target.mean,
    }


def _target_content(target: Target | None) -> dict[str, float | None] | None:
    return None if target is None else {"mean": target.mean, "deviation": target.deviation, "best": target.best}


def _finite(value: float | None) -> float | None:
    """JSON has no infinity; what is not a number is not known."""
    return value if value is not None and math.isfinite(value) else None


def _arrays(figure: str | None, planned: Sequence[Planned], root: Path) -> dict[str, Any]:
    """What a figure shows: curves of all runs, or fields of the best run of every cell."""
    if figure not in ("metrics", "profiles", "planes"):
        return {}
    with jax.enable_x64(True):
        if figure == "metrics":
            return _metrics([one for one in planned if _error(one, root) is not None], root)
        best = _best_of_cells([one for one in planned if figure == "profiles" or one.cell.method == "ci-pinn"], root)
        if not best:
            return {}
        solutions = {one.cell.column: load(root / one.run.name) for one in best}
        reference = reference_solution(described_problem(best[0].run.problem))
        arrays = (_profiles if figure == "profiles" else _planes)(solutions, reference)
        return {**arrays, "seeds": {one.cell.column: one.seed for one in best}}


def _error(one: Planned, root: Path) -> float | None:
    result = read_result(root / one.run.name)
    return None if result is None else _finite(result["relative_l2_error"])


def _best_of_cells(planned: Iterable[Planned], root: Path) -> list[Planned]:
    errors: dict[str, tuple[float, Planned]] = {}
    for one in planned:
        error = _error(one, root)
        if error is not None and error < errors.get(one.cell.column, (math.inf, None))[0]:
            errors[one.cell.column] = error, one
    return [one for _, one in errors.values()]


def _metrics(finished: Sequence[Planned], root: Path) -> dict[str, Any]:
    """L_res(t) and RL2E(t) of every run on the test grid."""
    times: list[float] = []
    curves: dict[str, dict[str, list]] = {}
    for one in finished:
        solution = load(root / one.run.name)
        test_times, errors = solution.error_over_time()
        times = _rounded(test_times)
        own = curves.setdefault(one.cell.column, {"seeds": [], "residual": [], "error": []})
        own["seeds"].append(one.seed)
        own["residual"].append(_rounded(solution.residual_over_time()[1]))
        own["error"].append(_rounded(errors))
    return {"times": times, "curves": curves} if curves else {}


def _profiles(solutions: Mapping[str, Solution], reference: Any) -> dict[str, Any]:
    """The solutions and the reference over x at three times."""
    problem = next(iter(solutions.values())).problem
    axis = problem.box.axes[0]
    x, times = np.linspace(axis.lower, axis.upper, _PROFILE_POINTS), _times(problem, _PROFILE_TIMES)
    values = {name: _rounded(solution(times[:, None], x)) for name, solution in solutions.items()}
    exact = _rounded(reference.on_grid(times, x[:, None])[..., 0])
    return {"times": _rounded(times), "x": _rounded(x), "values": values, "reference": exact}


def _planes(solutions: Mapping[str, Solution], reference: Any) -> dict[str, Any]:
    """The solution and the reference at three times over the plane, and over (t, x) at y = 0."""
    solution = next(iter(solutions.values()))
    problem = solution.problem
    x, y = (np.linspace(axis.lower, axis.upper, _PLANE_POINTS) for axis in problem.box.axes)
    times = _times(problem, _PROFILE_TIMES)
    plane = np.stack(np.meshgrid(x, y, indexing="ij"), axis=-1).reshape(-1, 2)
    section_times = _times(problem, np.linspace(0, 1, _SECTION_TIMES))
    section_x = np.linspace(x[0], x[-1], _SECTION_POINTS)
    line = np.stack([section_x, np.zeros_like(section_x)], axis=-1)
    shape = (len(times), len(x), len(y))
    return {
        "times": _rounded(times),
        "x": _rounded(x),
        "y": _rounded(y),
        "prediction": _rounded(solution(times[:, None, None], x[:, None], y)),
        "reference": _rounded(reference.on_grid(times, plane)[..., 0].reshape(shape)),
        "section_times": _rounded(section_times),
        "section_x": _rounded(section_x),
        "section_prediction": _rounded(solution(section_times[:, None], section_x, 0.0)),
        "section_reference": _rounded(reference.on_grid(section_times, line)[..., 0]),
    }


def _times(problem: Any, fractions: Iterable[float]) -> np.ndarray:
    return problem.interval.start + problem.interval.duration * np.asarray(list(fractions), np.float64)


def _rounded(values: np.ndarray) -> Any:
    """Seven digits: small in a file, and enough for the differences of good solutions."""
    if values.ndim > 1:
        return [_rounded(row) for row in values]
    return [float(f"{value:.7g}") for value in values.tolist()]


def write_summary(path: Path, summary: Mapping[str, Any]) -> None:
    """Write a summary with every list of numbers on one line."""
    text = json.dumps(summary, indent=1)
    text = re.sub(r"\[[^\[\]{}\"]*\]", lambda match: "[" + " ".join(match[0][1:-1].split()) + "]", text)
    write_atomically(path, (text + "\n").encode())


def read_summaries(folder: Path) -> list[dict[str, Any]]:
    """All summaries in a folder."""
    return [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
