"""Presets: settings with a name, chosen for a problem, a method and a training grid. See docs/presets.md."""

import dataclasses
from typing import Any

from ..embeddings import default_harmonics
from ..optimizers import OPTIMIZERS
from ..problems.base import EvolutionProblem
from ..problems.symmetry import find_symmetry
from .settings import METHODS, PRESETS, Settings, Stage, check_name, suggestion


def default_grid(problem: EvolutionProblem, preset: str) -> tuple[int, int]:
    """The paper's densest training grid of a benchmark; (20, 256) and (20, 1024) for other problems.

    The preset `accurate` has a denser one: on a line 192 columns that no symmetry makes equal.
    """
    if preset == "accurate" and problem.box.dimension <= 1:
        return 120, 192 * find_symmetry(problem).order
    if preset == "accurate":
        return 40, 1536
    if problem.box.dimension <= 1:
        return (40, 256) if problem.spatial_order >= 4 else (20, 256)
    return 20, 1024


def _common(problem: EvolutionProblem, method: str, preset: str, seed: int, grid: tuple[int, int]) -> dict[str, Any]:
    return {
        "method": method,
        "preset": preset,
        "seed": seed,
        "num_times": grid[0],
        "num_points": grid[1],
        "sampling": "uniform-grid" if problem.box.dimension <= 1 else "latin-hypercube",
        "network": "cinnet" if method == "ci-pinn" else "mlp",
        "harmonics": default_harmonics(problem.box, problem.spatial_order),
        "activation": "tanh",
        "residual_weight": 1.0,
        "initial_weight": 100.0,
        "boundary_weight": 100.0,
    }


def _paper(problem: EvolutionProblem, method: str, grid: tuple[int, int]) -> dict[str, Any]:
    """Section 4 to the letter: 4x128, tanh, N_s = 4 N_t, left rectangles, 300,000 steps of Adam."""
    memory = {"num_mesh_intervals": 4 * grid[0], "quadrature": "left-rectangle", "temporal_weight": 2.0}
    return {
        "include_start": False,
        "hidden": (128, 128, 128, 128),
        "tensor": "paper",
        "exploit_symmetry": False,
        "dtype": "float32",
        "causality": 100.0 if method == "causal-pinn" else None,
        "stages": (Stage("adam", 300_000),),
        **(memory | {"gate": "learnable"} if method == "ci-pinn" else {}),
    }


BOUNDED_HARMONICS = 3
LEVELS_PER_WINDOW = {"fast": 5, "accurate": 10}


def default_windows(num_times: int, levels: int = LEVELS_PER_WINDOW["fast"]) -> int:
    """As many windows as leave at least so many time levels in each."""
    candidates = range(1, num_times // levels + 1)
    return max((n for n in candidates if num_times % n == 0), default=1)


def _fast(problem: EvolutionProblem, method: str, grid: tuple[int, int]) -> dict[str, Any]:
    """A small network for each short window, and Levenberg-Marquardt: the shortest time to the paper's accuracy."""
    memory = {"num_mesh_intervals": grid[0], "quadrature": "product-linear", "temporal_weight": 2.0}
    richer = {"harmonics": (4,) * sum(axis.periodic for axis in problem.box.axes)}
    return {
        "include_start": True,
        "hidden": (20, 20, 20),
        "tensor": "complete",
        "exploit_symmetry": True,
        "dtype": "float32",
        "causality": 100.0 if method == "causal-pinn" else None,
        "windows": 1 if problem.unknowns else default_windows(grid[0]),
        "stages": (Stage("levenberg-marquardt", 150 if problem.box.dimension <= 1 else 60),),
        **(memory | {"gate": "learnable"} if method == "ci-pinn" else {}),
        **(richer if problem.box.dimension == 2 else {}),
        "bounded_harmonics": BOUNDED_HARMONICS if any(not axis.periodic for axis in problem.box.axes) else 0,
    }


def _accurate(problem: EvolutionProblem, method: str, grid: tuple[int, int]) -> dict[str, Any]:
    """As `fast`, with a denser grid, wider networks, more harmonics and more steps: half an hour on two cores."""
    line = problem.box.dimension <= 1
    paper_harmonics = default_harmonics(problem.box, problem.spatial_order)
    levels = LEVELS_PER_WINDOW["accurate" if line else "fast"]
    return _fast(problem, method, grid) | {
        "hidden": (24, 24, 24),
        "harmonics": tuple(2 * n if line else 6 for n in paper_harmonics),
        "stages": (Stage("levenberg-marquardt", 80 if line else 50),),
        **({} if problem.unknowns else {"windows": default_windows(grid[0], levels)}),
    }


WHOLE_STEPS, WHOLE_RATE = 5000, 1e-2


def _whole(problem: EvolutionProblem, method: str, grid: tuple[int, int]) -> dict[str, Any]:
    """One network for the whole interval, as the paper compares methods, and SOAP in the place of Adam."""
    return _fast(problem, method, grid) | {
        "hidden": (64, 64, 64),
        "windows": 1,
        "stages": (Stage("soap", WHOLE_STEPS, {"learning_rate": WHOLE_RATE, "decay_steps": WHOLE_STEPS}),),
    }


_CHOICES = {"paper": _paper, "fast": _fast, "accurate": _accurate, "whole": _whole}


def resolve_settings(
    problem: EvolutionProblem,
    method: str = "ci-pinn",
    preset: str = "fast",
    seed: int = 0,
    grid: tuple[int, int] | None = None,
    **overrides: Any,
) -> Settings:
    """The settings of a method and preset for a problem, with any of them overridden by name."""
    check_name("method", method, METHODS)
    check_name("preset", preset, PRESETS)
    grid = default_grid(problem, preset) if grid is None else grid
    values = _common(problem, method, preset, seed, grid) | _CHOICES[preset](problem, method, grid)
    known = {f.name for f in dataclasses.fields(Settings)} - {"method", "preset", "seed"}
    for name in overrides:
        if name not in known:
            raise ValueError(f"unknown setting {name!r}{suggestion(name, known)}")
    settings = Settings(**(values | overrides))
    for stage in settings.stages:
        check_stage(stage)
    return settings


def check_stage(stage: Stage) -> None:
    """Raise for an optimizer or an option of it that does not exist."""
    check_name("optimizer", stage.optimizer, OPTIMIZERS)
    optimizer = OPTIMIZERS[stage.optimizer]
    known = {field.name for field in dataclasses.fields(optimizer)}
    for name in stage.options:
        if name not in known:
            raise ValueError(f"{stage.optimizer} has no option {name!r}{suggestion(name, known)}")
    optimizer(**stage.options)
