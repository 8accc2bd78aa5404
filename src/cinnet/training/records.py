"""What is written down of training: losses, held-out residual, error, weights, every so many steps."""

import math
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
    """Whether the loss hardly fell over the last `steps` steps of a phase, which began after step `begin`.

    A loss that jumps up and down has not stalled while its lowest value still falls. A changed epsilon makes losses
    incomparable, and the count begins anew.
    """

    def __init__(self, steps: int, begin: int, records: Iterable[Mapping[str, float]] = ()):
        self._steps, self._begin = steps, begin
        self._recent: deque[tuple[float, float, float | None]] = deque()
        self._lowest_before = math.inf
        for record in records:
            if record["step"] > begin:
                self.see(record)

    def see(self, record: Mapping[str, float]) -> None:
        self._recent.append((record["step"], record["loss"], record.get("causality")))

    def stalled(self, step: int) -> bool:
        while self._recent and self._recent[0][0] <= step - self._steps:
            self._forget_oldest()
        if step - self._begin < self._steps or len(self._recent) < 3:
            return False
        (_, first, epsilon), *later = self._recent
        lowest = min(loss for _, loss, _ in later)
        return epsilon == later[-1][2] and lowest > (1 - _STALL_GAIN) * min(first, self._lowest_before)

    def _forget_oldest(self) -> None:
        _, loss, epsilon = self._recent.popleft()
        comparable = not self._recent or self._recent[0][2] == epsilon
        self._lowest_before = min(self._lowest_before, loss) if comparable else math.inf
