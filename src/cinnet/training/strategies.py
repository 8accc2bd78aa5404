"""What changes the objective while training goes on: windows, horizons, causal and balanced weights, new columns."""

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, PyTree

from ..config.serialize import extensible
from ..config.settings import Settings
from ..networks import Network
from ..objective import Objective
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .context import Context
from .windows import nearly_equal, window_starts

if TYPE_CHECKING:
    from .phases import Phase


@extensible
class Strategy(eqx.Module):
    """Changes what is minimised; derive your own and override what you need.

    `plan` changes the phases of a run before it starts. `init` gives the strategy's state at the beginning of every
    window, a pytree of arrays that checkpoints keep. `apply` makes a new objective what the state says, whenever one
    was built: at the start of a phase and after a resume. `after_step` sees every step and gives the objective and the
    state for the next one. Weights and epsilon that it changes stay until the window ends; everything else that an
    objective should keep must come from `apply`.

    `comparable` says that the losses of two steps still mean the same, so that the lowest one marks the best network;
    else the last network counts.
    """

    comparable: ClassVar[bool] = False

    def plan(self, phases: "tuple[Phase, ...]", problem: EvolutionProblem, settings: Settings) -> "tuple[Phase, ...]":
        return phases

    def init(self, run: Context) -> PyTree:
        return None

    def apply(self, run: Context, objective: Objective, state: PyTree) -> Objective:
        return objective

    def after_step(
        self, run: Context, objective: Objective, network: Network, state: PyTree
    ) -> tuple[Objective, PyTree]:
        return objective, state


class TimeWindows(Strategy):
    """The interval cut into `count` windows of nearly equal length, each solved by all phases of the plan."""

    count: int = eqx.field(static=True)
    comparable: ClassVar[bool] = True

    def plan(self, phases, problem, settings):
        starts = window_starts(problem.interval, settings.num_times, self.count)
        ends = (*starts[1:], problem.interval.end)
        return tuple(
            dataclasses.replace(phase, window=number, start=start, end=end)
            for number, (start, end) in enumerate(zip(starts, ends, strict=True))
            for phase in phases
        )


class GrowingHorizon(Strategy):
    """Every phase first on the time levels in the first part of its window, then on more; its steps are shared out."""

    fractions: tuple[float, ...] = eqx.field(static=True, converter=tuple, default=(0.25, 0.5, 1.0))
    comparable: ClassVar[bool] = True

    def __check_init__(self):
        fractions = np.array(self.fractions, float)
        if not fractions.size or not (np.diff(fractions) > 0).all() or not fractions[0] > 0 or fractions[-1] != 1:
            raise ValueError(f"GrowingHorizon(fractions={self.fractions}): give increasing fractions that end with 1.")

    def plan(self, phases, problem, settings):
        return tuple(
            dataclasses.replace(phase, steps=steps, horizon=phase.horizon * fraction)
            for phase in phases
            for fraction, steps in zip(self.fractions, nearly_equal(phase.steps, len(self.fractions)), strict=True)
        )


class CausalWeights(Strategy):
    """Causal weights with a fixed epsilon, or "auto": ten times stricter whenever even the last time has its weight."""

    epsilon: float | str = eqx.field(static=True, default=100.0)
    first: float = eqx.field(static=True, default=1.0)
    highest: float = eqx.field(static=True, default=1e4)
    nearly_one: float = eqx.field(static=True, default=0.95)

    def __check_init__(self):
        if self.epsilon != "auto" and not (isinstance(self.epsilon, int | float) and 0 < self.epsilon < np.inf):
            raise ValueError(
                f"CausalWeights(epsilon={self.epsilon!r}): causality must be positive and finite, or 'auto'."
            )

    def apply(self, run, objective, state):
        if objective.causality is not None:
            return objective
        return objective.with_causality(self.first if isinstance(self.epsilon, str) else self.epsilon)

    def after_step(self, run, objective, network, state):
        seen = None if run.losses is None else run.losses.causal_weights
        epsilon = objective.causality
        if self.epsilon != "auto" or epsilon is None or seen is None or float(seen.min()) < self.nearly_one:
            return objective, state
        return objective.with_causality(jnp.minimum(epsilon * 10, self.highest)), state


