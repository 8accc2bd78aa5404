"""Every choice of a run as data: method, network, points, loss, optimizers. Free of JAX, so that help is instant."""

import dataclasses
import difflib
import math
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

METHODS = {
    "ci-pinn": "CinNet: layers with a causal integral of their past",
    "causal-pinn": "MLP with causal weights on the residual",
    "pinn": "MLP",
}
PRESETS = {
    "fast": "the shortest time to the paper's accuracy: minutes on two cores",
    "accurate": "the best accuracy in half an hour on two cores",
    "whole": "one network for the whole interval, as the paper compares methods, but with SOAP: minutes on two cores",
    "paper": "the paper's architecture and recipe to the letter: days on two cores",
}

MEMORY_SETTINGS = ("num_mesh_intervals", "quadrature", "temporal_weight", "gate")
NETWORK_SETTINGS = (
    *("hidden", "activation", "harmonics", "tensor", "bounded_harmonics", "initial_gain", "dtype"),
    *MEMORY_SETTINGS,
)


@dataclass(frozen=True)
class Stage:
    """Some steps of one optimizer, given by name with options or as an object.

    `columns` of the training points are used, all if None, and of the time levels those in the first part of the
    interval that `horizon` gives as a fraction.
    """

    optimizer: Any
    steps: int
    options: Mapping[str, Any] = field(default_factory=dict)
    columns: int | None = None
    horizon: float = 1.0

    def __post_init__(self):
        if not isinstance(self.steps, int) or isinstance(self.steps, bool) or self.steps < 0:
            raise ValueError(f"Stage(steps={self.steps}): give a whole number of steps, 0 or more.")
        if self.columns is not None and (not isinstance(self.columns, int) or self.columns < 1):
            raise ValueError(f"Stage(columns={self.columns}): at least one column is needed, or None for all.")
        if not 0 < self.horizon <= 1:
            raise ValueError(f"Stage(horizon={self.horizon}): give a fraction of the interval, above 0 and at most 1.")
        if self.options and not isinstance(self.optimizer, str):
            raise ValueError(f"Stage(options={dict(self.options)}): an optimizer object has its options already.")


def _setting(help: str, takes_objects: bool = False, **default: Any) -> Any:
    """A setting with a line of help, which may also be an object of the user's own."""
    return field(metadata={"help": help, "takes_objects": takes_objects}, **default)


