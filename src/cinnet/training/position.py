"""Where a run stands: what it began with, how far it is, what it ended with."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..networks import Network


@dataclass(frozen=True)
class Position:
    """How far training is.

    `outcomes` are those of the windows before, `last_outcome` that of the present one, and `status` that of the run;
    they are "" until they are known. `made_by` are the versions that had a part in it.
    """

    phase: int = 0
    phase_step: int = 0
    step: int = 0
    seconds: float = 0.0
    outcomes: tuple[str, ...] = ()
    last_outcome: str = ""
    status: str = ""
    made_by: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Position":
        values: dict[str, Any] = {**content, "outcomes": tuple(content["outcomes"])}
        return cls(**values)


@dataclass(frozen=True)
class TrainingOutcome:
    """What training ended with; `status` says why it ended, and `outcomes` how each window did that was begun."""

    network: Network
    status: str
    records: list[dict[str, float]]
    seconds: float
    steps: int
    outcomes: tuple[str, ...]
    made_by: Mapping[str, str]


@dataclass(frozen=True)
class Solved:
    """The first windows where another run has solved them: their networks, how they ended, and what made them."""

    networks: tuple[Network, ...] = ()
    outcomes: tuple[str, ...] = ()
    made_by: Mapping[str, str] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.networks)
