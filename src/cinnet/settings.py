"""Every choice of a run as data: method, network, points, loss, optimizers. Presets are settings with a name."""

import dataclasses
import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .embeddings import default_harmonics
from .problems.base import EvolutionProblem

METHODS = {
    "ci-pinn": "CinNet: layers with a causal integral of their past",
    "causal-pinn": "MLP with causal weights on the residual",
    "pinn": "MLP",
}


MEMORY_SETTINGS = ("num_mesh_intervals", "quadrature", "temporal_weight", "gate")


@dataclass(frozen=True)
class Stage:
    """Some steps of one optimizer.

    `columns` of the training points are used, all if None, and of the time levels those in the first part of the
    interval that `horizon` gives as a fraction.
    """

    optimizer: str
    steps: int
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: int | None = None
    horizon: float = 1.0

    def __post_init__(self):
        if self.steps < 0:
            raise ValueError(f"Stage(steps={self.steps}): the number of steps must not be negative.")
        if self.columns is not None and self.columns < 1:
            raise ValueError(f"Stage(columns={self.columns}): at least one column is needed, or None for all.")
        if not 0 < self.horizon <= 1:
            raise ValueError(f"Stage(horizon={self.horizon}): give a fraction of the interval, above 0 and at most 1.")


@dataclass(frozen=True)
class Settings:
    """All choices of a run, resolved; equal settings give equal runs on one machine.

    With several `windows` the interval is cut into equal parts that are solved one after the other, each by all
    stages. Every `resample_every` steps new columns are drawn where the residual is large; every `balance_every`
    steps the weights of the loss terms are moved towards equal gradient norms. Where the matrices of
    Levenberg-Marquardt need more than `memory_gigabytes`, its matrix-free form is used.
    """

    method: str
    preset: str
    seed: int
    num_times: int
    num_points: int
    sampling: str
    include_start: bool
    network: str
    hidden: tuple[int, ...]
    activation: str
    harmonics: tuple[int, ...]
    tensor: str
    exploit_symmetry: bool
    dtype: str
    residual_weight: float
    initial_weight: float
    boundary_weight: float
    causality: float | str | None
    stages: tuple[Stage, ...]
    windows: int = 1
    exact_initial: bool = False
    resample_every: int | None = None
    balance_every: int | None = None
    memory_gigabytes: float = 4.0
    num_mesh_intervals: int | None = None
    quadrature: str | None = None
    temporal_weight: float | None = None
    gate: str | None = None

    def __post_init__(self):
        check_name("method", self.method, METHODS)
        check_name("sampling", self.sampling, ("uniform-grid", "latin-hypercube"))
        check_name("network", self.network, ("cinnet", "mlp"))
        if isinstance(self.causality, str):
            check_name("causality", self.causality, ("auto",))
        for name in ("num_times", "num_points", "windows", "resample_every", "balance_every"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1 is needed.")
        for name in ("num_times", "num_mesh_intervals"):
            value = getattr(self, name)
            if value is not None and value % self.windows:
                raise ValueError(
                    f"{name}={value} cannot be split over windows={self.windows}; choose a multiple of it."
                )
        if not self.memory_gigabytes > 0:
            raise ValueError(f"memory_gigabytes={self.memory_gigabytes}: give a positive number.")
        if self.exact_initial and self.windows > 1:
            raise ValueError(f"exact_initial=True needs windows=1, not {self.windows}.")
        memory = {name: getattr(self, name) for name in MEMORY_SETTINGS}
        given = [name for name, value in memory.items() if value is not None]
        if self.network == "mlp" and given:
            raise ValueError(f"{given[0]}={memory[given[0]]!r} has no effect: the network 'mlp' has no memory.")

    @property
    def total_steps(self) -> int:
        return self.windows * sum(stage.steps for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "Settings":
        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(set(content) - known)
        if unknown:
            raise ValueError(f"unknown setting {unknown[0]!r}{suggestion(unknown[0], known)}")
        values = dict(content)
        values["stages"] = tuple(Stage(**stage) for stage in values["stages"])
        for name in ("hidden", "harmonics"):
            values[name] = tuple(values[name])
        return cls(**values)


def suggestion(name: str, known) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; choose one of {sorted(known)}."


def check_name(argument: str, value: Any, known) -> None:
    if value not in known:
        raise ValueError(f"{argument}={value!r} is unknown{suggestion(str(value), known)}")


def default_grid(problem: EvolutionProblem, preset: str) -> tuple[int, int]:
    """The paper's densest training grid of a benchmark; (20, 256) and (20, 1024) for other problems.

    The preset `accurate` has a denser one.
    """
    if preset == "accurate":
        return (60, 384) if problem.box.dimension <= 1 else (40, 1536)
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


LEVELS_PER_WINDOW = 5


def default_windows(num_times: int) -> int:
    """As many windows as leave at least five time levels in each."""
    candidates = range(1, num_times // LEVELS_PER_WINDOW + 1)
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
        "windows": default_windows(grid[0]),
        "stages": (Stage("levenberg-marquardt", 100 if problem.box.dimension <= 1 else 60),),
        **(memory | {"gate": "learnable"} if method == "ci-pinn" else {}),
        **(richer if problem.box.dimension == 2 else {}),
    }


def _accurate(problem: EvolutionProblem, method: str, grid: tuple[int, int]) -> dict[str, Any]:
    """As `fast`, with a denser grid, wider networks, more harmonics and more steps: half an hour on two cores."""
    line = problem.box.dimension <= 1
    paper_harmonics = default_harmonics(problem.box, problem.spatial_order)
    return _fast(problem, method, grid) | {
        "hidden": (24, 24, 24),
        "harmonics": tuple(2 * n if line else 6 for n in paper_harmonics),
        "stages": (Stage("levenberg-marquardt", 150 if line else 60),),
    }


PRESETS = {"paper": _paper, "fast": _fast, "accurate": _accurate}


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
    values = _common(problem, method, preset, seed, grid) | PRESETS[preset](problem, method, grid)
    known = {f.name for f in dataclasses.fields(Settings)} - {"method", "preset", "seed"}
    for name in overrides:
        if name not in known:
            raise ValueError(f"unknown setting {name!r}{suggestion(name, known)}")
    return Settings(**(values | overrides))