class BalancedWeights(Strategy):
    """Every so many steps the weights move a tenth of the way to those that give every term the same gradient norm.

    Their sum of norms over the norm of a term, as Wang, Wang and Perdikaris (2023) choose them; a term whose gradient
    vanishes keeps its weight.
    """

    every: int = eqx.field(static=True)
    memory: float = eqx.field(static=True, default=0.9)

    def after_step(self, run, objective, network, state):
        if run.step % self.every:
            return objective, state
        norms = _gradient_norms(objective, network)
        balanced = jnp.where(norms > 0, norms.sum() / jnp.where(norms > 0, norms, 1.0), objective.weights)
        weights = self.memory * objective.weights + (1 - self.memory) * balanced
        return eqx.tree_at(lambda o: o.weights, objective, weights), state


@eqx.filter_jit
def _gradient_norms(objective: Objective, network: Network) -> Float[Array, " terms"]:
    return objective.gradient_norms(network)


class Resampling(Strategy):
    """Every so many steps as many columns as before are drawn from a larger random set, more where the residual is.

    A column is drawn with probability proportional to 1 + r / mean(r), r its root mean square residual over the
    window (Wu et al. 2023, their k = c = 1). The state holds the present columns.
    """

    every: int = eqx.field(static=True)
    candidates_per_column: int = eqx.field(static=True, default=8)

    def init(self, run):
        if not run.problem.box.dimension:
            raise ValueError(f"resample_every={self.every} has no effect: {run.problem.name} has no space.")
        return jnp.asarray(run.points.points, jnp.float64)

    def apply(self, run, objective, state):
        columns = np.asarray(state, np.float64)
        if np.array_equal(columns, run.points.points):
            return objective
        return run.build(run.chosen(TrainingPoints(run.points.times, columns))).with_weights_of(objective)

    def after_step(self, run, objective, network, state):
        if run.step % self.every:
            return objective, state
        columns = self._drawn(run, network)
        return self.apply(run, objective, columns), jnp.asarray(columns)

    def _drawn(self, run: Context, network: Network) -> Float[np.ndarray, "points dim"]:
        rng, axes = run.random(), run.problem.box.axes
        lower, length = (np.array([getattr(axis, name) for axis in axes]) for name in ("lower", "length"))
        kept = len(run.points.points)
        count = self.candidates_per_column * kept
        trial = run.build(TrainingPoints(run.points.times, lower + length * rng.random((count, len(axes)))))
        size = np.nan_to_num(np.asarray(_column_residuals(trial, network), np.float64), posinf=0.0)
        probability = 1 + size / max(size.mean(), np.finfo(np.float64).tiny)
        chosen = rng.choice(count, kept, replace=False, p=probability / probability.sum())
        return np.asarray(trial.residual_term.points, np.float64)[np.sort(chosen)]


@eqx.filter_jit
def _column_residuals(objective: Objective, network: Network) -> Float[Array, " columns"]:
    """The root mean square residual of every column."""
    residual = objective.residual_term
    rows = residual.rows(network, jnp.ones_like(residual.times))
    return jnp.linalg.norm(rows.reshape(residual.num_points, -1), axis=1)


def build_strategies(settings: Settings) -> tuple[Strategy, ...]:
    """The strategies of a run: those that settings name by a number, then those given as objects."""
    named: list[Any] = []
    if settings.causality is not None:
        named.append(CausalWeights(settings.causality))
    if settings.balance_every is not None:
        named.append(BalancedWeights(settings.balance_every))
    if settings.resample_every is not None:
        named.append(Resampling(settings.resample_every))
    for strategy in settings.strategies:
        if not isinstance(strategy, Strategy):
            raise TypeError(f"strategies: {strategy!r} is not a cinnet.Strategy; derive it from that.")
    return (*named, *settings.strategies)
