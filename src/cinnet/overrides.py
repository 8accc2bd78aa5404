"""The settings that `solve` takes by name, for editors and type checkers; `Settings` says what each one means."""

from collections.abc import Callable, Sequence
from typing import Any, TypedDict

from .config.settings import Stage
from .history import Quadrature, TemporalWeight
from .jets import Activation
from .networks import Network
from .objective import ExtraTerm, Term
from .sampling import TrainingPoints
from .training.strategies import Strategy


class Overrides(TypedDict, total=False):
    """Settings by name; those that are not given come from the preset."""

    num_times: int
    num_points: int
    sampling: str | TrainingPoints | Callable[..., TrainingPoints]
    include_start: bool
    network: str | Network | Callable[..., Network]
    hidden: tuple[int, ...]
    activation: str | Activation
    harmonics: tuple[int, ...]
    tensor: str
    exploit_symmetry: bool
    dtype: str
    residual_weight: float
    initial_weight: float
    boundary_weight: float
    causality: float | str | None
    stages: tuple[Stage, ...]
    observation_weight: float
    initial_gain: float
    bounded_harmonics: int
    windows: int
    exact_initial: bool
    exact_boundary: bool
    resample_every: int | None
    balance_every: int | None
    strategies: tuple[Strategy, ...]
    extra_terms: tuple[ExtraTerm | Term, ...]
    memory_gigabytes: float
    stop_when_stalled: bool
    num_mesh_intervals: int | None
    quadrature: str | Quadrature | Sequence[Any] | None
    temporal_weight: float | TemporalWeight | Callable[..., Any] | Sequence[Any] | None
    gate: str | None
