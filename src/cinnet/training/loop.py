"""The training loop: stages of optimizers under a budget, recorded, checkpointed, resumable to the bit."""

import json
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np

from ..losses import Objective
from ..networks import Network
from ..optimizers import OPTIMIZERS, Optimizer, StepInfo
from ..problems.base import EvolutionProblem
from ..settings import Settings
from .build import build_network, build_objective, build_points, fewer_columns, held_out_points
from .checkpoint import load_checkpoint, save_checkpoint, write_atomically

CHECKPOINT_FILE = "checkpoint.npz"
METRICS_FILE = "metrics.jsonl"
SECOND_ORDER = {"levenberg-marquardt", "gauss-newton-cg", "l-bfgs", "ss-broyden"}
_RECORD_EVERY = {True: 5, False: 100}
_STALL_WINDOW = {True: 40, False: 20_000}
_STALL_GAIN = 1e-3
_LATE_WEIGHT_NEAR_ONE = 0.95
_MAX_CAUSALITY = 1e4
_SECONDS_BETWEEN_CHECKPOINTS = 20.0


@dataclass(frozen=True)
class Budget:
    """When to stop at the latest; a loss below `target_loss` is convergence."""

    seconds: float = float("inf")
    target_loss: float = 0.0

    def __post_init__(self):
        if not self.seconds > 0:
            raise ValueError(f"Budget(seconds={self.seconds}): give a positive number of seconds.")


