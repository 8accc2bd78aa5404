"""The training loop: phases of optimizers under a budget, recorded, checkpointed, resumable to the bit."""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import equinox as eqx
import numpy as np
from jaxtyping import PyTree

from ..config.settings import Settings
from ..machine import merged, provenance
from ..networks import Network
from ..objective import LossValue, Objective
from ..optimizers import StepInfo
from ..problems.base import EvolutionProblem
from ..storage.checkpoint import load_newest, save_checkpoint
from ..storage.run_folder import CHECKPOINT_FILE, METRICS_FILE, load_records, save_records
from .budget import Budget, Share, Stopwatch
from .build import build_network
from .callbacks import Callback, TrainingView
from .interrupts import stop_requests
from .phases import Phase, plan_phases
from .points import build_points, held_out_points
from .position import Position, Solved, TrainingOutcome
from .records import StallDetector, loss_record
from .stepper import Stepper, assembled, loss_of
from .strategies import build_strategies

SECONDS_BETWEEN_CHECKPOINTS = 20.0
_LEAST_SHARE, _LEAST_RECORDS = 0.25, 10  # of the steps of a window, before it may be closed for lack of time
ENDS = ("converged", "stalled", "completed", "time-limit")  # how a window can end, from best to worst


ErrorOf = Callable[[Network, float, float], float]


