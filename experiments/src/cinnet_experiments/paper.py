"""Every table and figure of the paper's Section 4 as data, with its numbers from paper_targets.json."""

import json
from collections.abc import Mapping
from importlib import resources
from typing import Any

from .cells import Cell, Experiment, Target

TARGETS = json.loads((resources.files("cinnet_experiments") / "paper_targets.json").read_text())
METHOD_KEYS = {"pinn": "pinn", "causal-pinn": "causal_pinn", "ci-pinn": "ci_pinn"}
EPSILONS = tuple(TARGETS["sweeps"]["epsilon"])
MESH_RATIOS = tuple(TARGETS["sweeps"]["Ns_over_Nt"])
_BENCHMARKS = {
    "allen-cahn": ("Allen-Cahn equation", "ac", (20, 256)),
    "kdv": ("Korteweg-de Vries equation", "kdv", (20, 256)),
    "cahn-hilliard": ("Cahn-Hilliard equation", "ch", (40, 256)),
    "allen-cahn-2d": ("two-dimensional Allen-Cahn equation", "ac2d", (20, 1024)),
}
BEST_EPSILON = {
    "allen-cahn": float(TARGETS["sweeps"]["allen_cahn_best_epsilon"]),
    "kdv": float(TARGETS["kdv"]["causal_best_epsilon"]),
    "cahn-hilliard": float(TARGETS["cahn_hilliard"]["causal_best_epsilon"]),
    "allen-cahn-2d": float(TARGETS["allen_cahn_2d"]["causal_best_epsilon"]),
}


def _entry(problem: str) -> Mapping[str, Any]:
    """The paper's errors of the three methods on the grid it compares them on."""
    if problem == "allen-cahn":
        return next(row for row in TARGETS["allen_cahn_grid"] if (row["Nt"], row["Nx"]) == (20, 256))
    return TARGETS[problem.replace("-", "_")]


def _target(entry: Mapping[str, Any], method: str) -> Target:
    key = METHOD_KEYS[method]
    mean, deviation = entry[key] if isinstance(entry[key], list) else (entry[key], None)
    return Target(mean, deviation, entry.get("best_run", {}).get(key))


def method_overrides(problem: str, method: str) -> dict[str, Any]:
    """The causality at which the paper compares Causal PINN: the best of its sweep on that problem."""
    return {"causality": BEST_EPSILON[problem]} if method == "causal-pinn" else {}


def _three(row: str, problem: str, grid: tuple[int, int], entry: Mapping[str, Any], **more: Any) -> list[Cell]:
    """A row of the three methods."""
    return [
        Cell(
            row,
            method,
            problem,
            method,
            grid,
            overrides=method_overrides(problem, method) | more,
            target=_target(entry, method),
        )
        for method in METHOD_KEYS
    ]


def _grids() -> Experiment:
    cells = []
    for entry in TARGETS["allen_cahn_grid"]:
        grid = entry["Nt"], entry["Nx"]
        cells += _three(f"({grid[0]}, {grid[1]})", "allen-cahn", grid, entry)
    return Experiment(
        "ac-grids",
        "Allen-Cahn equation: errors on six training grids",
        "Table ac_rl2e_NtNx",
        "(N_t, N_x)",
        tuple(cells),
    )


def _dense() -> Experiment:
    entry = TARGETS["allen_cahn_dense_pinn"]
    grid = entry["Nt"], entry["Nx"]
    cell = Cell(f"({grid[0]}, {grid[1]})", "pinn", "allen-cahn", "pinn", grid, target=_target(entry, "pinn"))
    title = "Allen-Cahn equation: a plain PINN on a dense grid"
    return Experiment("ac-dense-pinn", title, "Section 4.1, dense-grid experiment", "(N_t, N_x)", (cell,))


def _initial_weights() -> Experiment:
    cells = []
    for entry in TARGETS["allen_cahn_omega_ic"]:
        weight = float(entry["omega_ic"])
        cells += _three(f"{weight:g}", "allen-cahn", (20, 256), entry, initial_weight=weight)
    title = "Allen-Cahn equation: errors over the weight of the initial condition, grid (20, 256)"
    return Experiment("ac-weights", title, "Table ac_rl2e_wi", "omega_ic", tuple(cells))