@dataclass(frozen=True)
class Settings:
    """All choices of a run, resolved; equal settings give equal runs on one machine.

    With several `windows` the interval is cut into parts that are solved one after the other, each by all stages. Every
    `resample_every` steps new columns are drawn where the residual is large; every `balance_every` steps the weights of
    the loss terms are moved towards equal gradient norms. Where the matrices of Levenberg-Marquardt need more than
    `memory_gigabytes`, its matrix-free form is used.
    """

    method: str = _setting("ci-pinn, causal-pinn or pinn")
    preset: str = _setting("the preset that the other settings came from")
    seed: int = _setting("seed of parameters and random points")
    num_times: int = _setting("N_t, time levels after t0")
    num_points: int = _setting("N_x, spatial points in all")
    sampling: Any = _setting("uniform-grid or latin-hypercube", takes_objects=True)
    include_start: bool = _setting("enforce the residual at t0 too")
    network: Any = _setting("cinnet or mlp", takes_objects=True)
    hidden: tuple[int, ...] = _setting("widths of the hidden layers")
    activation: Any = _setting("tanh or sin", takes_objects=True)
    harmonics: tuple[int, ...] = _setting("harmonics of the periodic embedding, one number for each periodic axis")
    tensor: str = _setting("products of harmonics in two and three dimensions: paper or complete")
    exploit_symmetry: bool = _setting("build the symmetries of the problem into the network")
    dtype: str = _setting("float32 or float64")
    residual_weight: float = _setting("omega_res")
    initial_weight: float = _setting("omega_ic")
    boundary_weight: float = _setting("omega_bc")
    causality: float | str | None = _setting("epsilon of the causal weights, auto, or none")
    stages: tuple[Stage, ...] = _setting("optimizers one after the other")
    observation_weight: float = _setting("weight of the observations", default=1.0)
    initial_gain: float = _setting("initial local weights, times those of Glorot", default=1.0)
    bounded_harmonics: int = _setting("cosines and sines of twice the length on bounded axes", default=0)
    windows: int = _setting("time windows that are solved one after the other", default=1)
    exact_initial: bool = _setting("the initial value by construction", default=False)
    exact_boundary: bool = _setting("boundary values and insulated ends by construction", default=False)
    resample_every: int | None = _setting("steps after which columns are drawn anew by residual", default=None)
    balance_every: int | None = _setting("steps after which weights move to equal gradient norms", default=None)
    strategies: tuple[Any, ...] = _setting("what else changes the objective meanwhile", takes_objects=True, default=())
    extra_terms: tuple[Any, ...] = _setting("further terms of the loss", takes_objects=True, default=())
    memory_gigabytes: float = _setting("above this Levenberg-Marquardt works without matrices", default=4.0)
    stop_when_stalled: bool = _setting("end a stage once the loss no longer falls", default=True)
    num_mesh_intervals: int | None = _setting("N_s, intervals of the temporal mesh", default=None)
    quadrature: Any = _setting("left-rectangle, product-constant or product-linear", takes_objects=True, default=None)
    temporal_weight: Any = _setting("exponent q of the temporal weight", takes_objects=True, default=None)
    gate: str | None = _setting("learnable or fixed", default=None)

    def __post_init__(self):
        for one in dataclasses.fields(self):
            if not one.metadata.get("takes_objects"):
                check_type(one.name, getattr(self, one.name), one.type)
        self._check_names()
        self._check_numbers()
        self._check_combinations()

    def _check_names(self) -> None:
        check_name("method", self.method, METHODS)
        for name, known in (("sampling", ("uniform-grid", "latin-hypercube")), ("network", ("cinnet", "mlp"))):
            if isinstance(getattr(self, name), str | int | float | None):
                check_name(name, getattr(self, name), known)
        if isinstance(self.causality, str):
            check_name("causality", self.causality, ("auto",))

    def _check_numbers(self) -> None:
        if not self.stages:
            raise ValueError("stages=(): at least one stage is needed.")
        for name in ("num_times", "num_points", "windows", "resample_every", "balance_every", "num_mesh_intervals"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value}: at least 1 is needed.")
        if self.windows > self.num_times:
            raise ValueError(f"windows={self.windows}: there are only num_times={self.num_times} levels for them.")
        for name in ("memory_gigabytes", "initial_gain"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name}={getattr(self, name)}: give a positive number.")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed={self.seed}: give a whole number from 0 to 2^63 - 1.")

    def _check_combinations(self) -> None:
        if self.exact_initial and self.windows > 1:
            raise ValueError(f"exact_initial=True needs windows=1, not {self.windows}.")
        memory = {name: getattr(self, name) for name in MEMORY_SETTINGS}
        given = [name for name, value in memory.items() if value is not None]
        if self.network == "mlp" and given:
            raise ValueError(f"{given[0]}={memory[given[0]]!r} has no effect: the network 'mlp' has no memory.")
        missing = [name for name, value in memory.items() if value is None]
        if self.network == "cinnet" and missing:
            raise ValueError(f"{missing[0]}=None: the network 'cinnet' needs it; method='ci-pinn' sets it.")

    @property
    def total_steps(self) -> int:
        return self.windows * sum(stage.steps for stage in self.stages)

    def to_json(self) -> dict[str, Any]:
        from .serialize import to_json

        plain = {one.name: to_json(getattr(self, one.name)) for one in dataclasses.fields(self)}
        stages = [{f.name: to_json(getattr(s, f.name)) for f in dataclasses.fields(s)} for s in self.stages]
        return plain | {"stages": stages}

    @classmethod
    def from_json(cls, content: Mapping[str, Any], **given: Any) -> "Settings":
        """The settings that `to_json` wrote; `given` are objects that only their author's code can make."""
        from .serialize import from_json

        known = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(set(content) - known)
        if unknown:
            raise ValueError(f"unknown setting {unknown[0]!r}{suggestion(unknown[0], known)}")
        values = {name: from_json(value) for name, value in content.items() if name not in given and name != "stages"}
        stages = given.pop("stages", None) or [Stage(**from_json(stage)) for stage in content["stages"]]
        return cls(**values, **given, stages=tuple(stages))


def suggestion(name: str, known) -> str:
    near = difflib.get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else f"; choose one of {sorted(known)}."


def check_name(argument: str, value: Any, known) -> None:
    if value not in known:
        raise ValueError(f"{argument}={value!r} is unknown{suggestion(str(value), known)}")


def check_type(name: str, value: Any, expected: Any) -> None:
    """Raise for a value that is not of the type a setting has."""
    if not _is_of(value, expected):
        text = expected.__name__ if isinstance(expected, type) else str(expected)
        raise ValueError(f"{name}={value!r} is not of the type {text}.")


def _is_of(value: Any, expected: Any) -> bool:
    if isinstance(expected, types.UnionType):
        return any(_is_of(value, one) for one in typing.get_args(expected))
    if typing.get_origin(expected) is tuple:
        return isinstance(value, tuple) and all(_is_of(one, typing.get_args(expected)[0]) for one in value)
    if expected in (int, float) and isinstance(value, bool):
        return False
    return isinstance(value, (int, float) if expected is float else expected)