class Trainer:
    """Trains a network on a problem as the settings say.

    With a folder, the state is saved there every `checkpoint_seconds`, and a trainer made again on the same folder
    goes on from it. Every callback sees every record and may end the run. `error_of(network, start, end)` is the error
    of the network of one window, which lies between these times.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        settings: Settings,
        folder: Path | None = None,
        callbacks: Sequence[Callback] = (),
        error_of: ErrorOf | None = None,
        checkpoint_seconds: float = SECONDS_BETWEEN_CHECKPOINTS,
        solved: Solved | None = None,
    ):
        self.problem, self.settings, self.folder = problem, settings, folder
        self.callbacks, self.error_of, self.checkpoint_seconds = tuple(callbacks), error_of, checkpoint_seconds
        self.strategies = build_strategies(settings)
        self.phases = plan_phases(problem, settings, self.strategies)
        self.points = build_points(problem, settings)
        self.held_out = held_out_points(problem, settings, self.points)
        self.records: list[dict[str, float]] = []
        self._saved = time.perf_counter()
        solved = solved or Solved()
        first = next((i for i, phase in enumerate(self.phases) if phase.window == len(solved)), None)
        if first is None:
            raise ValueError(f"windows={settings.windows}: {len(solved)} of them are solved, so nothing is left to do.")
        self.position = Position(first, outcomes=solved.outcomes, made_by=solved.made_by)
        network = build_network(problem, settings)
        self.stepper = self._enter(solved.networks[-1] if solved else network, solved.networks)
        if folder is not None and any(folder.glob(CHECKPOINT_FILE + "*")):
            self._restore(folder)

    def _enter(self, network: Network, solved: tuple[Network, ...], previous: Stepper | None = None) -> Stepper:
        """Begin the present phase."""
        where = (self.problem, self.settings, self.strategies, self.points, self._phase)
        return Stepper(*where, network, solved, previous)

    def stepper_of(self, phase: Phase) -> Stepper:
        """A phase of the first window with the network as it is now."""
        return Stepper(self.problem, self.settings, self.strategies, self.points, phase, self.stepper.state.network)

    @property
    def _phase(self) -> Phase:
        return self.phases[self.position.phase]

    @property
    def pieces(self) -> tuple[Network, ...]:
        """The best networks of the windows that were begun."""
        return (*self.stepper.state.solved, self.stepper.best_network)

    @property
    def network(self) -> Network:
        """The solution over the whole interval as far as it is known."""
        return assembled(self.pieces, self.problem, self.settings)

    def run(self, budget: Budget | None = None) -> TrainingOutcome:
        """Train until a status is reached; the best state is saved whatever happens."""
        budget, status = budget or Budget(), self.position.status
        self._watch = Stopwatch(self.position.seconds)
        if not status:
            with stop_requests() as self._stop_requested:
                status = self._run_phases(budget)
            if status in ENDS:
                self.stepper.refine_unknowns(1.0)
            self._save()
        at = self.position
        outcomes = (*at.outcomes, at.last_outcome or status)
        return TrainingOutcome(self.network, status, self.records, at.seconds, at.step, outcomes, at.made_by)

    def _run_phases(self, budget: Budget) -> str:
        """Phase after phase; what had no time stays open, so that a later run goes on with it."""
        share = self._share(budget)
        while self._watch.seconds < budget.seconds:
            self._move(made_by=merged(self.position.made_by, provenance()))
            status = self._run_phase(budget, share)
            if status not in ENDS or (status == "time-limit" and self._watch.seconds >= budget.seconds):
                return status
            following = self._following(status)
            if following is None:
                worst = max((*self.position.outcomes, status), key=ENDS.index)
                self._move(status=worst, last_outcome=status)
                return self.position.status
            if self._go_to(following, status):
                share = self._share(budget)
        return "time-limit"

    def _following(self, status: str) -> int | None:
        """The phase after the present one; that of the next window where the present one is done with."""
        done_with = status in ("converged", "time-limit")
        later = range(self.position.phase + 1, len(self.phases))
        return next((i for i in later if not done_with or self.phases[i].window != self._phase.window), None)

    def _go_to(self, following: int, status: str) -> bool:
        """Begin another phase; whether it is that of a new window."""
        is_new_window = self.phases[following].window != self._phase.window
        if not is_new_window:
            self.stepper.refine_unknowns(self._phase.horizon)
        previous, solved = self.stepper, self.stepper.state.solved
        best = previous.best_network
        if is_new_window:
            self._move(phase=following, phase_step=0, outcomes=(*self.position.outcomes, status))
            self.stepper = self._enter(best, (*solved, best))
        else:
            self._move(phase=following, phase_step=0)
            self.stepper = self._enter(best, solved, previous)
        return is_new_window

    def _share(self, budget: Budget) -> Share:
        """An equal part for the present window of the time that is left."""
        windows = self.phases[-1].window - self._phase.window + 1
        used = self._watch.seconds
        return Share(used + (budget.seconds - used) / windows, self.position.step)

    def _is_used(self, share: Share) -> bool:
        """Whether the present window may be closed: its time is used, and it was enough for some of its steps.

        If it was not, it would not be enough for the windows after it either.
        """
        least = sum(
            min(_LEAST_SHARE * phase.steps, _LEAST_RECORDS * phase.optimizer.record_every)
            for phase in self.phases
            if phase.window == self._phase.window
        )
        return self.position.step - share.first_step >= least and self._watch.seconds >= share.deadline

    def _run_phase(self, budget: Budget, share: Share) -> str:
        stepper, begin = self.stepper, self.position.step - self.position.phase_step
        stalls = StallDetector(stepper.optimizer.stall_steps, begin, self.records)
        held_out = stepper.held_out_objective(self.held_out)
        status = "" if self.position.phase_step < self._phase.steps else "completed"
        while not status:
            info = stepper.step()
            if not np.isfinite(info.loss):
                return "non-finite"
            self._move(step=self.position.step + 1, phase_step=self.position.phase_step + 1)
            losses, asked_to_stop = self._seen(info, held_out, stalls)
            stepper.adapt(self.position.step, losses)
            if asked_to_stop:
                status = "converged" if self._phase.window == self.phases[-1].window else "interrupted"
            else:
                status = self._reason_to_stop(info, stalls, budget, share)
            if time.perf_counter() - self._saved > self.checkpoint_seconds:
                self._save()
        stepper.judge()
        return status

    def _reason_to_stop(self, info: StepInfo, stalls: StallDetector, budget: Budget, share: Share) -> str:
        """Why the phase ends now, or nothing."""
        if float(info.loss) <= budget.target_loss:
            return "converged"
        stuck = self.stepper.optimizer.stuck_is_final and not bool(info.moved)
        if stuck or (self.settings.stop_when_stalled and stalls.stalled(self.position.step)):
            return "stalled"
        if self._stop_requested():
            return "interrupted"
        if self._watch.seconds >= budget.seconds or self._is_used(share):
            return "time-limit"
        return "completed" if self.position.phase_step >= self._phase.steps else ""

    def _seen(self, info: StepInfo, held_out: Objective, stalls: StallDetector) -> tuple[LossValue | None, bool]:
        """Where it is time to: write the step down and show it; the loss after it, and whether anyone said stop."""
        step, stepper = self.position.phase_step, self.stepper
        if step % stepper.optimizer.record_every and step not in (1, self._phase.steps):
            return None, False
        losses = loss_of(stepper.objective, stepper.state.network)
        record = self._record(info, losses, held_out)
        self.records.append(record)
        stalls.see(record)
        window = stepper.window
        view = TrainingView(self.position.step, record, stepper.state.network, window.start, window.end)
        answers = [callback(view) for callback in self.callbacks]
        return losses, any(answer is True for answer in answers)

    def _record(self, info: StepInfo, losses: LossValue, held_out: Objective) -> dict[str, float]:
        stepper, window = self.stepper, self.stepper.window
        network = stepper.state.network
        record = {
            "step": self.position.step,
            "stage": self._phase.stage,
            "window": window.number,
            "seconds": round(self._watch.seconds, 3),
            "loss": float(losses.total),
            "held_out_residual": float(loss_of(held_out, network).parts["residual"]),
            **loss_record(losses, stepper.objective, info.extras, self.settings.balance_every is not None),
        }
        if self.error_of is not None:
            with self._watch.paused():
                record["relative_l2_error"] = self.error_of(network, window.start, window.end)
        return record

    def _move(self, **changes: Any) -> None:
        self.position = replace(self.position, **changes)

    def _save(self) -> None:
        self._move(seconds=self._watch.seconds)
        if self.folder is not None:
            self.save(self.folder)
        self._saved = time.perf_counter()

    def save(self, folder: Path) -> None:
        """Write what a trainer made again on this folder goes on from."""
        save_records(folder / METRICS_FILE, self.records)
        trees = {"solution": self.pieces, "training": self.stepper.state}
        save_checkpoint(folder / CHECKPOINT_FILE, eqx.filter(trees, eqx.is_array), asdict(self.position))

    def _restore(self, folder: Path) -> None:
        network = self.stepper.state.network

        def like(metadata: dict[str, Any]) -> dict[str, PyTree]:
            self.position = Position.from_json(metadata)
            self.stepper = self._enter(network, (network,) * self._phase.window)
            return {"training": eqx.filter(self.stepper.state, eqx.is_array)}

        trees, _ = load_newest(folder / CHECKPOINT_FILE, like)
        self.stepper = self.stepper.restored(trees["training"])
        self.records = [r for r in load_records(folder / METRICS_FILE) if r["step"] <= self.position.step]