def _metrics() -> Experiment:
    cells = _three("(20, 256)", "allen-cahn", (20, 256), _entry("allen-cahn"))
    title = "Allen-Cahn equation: residual and error over time, grid (20, 256)"
    source = "Figure ac_metrics, which shows PINN and CI-PINN"
    return Experiment("ac-metrics", title, source, "(N_t, N_x)", tuple(cells), figure="metrics")


def _three_methods(problem: str, source: str, figure: str) -> Experiment:
    title, _, grid = _BENCHMARKS[problem]
    title = f"{title[0].upper()}{title[1:]}: three methods, grid ({grid[0]}, {grid[1]})"
    row = f"({grid[0]}, {grid[1]})"
    cells = _three(row, problem, grid, _entry(problem))
    return Experiment(problem, title, source, "(N_t, N_x)", tuple(cells), figure=figure)


def _epsilons(name: str, problem: str) -> Experiment:
    title, label, grid = _BENCHMARKS[problem]
    known = {BEST_EPSILON[problem]: _target(_entry(problem), "causal-pinn")}
    cells = [
        Cell(
            f"{epsilon:g}",
            "causal-pinn",
            problem,
            "causal-pinn",
            grid,
            overrides={"causality": float(epsilon)},
            target=known.get(epsilon),
        )
        for epsilon in EPSILONS
    ]
    title = f"{title[0].upper()}{title[1:]}: Causal PINN over its causality parameter"
    return Experiment(name, title, f"Figure {label}_eps", "epsilon", tuple(cells), figure="sweep")


def _meshes(name: str, problem: str) -> Experiment:
    title, label, grid = _BENCHMARKS[problem]
    known = {4: _target(_entry(problem), "ci-pinn")}
    cells = [
        Cell(
            str(ratio * grid[0]),
            "ci-pinn",
            problem,
            "ci-pinn",
            grid,
            overrides={"num_mesh_intervals": ratio * grid[0]},
            target=known.get(ratio),
        )
        for ratio in MESH_RATIOS
    ]
    title = f"{title[0].upper()}{title[1:]}: CI-PINN over the size of its temporal mesh"
    return Experiment(name, title, f"Figure {label}_ns", "N_s", tuple(cells), figure="sweep")


def _ablation() -> Experiment:
    cells = []
    for entry in TARGETS["cahn_hilliard_ablation"]:
        # q = 0 makes the temporal weight A = 1 and a fixed gate is z = 0.5, the paper's two omissions.
        overrides = ({} if entry["temporal_weight"] else {"temporal_weight": 0.0}) | (
            {} if entry["gate"] else {"gate": "fixed"}
        )
        words = {True: "on", False: "off"}
        row = f"temporal weight {words[entry['temporal_weight']]}, gate {words[entry['gate']]}"
        target = _target(entry, "ci-pinn")
        cells.append(Cell(row, "ci-pinn", "cahn-hilliard", "ci-pinn", (40, 256), overrides=overrides, target=target))
    title = "Cahn-Hilliard equation: CinNet without temporal weight or gate, grid (40, 256)"
    return Experiment("cahn-hilliard-ablation", title, "Table ch_ablation", "parts", tuple(cells))


PAPER_EXPERIMENTS = (
    _grids(),
    _dense(),
    _initial_weights(),
    _metrics(),
    _epsilons("ac-epsilon", "allen-cahn"),
    _meshes("ac-mesh", "allen-cahn"),
    _three_methods("kdv", "Figure kdv_snapshots and Section 4.2", "profiles"),
    _epsilons("kdv-epsilon", "kdv"),
    _meshes("kdv-mesh", "kdv"),
    _three_methods("cahn-hilliard", "Figure ch_snapshots and Section 4.3", "profiles"),
    _epsilons("cahn-hilliard-epsilon", "cahn-hilliard"),
    _meshes("cahn-hilliard-mesh", "cahn-hilliard"),
    _ablation(),
    _three_methods("allen-cahn-2d", "Figure ac2d_compare and Section 4.4", "planes"),
    _epsilons("allen-cahn-2d-epsilon", "allen-cahn-2d"),
    _meshes("allen-cahn-2d-mesh", "allen-cahn-2d"),
)
