"""What is written down of training: losses, held-out residual, error, weights, every so many steps."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..objective import LossValue, Objective

EXTRA = "extra "  # before the names of terms that the library does not know
_TERMS = ("initial", "residual", "boundary", "observations", "prior", EXTRA.strip())
_STALL_GAIN = 1e-3


def term_names(record: Iterable[str]) -> list[str]:
    """Which entries of a training record are terms of the loss."""
    return [name for name in record if name.split(" ")[0] in _TERMS]


def loss_record(
    value: LossValue, objective: Objective, extras: Mapping[str, Any], weights_move: bool
) -> dict[str, float]:
    """The numbers of a record that the objective and the optimizer know."""
    names = [name if name.split(" ")[0] in _TERMS else f"{EXTRA}{name}" for name in value.parts]
    record = {name: float(part) for name, part in zip(names, value.parts.values(), strict=True)}
    record |= {name: float(extra) for name, extra in extras.items()}
    if weights_move:
        record |= {f"weight {name}": float(w) for name, w in zip(names, objective.weights, strict=True)}
    if value.causal_weights is not None:
        record |= {
            "causality": np.asarray(objective.causality).item(),
            "least_causal_weight": float(value.causal_weights.min()),
        }
    return record


class StallDetector:
    """Whether the loss hardly fell over the last `steps` steps of a phase, which began after step `begin`."""

    def __init__(self, steps: int, begin: int, records: Iterable[Mapping[str, float]] = ()):
        self._steps, self._begin = steps, begin
        self._seen = deque((r["step"], r["loss"], r.get("causality")) for r in records if r["step"] > begin)

    def see(self, record: Mapping[str, float]) -> None:
        self._seen.append((record["step"], record["loss"], record.get("causality")))

    def stalled(self, step: int) -> bool:
        while self._seen and self._seen[0][0] <= step - self._steps:
            self._seen.popleft()
        if step - self._begin < self._steps or len(self._seen) < 3:
            return False
        (_, first, epsilon), (_, last, last_epsilon) = self._seen[0], self._seen[-1]
        return epsilon == last_epsilon and last > (1 - _STALL_GAIN) * first
