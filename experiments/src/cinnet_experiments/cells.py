"""What an experiment is: cells, each one choice of problem, method, grid and settings, with the paper's error."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Target:
    """The paper's relative L2 error: mean and standard deviation over its five seeds, and that of the best of them."""

    mean: float
    deviation: float | None = None
    best: float | None = None


@dataclass(frozen=True)
class Cell:
    """One entry of a table or one point of a curve; it is trained once for every seed.

    `overrides` are settings that differ from the preset's, `parameters` those of the problem, and `budget` limits the
    seconds of training.
    """

    row: str
    column: str
    problem: str
    method: str
    grid: tuple[int, int]
    overrides: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    budget: float | None = None
    target: Target | None = None


@dataclass(frozen=True)
class Experiment:
    """A table or a figure as data.

    `source` says what it is in the paper, `row_title` what its rows are. `figure` names what is drawn of it: "metrics"
    over time, "profiles" at three times, "planes" in two dimensions, "sweep" of the error over the rows; without a name
    it is the errors of all seeds beside the paper's.
    """

    name: str
    title: str
    source: str
    row_title: str
    cells: tuple[Cell, ...]
    figure: str | None = None

    def __post_init__(self):
        labels = [(cell.row, cell.column) for cell in self.cells]
        twice = {label for label in labels if labels.count(label) > 1}
        if twice:
            raise ValueError(f"experiment {self.name!r} has two cells with the labels {sorted(twice)[0]}.")
