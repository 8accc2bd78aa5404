"""Presets: settings with a name, chosen for a problem, a method and a training grid. See docs/presets.md."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from ..embeddings import default_harmonics
from ..optimizers import OPTIMIZERS, Optimizer
from ..problems.base import EvolutionProblem
from ..problems.symmetry import find_symmetry
from .settings import METHODS, NETWORK_SETTINGS, PRESETS, Settings, Stage, check_name, check_type, suggestion

SIZES = ("num_times", "num_points")


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


@dataclasses.dataclass(frozen=True)
class _Choice:
    """What a preset's settings depend on."""

    problem: EvolutionProblem
    method: str
    network: Any
    num_times: int
    num_points: int

    @property
    def on_a_line(self) -> bool:
        return self.problem.box.dimension <= 1

    @property
    def causality(self) -> float | None:
        return 100.0 if self.method == "causal-pinn" else None

    def windows(self, levels: int) -> int:
        """As many windows as leave at least so many time levels in each; one for unknowns and networks of one's own."""
        ready_made = not isinstance(self.network, str) and hasattr(self.network, "interval")
        return 1 if self.problem.unknowns or ready_made else max(1, self.num_times // levels)

    def memory(self, num_mesh_intervals: int, quadrature: str) -> dict[str, Any]:
        if self.network != "cinnet":
            return {}
        mesh = {"num_mesh_intervals": num_mesh_intervals, "quadrature": quadrature}
        return mesh | {"temporal_weight": 2.0, "gate": "learnable"}


def _common(choice: _Choice) -> dict[str, Any]:
    return {
        "num_times": choice.num_times,
        "num_points": choice.num_points,
        "sampling": "uniform-grid" if choice.on_a_line else "latin-hypercube",
        "network": choice.network,
        "harmonics": default_harmonics(choice.problem.box, choice.problem.spatial_order),
        "activation": "tanh",
        "residual_weight": 1.0,
        "initial_weight": 100.0,
        "boundary_weight": 100.0,
    }


def _paper(choice: _Choice) -> dict[str, Any]:
    """Section 4 to the letter: 4x128, tanh, N_s = 4 N_t, left rectangles, 300,000 steps of Adam."""
    return {
        "include_start": False,
        "hidden": (128, 128, 128, 128),
        "tensor": "paper",
        "exploit_symmetry": False,
        "dtype": "float32",
        "causality": choice.causality,
        "stages": (Stage("adam", 300_000),),
        "stop_when_stalled": False,
        **choice.memory(4 * choice.num_times, "left-rectangle"),
    }


BOUNDED_HARMONICS = 3
LEVELS_PER_WINDOW = {"fast": 5, "accurate": 10}


def _fast(choice: _Choice) -> dict[str, Any]:
    """A small network for each short window, and Levenberg-Marquardt: the shortest time to the paper's accuracy."""
    axes = choice.problem.box.axes
    richer = {"harmonics": (4,) * sum(axis.periodic for axis in axes)}
    return {
        "include_start": True,
        "hidden": (20, 20, 20),
        "tensor": "complete",
        "exploit_symmetry": isinstance(choice.network, str),
        "dtype": "float32",
        "causality": choice.causality,
        "windows": choice.windows(LEVELS_PER_WINDOW["fast"]),
        "stages": (Stage("levenberg-marquardt", 150 if choice.on_a_line else 60),),
        **choice.memory(choice.num_times, "product-linear"),
        **(richer if len(axes) == 2 else {}),
        "bounded_harmonics": BOUNDED_HARMONICS if any(not axis.periodic for axis in axes) else 0,
    }


def _accurate(choice: _Choice) -> dict[str, Any]:
    """As `fast`, with a denser grid, wider networks, more harmonics and more steps: half an hour on two cores."""
    line = choice.on_a_line
    paper_harmonics = default_harmonics(choice.problem.box, choice.problem.spatial_order)
    return _fast(choice) | {
        "hidden": (24, 24, 24),
        "harmonics": tuple(2 * n if line else 6 for n in paper_harmonics),
        "stages": (Stage("levenberg-marquardt", 80 if line else 50),),
        "windows": choice.windows(LEVELS_PER_WINDOW["accurate" if line else "fast"]),
    }


WHOLE_STEPS, WHOLE_RATE = 5000, 1e-2


def _whole(choice: _Choice) -> dict[str, Any]:
    """One network for the whole interval, as the paper compares methods, and SOAP in the place of Adam."""
    return _fast(choice) | {
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
    optimizer: str | Optimizer | None = None,
    steps: int | None = None,
    **overrides: Any,
) -> Settings:
    """The settings of a method and preset for a problem, with any of them overridden by name.

    `grid` is short for num_times and num_points, `optimizer` for a single stage with it, and `steps` for those of the
    last stage.
    """
    check_name("method", method, METHODS)
    check_name("preset", preset, PRESETS)
    known = {f.name for f in dataclasses.fields(Settings)} - {"method", "preset", "seed"}
    for name in overrides:
        if name not in known:
            raise ValueError(f"unknown setting {name!r}{suggestion(name, known)}")
    overrides = written_out({**overrides, "grid": grid})
    if not overrides.keys() >= set(SIZES):
        overrides = dict(zip(SIZES, default_grid(problem, preset), strict=True)) | overrides
    for name in SIZES:
        check_type(name, overrides[name], int)
    network = overrides.get("network", "cinnet" if method == "ci-pinn" else "mlp")
    choice = _Choice(problem, method, network, overrides["num_times"], overrides["num_points"])
    if not isinstance(choice.network, str):
        useless = [name for name in NETWORK_SETTINGS if name in overrides]
        if useless:
            raise ValueError(f"{useless[0]}={overrides[useless[0]]!r} has no effect on a network of your own.")
    values = _common(choice) | _CHOICES[preset](choice) | overrides
    settings = Settings(method=method, preset=preset, seed=seed, **values)
    settings = dataclasses.replace(settings, stages=_stages(settings.stages, optimizer, steps))
    for stage in settings.stages:
        make_optimizer(stage)
    return settings


def written_out(choices: Mapping[str, Any]) -> dict[str, Any]:
    """Choices in which `grid` is replaced by the two settings for which it is short."""
    others = {name: value for name, value in choices.items() if name != "grid"}
    grid = choices.get("grid")
    if grid is None:
        return others
    sizes = tuple(grid) if isinstance(grid, tuple | list) else (grid,)
    if len(sizes) != 2 or any(not isinstance(n, int) or isinstance(n, bool) or n < 1 for n in sizes):
        raise ValueError(f"grid={grid!r}: give two whole numbers (N_t, N_x), each at least 1.")
    named = dict(zip(SIZES, sizes, strict=True))
    for name, size in named.items():
        if others.get(name, size) != size:
            raise ValueError(f"grid={grid!r} and {name}={others[name]} contradict each other; give one of the two.")
    return others | named


def _stages(stages: tuple[Stage, ...], optimizer: str | Optimizer | None, steps: int | None) -> tuple[Stage, ...]:
    if optimizer is not None:
        stages = (Stage(optimizer, stages[-1].steps),)
    return stages if steps is None else (*stages[:-1], dataclasses.replace(stages[-1], steps=steps))


def make_optimizer(stage: Stage) -> Optimizer:
    """The optimizer of a stage; raises for a name or an option that does not exist."""
    if isinstance(stage.optimizer, Optimizer):
        return stage.optimizer
    check_name("optimizer", stage.optimizer, OPTIMIZERS)
    cls = OPTIMIZERS[stage.optimizer]
    known = {field.name for field in dataclasses.fields(cls)}
    for name in stage.options:
        if name not in known:
            raise ValueError(f"{stage.optimizer} has no option {name!r}{suggestion(name, known)}")
    return cls(**stage.options)