@contextmanager
def stop_requests() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a request to stop after the step under way; a second one interrupts at once."""
    requested = False

    def request(signum, frame):
        nonlocal requested
        requested = True
        signal.signal(signal.SIGINT, previous)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    previous = signal.signal(signal.SIGINT, request)
    try:
        yield lambda: requested
    finally:
        signal.signal(signal.SIGINT, previous)


class TrainingState(eqx.Module):
    """Everything that decides how training goes on."""

    network: Network
    optimizer_state: Any
    best_network: Network
    best_loss: Any
    causality: Any


@dataclass
class TrainingOutcome:
    """What training ended with; `status` says why it ended."""

    network: Network
    status: str
    records: list[dict[str, float]]
    seconds: float
    steps: int


class Trainer:
    """Trains a network on a problem as the settings say.

    With a folder, the state is saved there every few seconds and a trainer made again on the same folder goes on
    from it. `watch(record)` is called with every record.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        settings: Settings,
        folder: Path | None = None,
        watch: Callable[[dict[str, float]], None] | None = None,
        error_of: Callable[[Network], float] | None = None,
    ):
        self.problem, self.settings, self.folder = problem, settings, folder
        self.watch, self.error_of = watch, error_of
        network = build_network(problem, settings)
        self.points = build_points(problem, settings)
        held_out = Objective(problem, network, held_out_points(problem, settings))
        self._held_out = eqx.filter_jit(lambda network: held_out.loss(network).parts["residual"])
        self.records: list[dict[str, float]] = []
        self.stage, self.stage_step, self.step, self.seconds = 0, 0, 0, 0.0
        self._stop_requested: Callable[[], bool] = lambda: False
        self.state = self._first_state(network)
        if folder is not None and (folder / CHECKPOINT_FILE).exists():
            self._restore(folder)

    @property
    def total_steps(self) -> int:
        return sum(stage.steps for stage in self.settings.stages)

    def run(self, budget: Budget | None = None) -> TrainingOutcome:
        """Train until a status is reached; the best state is saved whatever happens."""
        budget = budget or Budget()
        self._clock_start = time.perf_counter() - self.seconds
        with stop_requests() as self._stop_requested:
            status = self._run_stages(budget)
        self.seconds = self._elapsed()
        self._save()
        return TrainingOutcome(self.state.best_network, status, self.records, self.seconds, self.step)

    def _run_stages(self, budget: Budget) -> str:
        status = "out-of-budget"
        while self.stage < len(self.settings.stages):
            status = self._run_stage(budget)
            if status not in ("out-of-budget", "stalled") or self._elapsed() >= budget.seconds:
                return status
            self.stage, self.stage_step = self.stage + 1, 0
            if self.stage < len(self.settings.stages):
                self.state = self._first_state(self.state.network)
        return status

    def _run_stage(self, budget: Budget) -> str:
        stage = self.settings.stages[self.stage]
        optimizer = self._optimizer()
        second_order = stage.optimizer in SECOND_ORDER
        points = fewer_columns(self.points, stage.columns)
        objective = build_objective(self.problem, self.settings, self.state.network, points)
        advance = eqx.filter_jit(optimizer.step)
        parts = eqx.filter_jit(lambda objective, network: objective.loss(network))
        saved = time.perf_counter()
        while self.stage_step < stage.steps:
            if objective.causality is not None:
                objective = eqx.tree_at(lambda o: o.causality, objective, self.state.causality)
            network, optimizer_state, info = advance(objective, self.state.network, self.state.optimizer_state)
            loss = float(info.loss)
            if not np.isfinite(loss):
                return "non-finite"
            self._accept(network, optimizer_state, loss)
            self.step, self.stage_step = self.step + 1, self.stage_step + 1
            last = self.stage_step == stage.steps
            if self.stage_step % _RECORD_EVERY[second_order] == 0 or last or self.stage_step == 1:
                value = parts(objective, self.state.network)
                self._record(info, value)
                self._raise_causality(value)
            if loss <= budget.target_loss:
                return "converged"
            if second_order and not bool(info.moved):
                return "stalled"
            if self._has_stalled(_STALL_WINDOW[second_order]):
                return "stalled"
            if self._stop_requested():
                return "interrupted"
            if self._elapsed() >= budget.seconds:
                return "out-of-budget"
            if time.perf_counter() - saved > _SECONDS_BETWEEN_CHECKPOINTS:
                self._save()
                saved = time.perf_counter()
        return "out-of-budget"

    def _optimizer(self) -> Optimizer:
        stage = self.settings.stages[min(self.stage, len(self.settings.stages) - 1)]
        return OPTIMIZERS[stage.optimizer](**stage.options)

    def _first_state(self, network: Network) -> TrainingState:
        causality = build_objective(self.problem, self.settings, network, fewer_columns(self.points, 1)).causality
        infinity = jnp.asarray(jnp.inf, jnp.float64)
        return TrainingState(network, self._optimizer().init(network), network, infinity, causality)

    def _accept(self, network: Network, optimizer_state: Any, loss: float) -> None:
        # Causal weights make losses of different steps incomparable, so then the last state counts as the best.
        better = self.state.causality is not None or loss <= float(self.state.best_loss)
        self.state = TrainingState(
            network,
            optimizer_state,
            network if better else self.state.best_network,
            jnp.asarray(loss if better else self.state.best_loss, jnp.float64),
            self.state.causality,
        )

    def _record(self, info: StepInfo, value) -> None:
        record = {
            "step": self.step,
            "stage": self.stage,
            "seconds": round(self._elapsed(), 3),
            "loss": float(value.total),
            "held_out_residual": float(self._held_out(self.state.network)),
            **{name: float(part) for name, part in value.parts.items()},
            **{name: float(extra) for name, extra in info.extras.items()},
        }
        if value.causal_weights is not None:
            record |= {
                "causality": float(self.state.causality),
                "least_causal_weight": float(value.causal_weights.min()),
            }
        if self.error_of is not None:
            record["relative_l2_error"] = self.error_of(self.state.network)
        self.records.append(record)
        if self.watch is not None:
            self.watch(record)

    def _raise_causality(self, value) -> None:
        """The automatic schedule: ten times stricter whenever even the last time has nearly its full weight."""
        if self.settings.causality != "auto" or float(value.causal_weights.min()) < _LATE_WEIGHT_NEAR_ONE:
            return
        raised = jnp.minimum(self.state.causality * 10, _MAX_CAUSALITY).astype(self.state.causality.dtype)
        self.state = eqx.tree_at(lambda s: s.causality, self.state, raised)

    def _has_stalled(self, window: int) -> bool:
        recent = [r for r in self.records if r["stage"] == self.stage and r["step"] > self.step - window]
        if self.stage_step < window or len(recent) < 3:
            return False
        if "causality" in recent[0] and recent[0]["causality"] != recent[-1]["causality"]:
            return False
        return recent[-1]["loss"] > (1 - _STALL_GAIN) * recent[0]["loss"]

    def _elapsed(self) -> float:
        return time.perf_counter() - self._clock_start

    def _save(self) -> None:
        if self.folder is None:
            return
        self.seconds = self._elapsed()
        write_atomically(
            self.folder / METRICS_FILE, "".join(json.dumps(record) + "\n" for record in self.records).encode()
        )
        position = {name: getattr(self, name) for name in ("stage", "stage_step", "step", "seconds")}
        save_checkpoint(self.folder / CHECKPOINT_FILE, eqx.filter(self.state, eqx.is_array), position)

    def _restore(self, folder: Path) -> None:
        network = self.state.network

        def empty_state(position: dict[str, Any]) -> TrainingState:
            self.stage = position["stage"]
            return eqx.filter(self._first_state(network), eqx.is_array)

        arrays, position = load_checkpoint(folder / CHECKPOINT_FILE, empty_state)
        self.state = eqx.combine(arrays, self._first_state(network))
        self.stage, self.stage_step = position["stage"], position["stage_step"]
        self.step, self.seconds = position["step"], position["seconds"]
        lines = (folder / METRICS_FILE).read_text().splitlines()
        self.records = [record for record in map(json.loads, lines) if record["step"] <= self.step]
