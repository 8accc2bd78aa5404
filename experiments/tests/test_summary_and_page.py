import copy
import json
from collections import Counter
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest
from cinnet_experiments import EXPERIMENTS
from cinnet_experiments.engines import run_serially
from cinnet_experiments.figures import draw, has_figure
from cinnet_experiments.page import page_text, remarks, write_page
from cinnet_experiments.summary import _planes, read_summaries, results_path, summarize, write_summary
from cinnet_experiments.sweep import read_result, record_failure
from cinnet_experiments.workers import Workers
from matplotlib import image
from tiny import numbers, tiny_experiment, tiny_runs

import cinnet
from cinnet.problems import AllenCahn2D

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """Two seeds of two cells, and a third seed of one cell that failed."""
    root, runs = tmp_path_factory.mktemp("swept"), tiny_runs(2)
    list(run_serially(runs, root, Workers(1, 1)))
    third = tiny_runs(3)[2]
    record_failure(third, root / third.name, "MemoryError", "too large")
    return root, runs


@pytest.fixture(scope="module")
def summary(swept):
    return summarize(tiny_experiment(figure="profiles"), "fast", swept[0], "cinnet reproduce tiny")


def test_a_summary_has_every_seed_failures_and_the_paper(swept, summary):
    root, runs = swept
    heavy, light = summary["cells"]
    errors = [error for error, _ in numbers(runs, root)]
    assert (heavy["errors"], light["errors"]) == (errors[:2], errors[2:])
    assert heavy["seeds"] == [0, 1]
    assert heavy["failures"] == [{"seed": 2, "type": "MemoryError", "message": "too large"}]
    assert light["failures"] == []
    assert heavy["mean"] == pytest.approx(np.mean(errors[:2]))
    assert heavy["deviation"] == pytest.approx(np.std(errors[:2], ddof=1))
    assert heavy["best"] == min(errors[:2])
    assert heavy["paper"] == {"mean": 0.5, "deviation": 0.1, "best": None}
    assert heavy["ratio"] == pytest.approx(heavy["mean"] / 0.5)
    assert heavy["gemm_seconds"] == [1.0, 1.0]


def test_a_summary_names_what_made_the_runs_and_not_what_looks_at_them(swept, tmp_path):
    root, runs = swept
    machine = {"processor": "abacus", "cores": "64", "python": "3.0", "jax": "0.1", "devices": "beads"}
    for run, commit in zip(runs, ("abc", "def", "abc", "def"), strict=True):
        result = (read_result(root / run.name) or {}) | {"made_by": {**machine, "cinnet": "0.0.1", "commit": commit}}
        (tmp_path / run.name).mkdir()
        (tmp_path / run.name / "result.json").write_text(json.dumps(result))
    summary = summarize(tiny_experiment(), "fast", tmp_path, "")
    assert (summary["version"], summary["commit"]) == ("0.0.1", "abc, def")
    assert summary["machine"] == machine | {"devices": ["beads"]}
    assert "commit abc, def, on abacus, 64 cores, beads" in page_text([summary | {"experiment": "kdv"}])


def test_profiles_are_small_and_those_of_the_best_run(summary):
    arrays = summary["arrays"]
    best = int(np.argmin(summary["cells"][1]["errors"]))
    assert arrays["seeds"]["light"] == best
    assert np.shape(arrays["values"]["light"]) == np.shape(arrays["reference"]) == (3, 257)
    np.testing.assert_allclose(arrays["reference"][0], np.cos(np.pi * np.array(arrays["x"])), atol=1e-4)
    assert len(json.dumps(summary)) < 60_000


def test_metrics_are_curves_of_all_seeds_over_the_test_times(swept):
    summary = summarize(tiny_experiment(figure="metrics"), "fast", swept[0], "")
    arrays, cell = summary["arrays"], summary["cells"][1]
    curves = arrays["curves"][cell["column"]]
    assert curves["seeds"] == cell["seeds"]
    assert len(curves["seeds"]) > 1
    assert np.shape(curves["residual"]) == np.shape(curves["error"]) == (len(curves["seeds"]), len(arrays["times"]))
    # A run that is worse over all times is the worse one in the table.
    assert np.argsort(np.mean(curves["error"], axis=1)).tolist() == np.argsort(cell["errors"]).tolist()


def test_what_was_not_run_is_said(tmp_path):
    empty = summarize(tiny_experiment(figure="metrics"), "fast", tmp_path, "")
    assert empty["arrays"] == {}
    assert [cell["mean"] for cell in empty["cells"]] == [None, None]
    assert remarks(empty["cells"][0]) == "not run"


def test_a_mean_made_by_some_seeds_is_said_to_be(summary):
    cell = summary["cells"][0] | {"ratio": None, "failures": []}
    assert remarks(cell | {"errors": [0.5, 1e-3, 0.11, None]}) == "2 of 3 seeds above 0.1"
    assert remarks(cell | {"errors": [0.5, 0.6]}) == ""
    assert remarks(cell | {"errors": [1e-3, 1e-4]}) == ""


def test_a_summary_survives_its_file(tmp_path, summary):
    path = results_path(tmp_path / "results", "tiny", "fast")
    write_summary(path, summary)
    assert read_summaries(path.parent) == [json.loads(json.dumps(summary))]
    assert max(len(line) for line in path.read_text().splitlines()) > 1000
    assert len(path.read_text().splitlines()) < 250


