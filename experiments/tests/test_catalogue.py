import subprocess
import sys

import pytest
from cinnet_experiments import EXPERIMENTS, Cell, Experiment
from cinnet_experiments.paper import BEST_EPSILON, METHOD_KEYS, TARGETS

NUM_CELLS = {
    "ac-grids": 18,
    "ac-dense-pinn": 1,
    "ac-weights": 15,
    "ac-metrics": 3,
    "ac-epsilon": 9,
    "ac-mesh": 5,
    "kdv": 3,
    "kdv-epsilon": 9,
    "kdv-mesh": 5,
    "cahn-hilliard": 3,
    "cahn-hilliard-epsilon": 9,
    "cahn-hilliard-mesh": 5,
    "cahn-hilliard-ablation": 4,
    "allen-cahn-2d": 3,
    "allen-cahn-2d-epsilon": 9,
    "allen-cahn-2d-mesh": 5,
    "quadrature": 12,
    "exponent": 5,
    "optimizers": 10,
    "windows": 13,
    "initial-scale": 12,
}


def test_every_experiment_is_there_with_its_cells():
    assert {name: len(experiment.cells) for name, experiment in EXPERIMENTS.items()} == NUM_CELLS


def paper_entries(content):
    """All (mean, deviation or None, best or None) of the file of targets, wherever they stand."""
    if isinstance(content, list):
        for item in content:
            yield from paper_entries(item)
    elif isinstance(content, dict):
        best = content.get("best_run", {})
        for key in METHOD_KEYS.values():
            if key in content:
                pair = content[key] if isinstance(content[key], list) else [content[key], None]
                yield (*pair, best.get(key))
        for key, item in content.items():
            if key != "best_run" and key not in METHOD_KEYS.values():
                yield from paper_entries(item)


def test_every_number_of_the_paper_is_the_target_of_a_cell():
    entries = set(paper_entries(TARGETS))
    cells = [cell for experiment in EXPERIMENTS.values() for cell in experiment.cells]
    targets = {(c.target.mean, c.target.deviation, c.target.best) for c in cells if c.target is not None}
    assert len(entries) > 35
    assert entries == targets


def cell(name: str, row: str, column: str) -> Cell:
    return next(one for one in EXPERIMENTS[name].cells if (one.row, one.column) == (row, column))


def test_cells_are_what_the_paper_says():
    sparse = cell("ac-grids", "(10, 64)", "ci-pinn")
    assert (sparse.grid, sparse.target.mean, sparse.target.deviation) == ((10, 64), 1.35e-2, 0.54e-2)
    assert cell("ac-weights", "10000", "causal-pinn").overrides == {"causality": 100.0, "initial_weight": 10000.0}
    assert cell("kdv", "(20, 256)", "causal-pinn").overrides == {"causality": 0.1}
    assert cell("allen-cahn-2d", "(20, 1024)", "ci-pinn").target.best == 4.29e-3
    without = cell("cahn-hilliard-ablation", "temporal weight off, gate off", "ci-pinn")
    assert without.overrides == {"temporal_weight": 0.0, "gate": "fixed"}
    assert cell("cahn-hilliard-mesh", "320", "ci-pinn").overrides == {"num_mesh_intervals": 320}


@pytest.mark.parametrize("problem", BEST_EPSILON)
def test_the_best_epsilon_has_the_papers_number_and_no_other(problem):
    name = {"allen-cahn": "ac-epsilon"}.get(problem, f"{problem}-epsilon")
    known = {c.overrides["causality"] for c in EXPERIMENTS[name].cells if c.target is not None}
    assert known == {BEST_EPSILON[problem]}


def test_labels_are_unique():
    one = cell("exponent", "0", "ci-pinn")
    with pytest.raises(ValueError, match="two cells"):
        Experiment("twice", "", "", "", (one, one))


def test_the_catalogue_does_not_wait_for_jax():
    code = "import sys; import cinnet_experiments.workers; sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
