"""The training loop: stages of optimizers under a budget, recorded, checkpointed, resumable to the bit."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..assess.inference import Estimate, estimates, refined
from ..assess.metrics import residual_over_time
from ..config.settings import Settings, Stage
from ..networks import Network, Windows, WithUnknowns
from ..objective.objective import LossValue, Objective
from ..optimizers import OPTIMIZERS, LevenbergMarquardt, Optimizer, StepInfo
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from ..storage.checkpoint import load_checkpoint, save_checkpoint
from ..storage.files import write_atomically
from .build import Window, build_network, build_objective, build_points, held_out_points, stage_points
from .interrupts import stop_requests
from .strategies import balanced_weights, raised_causality, resampled_points

CHECKPOINT_FILE = "checkpoint.npz"
METRICS_FILE = "metrics.jsonl"
SECOND_ORDER = {"levenberg-marquardt", "gauss-newton-cg", "l-bfgs", "ss-broyden"}
_RECORD_EVERY = {True: 5, False: 100}
_STALL_WINDOW = {True: 40, False: 20_000}
_STALL_GAIN = 1e-3
SECONDS_BETWEEN_CHECKPOINTS = 20.0
_WINDOW_OUTCOMES = ("converged", "stalled", "out-of-budget")  # from best to worst


@dataclass(frozen=True)
class Budget:
    """When to stop at the latest; a loss below `target_loss` is convergence."""

    seconds: float = float("inf")
    target_loss: float = 0.0

    def __post_init__(self):
        if not self.seconds > 0:
            raise ValueError(f"Budget(seconds={self.seconds}): give a positive number of seconds.")


class TrainingState(eqx.Module):
    """Everything that decides how training goes on; `solved` are the networks of the windows before."""

    network: Network
    optimizer_state: Any
    best_network: Network
    best_loss: Float[Array, ""]
    causality: Any
    weights: Float[Array, " terms"]
    columns: Float[Array, "points dim"]
    solved: tuple[Network, ...]


@dataclass(frozen=True)
class Position:
    """How far training is; `status` is "" until it ends, `outcomes` are those of the windows before."""

    stage: int = 0
    stage_step: int = 0
    step: int = 0
    seconds: float = 0.0
    outcomes: tuple[str, ...] = ()
    status: str = ""

    @property
    def window(self) -> int:
        return len(self.outcomes)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> "Position":
        values: dict[str, Any] = {**content, "outcomes": tuple(content["outcomes"])}
        return cls(**values)


@dataclass
class TrainingOutcome:
    """What training ended with; `status` says why it ended."""

    network: Network
    status: str
    records: list[dict[str, float]]
    seconds: float
    steps: int


ErrorOf = Callable[[Network, float, float], float]


@eqx.filter_jit
def _advance(optimizer: Optimizer, objective: Objective, network: Network, state: Any):
    return optimizer.step(objective, network, state)


@eqx.filter_jit
def _loss(objective: Objective, network: Network) -> LossValue:
    return objective.loss(network)


class Trainer:
    """Trains a network on a problem as the settings say.

    With a folder, the state is saved there every `checkpoint_seconds`, and a trainer made again on the same folder
    goes on from it. `watch(record)` is called with every record. `error_of(network, start, end)` is the error of the
    network of one window, which lies between these times. `solved` are the networks of the first windows where these
    are known from another run.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        settings: Settings,
        folder: Path | None = None,
        watch: Callable[[dict[str, float]], None] | None = None,
        error_of: ErrorOf | None = None,
        checkpoint_seconds: float = SECONDS_BETWEEN_CHECKPOINTS,
        solved: tuple[Network, ...] = (),
    ):
        self.checkpoint_seconds = checkpoint_seconds
        self.problem, self.settings, self.folder = problem, settings, folder
        self.watch, self.error_of = watch, error_of
        if settings.resample_every is not None and problem.box.dimension == 0:
            raise ValueError(f"resample_every={settings.resample_every} has no effect: {problem.name} has no space.")
        self.points = build_points(problem, settings)
        self.held_out = held_out_points(problem, settings)
        self.records: list[dict[str, float]] = []
        self.position = Position()
        self._stop_requested: Callable[[], bool] = lambda: False
        if len(solved) >= settings.windows:
            raise ValueError(f"windows={settings.windows}: {len(solved)} of them are solved, so nothing is left to do.")
        self.position = replace(self.position, outcomes=(_WINDOW_OUTCOMES[0],) * len(solved))
        self.state = self._first_state(solved[-1] if solved else build_network(problem, settings), solved)
        if folder is not None and (folder / CHECKPOINT_FILE).exists():
            self._restore(folder)

    @property
    def network(self) -> Network:
        """The solution over the whole interval as far as it is known; windows still to come repeat the last one."""
        if self.settings.windows == 1:
            return self.state.best_network
        pieces = (*self.state.solved, self.state.best_network)
        missing = self.settings.windows - len(pieces)
        return Windows((*pieces, *(pieces[-1:] * missing)), self.problem.interval)

    def held_out_residual(self) -> float:
        """The mean square residual of the solution on points that were not trained on, over the whole interval."""
        held_out = self.held_out
        return float(residual_over_time(self.problem, self.network, held_out.times, held_out.points).mean())

    def estimates(self) -> Mapping[str, Estimate]:
        """The unknown numbers of the problem, with standard errors."""
        network = self.state.best_network
        if not isinstance(network, WithUnknowns):
            return {}
        return estimates(self.problem, self._objective_up_to(1.0, network), network)

    def _objective_up_to(self, horizon: float, network: Network) -> Objective:
        """The objective on all columns, of a problem that is solved in one window."""
        window = Window.of(self.problem, self.settings, ())
        points = stage_points(self.points, Stage(self._current_stage.optimizer, 0, horizon=horizon), window)
        return build_objective(self.problem, self.settings, network, points, window)

    def _refine_unknowns(self, horizon: float = 1.0) -> None:
        network = self.state.best_network
        if isinstance(network, WithUnknowns) and self.problem.observations:
            better = refined(self.problem, self._objective_up_to(horizon, network), network)
            self.state = eqx.tree_at(lambda s: (s.network, s.best_network), self.state, (better, better))

    def run(self, budget: Budget | None = None) -> TrainingOutcome:
        """Train until a status is reached; the best state is saved whatever happens."""
        budget = budget or Budget()
        status = self.position.status
        if not status:
            self._clock_start = time.perf_counter() - self.position.seconds
            with stop_requests() as self._stop_requested:
                status = self._run_windows(budget)
            if status in _WINDOW_OUTCOMES:
                self._refine_unknowns()
            self._save()
        return TrainingOutcome(self.network, status, self.records, self.position.seconds, self.position.step)

    def _run_windows(self, budget: Budget) -> str:
        while True:
            window = Window.of(self.problem, self.settings, self.state.solved)
            left = self.settings.windows - window.number
            deadline = self._elapsed() + (budget.seconds - self._elapsed()) / left
            status = self._run_window(window, deadline, budget.target_loss)
            if status not in _WINDOW_OUTCOMES or (left == 1 and self._elapsed() >= budget.seconds):
                return status
            outcomes = (*self.position.outcomes, status)
            if left == 1:
                self._move(status=max(outcomes, key=_WINDOW_OUTCOMES.index))
                return self.position.status
            self._move(stage=0, stage_step=0, outcomes=outcomes)
            best = self.state.best_network
            self.state = self._first_state(best, (*self.state.solved, best))

    def _run_window(self, window: Window, deadline: float, target_loss: float) -> str:
        status = "out-of-budget"
        held_out = build_objective(
            self.problem, self.settings, self.state.network, window.select(self.held_out), window
        )
        while self.position.stage < len(self.settings.stages):
            status = self._run_stage(window, held_out, deadline, target_loss)
            if status not in ("out-of-budget", "stalled") or self._elapsed() >= deadline:
                return status
            if self.position.stage + 1 < len(self.settings.stages):
                self._refine_unknowns(self._current_stage.horizon)
            self._move(stage=self.position.stage + 1, stage_step=0)
            if self.position.stage < len(self.settings.stages):
                self.state = self._first_state(self.state.network, self.state.solved)
        return status

    def _run_stage(self, window: Window, held_out: Objective, deadline: float, target_loss: float) -> str:
        stage = self._current_stage
        second_order = stage.optimizer in SECOND_ORDER
        objective = self._objective(stage, window)
        optimizer = self._optimizer(objective, self.state.network)
        saved = time.perf_counter()
        while self.position.stage_step < stage.steps:
            network, optimizer_state, info = _advance(
                optimizer, objective, self.state.network, self.state.optimizer_state
            )
            loss = float(info.loss)
            if not np.isfinite(loss):
                return "non-finite"
            self._accept(network, optimizer_state, loss)
            self._move(step=self.position.step + 1, stage_step=self.position.stage_step + 1)
            stage_step = self.position.stage_step
            if stage_step % _RECORD_EVERY[second_order] == 0 or stage_step in (1, stage.steps):
                value = _loss(objective, self.state.network)
                self._record(info, value, held_out, window)
                if self.settings.causality == "auto" and value.causal_weights is not None:
                    raised = raised_causality(self.state.causality, value.causal_weights)
                    self.state = eqx.tree_at(lambda s: s.causality, self.state, raised)
            objective = self._adapt(objective, stage, window)
            if loss <= target_loss:
                return "converged"
            if second_order and not bool(info.moved):
                return "stalled"
            if self._has_stalled(_STALL_WINDOW[second_order]):
                return "stalled"
            if self._stop_requested():
                return "interrupted"
            if self._elapsed() >= deadline:
                return "out-of-budget"
            if time.perf_counter() - saved > self.checkpoint_seconds:
                self._save()
                saved = time.perf_counter()
        return "out-of-budget"

    @property
    def _current_stage(self) -> Stage:
        return self.settings.stages[min(self.position.stage, len(self.settings.stages) - 1)]

    def _optimizer(self, objective: Objective, network: Network) -> Optimizer:
        """The optimizer of the present stage, in its matrix-free form where its matrices would not fit."""
        stage = self._current_stage
        optimizer = OPTIMIZERS[stage.optimizer](**stage.options)
        if isinstance(optimizer, LevenbergMarquardt):
            num_parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))
            needed = optimizer.memory(objective.num_rows, num_parameters, network.dtype.itemsize)
            if needed > self.settings.memory_gigabytes * 1e9:
                return optimizer.matrix_free
        return optimizer

    def _objective(self, stage: Stage, window: Window) -> Objective:
        """The objective of a stage with the weights, the causality and the columns of the present state."""
        points = self.points
        if self.settings.resample_every is not None:
            points = TrainingPoints(points.times, np.asarray(self.state.columns, np.float64))
        objective = build_objective(
            self.problem, self.settings, self.state.network, stage_points(points, stage, window), window
        )
        return self._at_present(objective)

    def _at_present(self, objective: Objective) -> Objective:
        present = self.state.weights, self.state.causality
        return eqx.tree_at(lambda o: (o.weights, o.causality), objective, present, is_leaf=lambda leaf: leaf is None)

    def _adapt(self, objective: Objective, stage: Stage, window: Window) -> Objective:
        """The objective of the next step."""
        settings, step = self.settings, self.position.step
        if settings.balance_every is not None and step % settings.balance_every == 0:
            weights = balanced_weights(objective, self.state.network)
            self.state = eqx.tree_at(lambda s: s.weights, self.state, weights)
        if settings.resample_every is not None and step % settings.resample_every == 0:
            columns = resampled_points(
                self.problem, settings, self.state.network, stage_points(self.points, stage, window), window, step
            )
            self.state = eqx.tree_at(lambda s: s.columns, self.state, jnp.asarray(columns))
            return self._objective(stage, window)
        return self._at_present(objective)

    def _first_state(self, network: Network, solved: tuple[Network, ...]) -> TrainingState:
        """The state at the beginning of a stage."""
        window = Window.of(self.problem, self.settings, solved)
        points = stage_points(self.points, self._current_stage, window)
        objective = build_objective(self.problem, self.settings, network, points, window)
        infinity = jnp.asarray(jnp.inf, jnp.float64)
        return TrainingState(
            network=network,
            optimizer_state=self._optimizer(objective, network).init(network),
            best_network=network,
            best_loss=infinity,
            causality=objective.causality,
            weights=objective.weights,
            columns=jnp.asarray(self.points.points, jnp.float64),
            solved=solved,
        )

    def _accept(self, network: Network, optimizer_state: Any, loss: float) -> None:
        # Losses with other weights or columns cannot be compared; then the last state counts as the best.
        settings = self.settings
        moving = self.state.causality is not None or settings.balance_every or settings.resample_every
        better = bool(moving) or loss <= float(self.state.best_loss)
        self.state = eqx.tree_at(
            lambda s: (s.network, s.optimizer_state, s.best_network, s.best_loss),
            self.state,
            (
                network,
                optimizer_state,
                network if better else self.state.best_network,
                jnp.asarray(loss if better else self.state.best_loss, jnp.float64),
            ),
        )

    def _record(self, info: StepInfo, value: LossValue, held_out: Objective, window: Window) -> None:
        record = {
            "step": self.position.step,
            "stage": self.position.stage,
            "window": window.number,
            "seconds": round(self._elapsed(), 3),
            "loss": float(value.total),
            "held_out_residual": float(_loss(held_out, self.state.network).parts["residual"]),
            **{name: float(part) for name, part in value.parts.items()},
            **{name: float(extra) for name, extra in info.extras.items()},
        }
        if self.settings.balance_every is not None:
            record |= {f"weight {name}": float(w) for name, w in zip(value.parts, self.state.weights, strict=True)}
        if value.causal_weights is not None:
            record |= {
                "causality": np.asarray(self.state.causality).item(),
                "least_causal_weight": float(value.causal_weights.min()),
            }
        if self.error_of is not None:
            record["relative_l2_error"] = self.error_of(self.state.network, window.start, window.end)
        self.records.append(record)
        if self.watch is not None:
            self.watch(record)

    def _has_stalled(self, steps: int) -> bool:
        here = {"stage": self.position.stage, "window": self.position.window}
        recent = [r for r in self.records if here.items() <= r.items() and r["step"] > self.position.step - steps]
        if self.position.stage_step < steps or len(recent) < 3:
            return False
        if "causality" in recent[0] and recent[0]["causality"] != recent[-1]["causality"]:
            return False
        return recent[-1]["loss"] > (1 - _STALL_GAIN) * recent[0]["loss"]

    def _move(self, **changes: Any) -> None:
        self.position = replace(self.position, **changes)

    def _elapsed(self) -> float:
        return time.perf_counter() - self._clock_start

    def save(self, folder: Path) -> None:
        """Write what a trainer made again on this folder goes on from."""
        write_atomically(folder / METRICS_FILE, "".join(json.dumps(record) + "\n" for record in self.records).encode())
        save_checkpoint(folder / CHECKPOINT_FILE, eqx.filter(self.state, eqx.is_array), asdict(self.position))

    def _save(self) -> None:
        self._move(seconds=self._elapsed())
        if self.folder is not None:
            self.save(self.folder)

    def _restore(self, folder: Path) -> None:
        network = self.state.network

        def empty_state(position: dict[str, Any]) -> TrainingState:
            self.position = Position.from_json(position)
            return self._first_state(network, (network,) * self.position.window)

        arrays, _ = load_checkpoint(
            folder / CHECKPOINT_FILE, lambda position: eqx.filter(empty_state(position), eqx.is_array)
        )
        self.state = eqx.combine(arrays, self._first_state(network, (network,) * self.position.window))
        lines = (folder / METRICS_FILE).read_text().splitlines()
        self.records = [record for record in map(json.loads, lines) if record["step"] <= self.position.step]