def planes() -> dict:
    plane, section = np.zeros((3, 5, 5)), np.zeros((4, 6))
    return {
        "times": [0.0, 0.5, 1.0],
        "x": np.linspace(-1, 1, 5).tolist(),
        "y": np.linspace(-1, 1, 5).tolist(),
        "prediction": (plane + 0.1).tolist(),
        "reference": (plane + 1).tolist(),
        "section_times": np.linspace(0, 1, 4).tolist(),
        "section_x": np.linspace(-1, 1, 6).tolist(),
        "section_prediction": section.tolist(),
        "section_reference": (section + 1).tolist(),
        "seeds": {"ci-pinn": 0},
    }


def test_the_page_shows_worse_failed_and_missing(tmp_path, summary):
    heavy, light = copy.deepcopy(summary["cells"])
    heavy |= {"ratio": 2.5}
    light |= {"ratio": 0.5, "statuses": ["non-finite", "stalled"]}
    faked = summary | {"experiment": "kdv", "cells": [heavy, light]}
    sweep = summary | {"experiment": "kdv-epsilon", "figure": "sweep", "arrays": {}}
    plane = summary | {"experiment": "allen-cahn-2d", "figure": "planes", "arrays": planes()}
    text = page_text([faked, sweep, plane])
    assert "| 2.5 |" in text
    assert "**worse**, **1 failed** (MemoryError)" in text
    assert "**1 ended non-finite**" in text
    assert "5.00e-01 ± 1.0e-01" in text
    assert text.count("Not run yet") == len(EXPERIMENTS) - 3
    assert "(results/kdv-fast.png)" in text

    written = write_page([faked, sweep, plane], tmp_path / "docs" / "results.md")
    names = [path.name for path in written]
    assert names == ["results.md", "kdv-fast.png", "kdv-epsilon-fast.png", "allen-cahn-2d-fast.png"]
    assert all(image.imread(path).std() > 0.01 for path in written[1:])
    assert written[0].read_text() == text


def test_the_page_has_the_papers_best_run_where_the_paper_shows_it(summary):
    heavy, light = copy.deepcopy(summary["cells"])
    heavy["best"] = light["best"] = 0.25
    heavy["paper"]["best"] = 0.4
    lines = page_text([summary | {"experiment": "kdv", "cells": [heavy, light]}]).splitlines()
    best = [line.split(" | ")[5] for line in lines if line.startswith("| (2, 8) |")]
    assert best == ["2.50e-01 (the paper 4.00e-01)", "2.50e-01"]


def test_a_sweep_has_a_line_for_each_column(summary):
    (axis,) = draw(summary | {"figure": "sweep"}).axes
    lines = {line.get_label(): line for line in axis.get_lines()}
    assert set(lines) == {"heavy", "light", "ours, seeds", "the paper"}
    for cell in summary["cells"]:
        assert list(lines[cell["column"]].get_ydata()) == [cell["mean"]]


def test_a_table_is_drawn_with_every_seed_and_the_papers_means(summary):
    (axis,) = draw(summary | {"figure": None}).axes
    drawn = sorted(sorted(line.get_xdata()) for line in axis.get_lines() if len(line.get_xdata()))
    papers = [[cell["paper"]["mean"]] for cell in summary["cells"]]
    assert drawn == sorted([sorted(cell["errors"]) for cell in summary["cells"]] + papers)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["heavy", "light", "the paper's mean"]


@pytest.mark.parametrize("kind", ["sweep", None])
def test_every_title_fits_its_figure(summary, kind):
    for experiment in EXPERIMENTS.values():
        figure = draw(summary | {"figure": kind, "title": experiment.title})
        figure.draw_without_rendering()
        drawn, width = figure.get_tightbbox(), figure.get_figwidth()
        plt.close(figure)
        assert 0 <= drawn.x0 < drawn.x1 <= width, experiment.title


def test_one_cell_alone_is_not_drawn(summary):
    assert has_figure(summary | {"figure": None})
    assert not has_figure(summary | {"figure": None, "cells": summary["cells"][:1]})


def test_metrics_are_drawn(tmp_path, swept):
    curves = summarize(tiny_experiment(figure="metrics"), "fast", swept[0], "") | {"experiment": "ac-metrics"}
    assert len(write_page([curves], tmp_path / "results.md")) == 2
    for axis in draw(curves).axes:
        of_colour = Counter(line.get_color() for line in axis.get_lines())
        assert list(of_colour.values()) == [len(cell["seeds"]) for cell in curves["cells"]]


def test_the_committed_page_is_that_of_the_committed_summaries():
    summaries = read_summaries(REPOSITORY / "validation/results/reproduce")
    committed = (REPOSITORY / "docs/results.md").read_text()
    assert committed == page_text(summaries), "docs/results.md is out of date; run: cinnet reproduce page"


class Ones:
    """A reference that is 1 everywhere."""

    def on_grid(self, times, points):
        return np.ones((len(times), len(points), 1))


def test_planes_are_the_values_of_the_solution():
    small = {"hidden": (3,), "harmonics": (1, 1), "windows": 1, "optimizer": "adam", "steps": 1}
    solution = cinnet.solve(AllenCahn2D(), "pinn", grid=(1, 4), **small)
    arrays = _planes({"pinn": solution}, Ones())
    assert np.shape(arrays["prediction"]) == np.shape(arrays["reference"]) == (3, 41, 41)
    assert np.shape(arrays["section_prediction"]) == np.shape(arrays["section_reference"]) == (41, 65)
    x, y = arrays["x"][5], arrays["y"][11]
    assert arrays["prediction"][1][5][11] == pytest.approx(float(solution(0.5, x, y)), rel=1e-4)
    section_x, t = arrays["section_x"][9], arrays["section_times"][20]
    assert arrays["section_prediction"][20][9] == pytest.approx(float(solution(t, section_x, 0.0)), rel=1e-4)
