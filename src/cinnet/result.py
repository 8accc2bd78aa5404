"""The figures of a run: what training says, and what an assessment adds."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .storage.files import StorageError


@dataclass(frozen=True)
class RunResult:
    """What `result.json` holds.

    `outcomes` says how each window ended, `final` is the last record of training, `made_by` the versions that made the
    run, and `notes` are the caller's. What follows is None until the run is assessed: the mean square residual on
    points that were not trained on, the error against a reference, the error that the residual implies with its bound,
    the time until which the solution is accurate, a verdict, and the estimates of unknowns.
    """

    problem: str
    equation: str
    residual_source: str
    reproduce: str
    method: str
    preset: str
    seed: int
    status: str
    outcomes: tuple[str, ...]
    num_times: int
    num_points: int
    num_mesh_intervals: int | None
    windows: int
    parameters: int
    steps: int
    planned_steps: int
    wall_seconds: float
    final: Mapping[str, float]
    made_by: Mapping[str, str]
    incompatibilities: tuple[str, ...] = ()
    notes: Mapping[str, Any] = field(default_factory=dict)
    held_out_residual: float | None = None
    relative_l2_error: float | None = None
    estimated_error: float | None = None
    error_bound: float | None = None
    accurate_until: float | None = None
    accuracy: str | None = None
    verdict: str | None = None
    estimates: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def is_assessed(self) -> bool:
        return self.verdict is not None

    @property
    def can_be_resumed(self) -> bool:
        """Whether training would go on; windows that were closed when their share of the time was used stay closed."""
        return self.outcomes[-1] in ("interrupted", "time-limit")

    def to_json(self) -> dict[str, Any]:
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> "RunResult":
        """The result that `to_json` wrote."""
        try:
            values: dict[str, Any] = {
                name: tuple(value) if isinstance(value, list) else value for name, value in content.items()
            }
            return cls(**values)
        except TypeError as error:
            raise StorageError(f"this is not the result of a run of this version ({error}).") from None
