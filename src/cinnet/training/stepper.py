"""One phase under way: its objective, its optimizer, and the state that decides how training goes on."""

from typing import Any

import equinox as eqx
import jax
from jaxtyping import Array, Float, PyTree

from ..config.settings import Settings
from ..networks import Network, Windows, WithUnknowns
from ..objective import LossValue, Objective
from ..objective.constrained import refined
from ..optimizers import BestSoFar, Optimizer, StepInfo
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .build import build_objective
from .context import Context
from .phases import Phase
from .strategies import Strategy
from .windows import Window, end_values, window_starts


class TrainingState(eqx.Module):
    """Everything that decides how training goes on; `solved` are the networks of the windows before."""

    network: Network
    optimizer_state: Any
    weights: Float[Array, " terms"]
    causality: Float[Array, ""] | None
    strategy_states: tuple[PyTree, ...]
    solved: tuple[Network, ...]


@eqx.filter_jit
def _advance(optimizer: Optimizer, objective: Objective, network: Network, state: Any):
    return optimizer.step(objective, network, state)


@eqx.filter_jit
def loss_of(objective: Objective, network: Network) -> LossValue:
    return objective.loss(network)


class Stepper:
    """Makes the steps of a phase, with the strategies in between.

    `previous` is the stepper of the phase before in the same window: what strategies have learned there is kept.
    """

    def __init__(
        self,
        problem: EvolutionProblem,
        settings: Settings,
        strategies: tuple[Strategy, ...],
        points: TrainingPoints,
        phase: Phase,
        network: Network,
        solved: tuple[Network, ...] = (),
        previous: "Stepper | None" = None,
    ):
        self.problem, self.settings, self.strategies, self.phase = problem, settings, strategies, phase
        self._all_points = points
        self.window = self._window(solved)
        self.points = self.window.select(points, phase.horizon)
        context = self._context(network, 0)
        objective = build_objective(problem, settings, network, context.chosen(self.points), self.window)
        if previous is None:
            states = tuple(strategy.init(context) for strategy in strategies)
        else:
            states, objective = previous.state.strategy_states, objective.with_weights_of(previous.objective)
        for strategy, state in zip(strategies, states, strict=True):
            objective = strategy.apply(context, objective, state)
        self.objective = objective
        sizes = (objective.num_rows, num_parameters(network), network.dtype.itemsize)
        optimizer = phase.optimizer.within(settings.memory_gigabytes * 1e9, *sizes)
        self.optimizer = BestSoFar(optimizer, comparable=all(strategy.comparable for strategy in strategies))
        state = self.optimizer.init(network)
        self.state = TrainingState(network, state, objective.weights, objective.causality, states, solved)

    @property
    def best_network(self) -> Network:
        return self.optimizer.best(self.state.network, self.state.optimizer_state)

    def step(self) -> StepInfo:
        """One step of the optimizer; a step from a loss that is not finite is not taken."""
        state = self.state
        network, optimizer_state, info = _advance(self.optimizer, self.objective, state.network, state.optimizer_state)
        if bool(jax.numpy.isfinite(info.loss)):
            self.state = eqx.tree_at(lambda s: (s.network, s.optimizer_state), state, (network, optimizer_state))
        return info

    def adapt(self, step: int, losses: LossValue | None) -> None:
        """Let the strategies change the objective after a step."""
        if not self.strategies:
            return
        context, states = self._context(self.state.network, step, losses), []
        for strategy, state in zip(self.strategies, self.state.strategy_states, strict=True):
            self.objective, state = strategy.after_step(context, self.objective, self.state.network, state)
            states.append(state)
        self.state = eqx.tree_at(
            lambda s: (s.weights, s.causality, s.strategy_states),
            self.state,
            (self.objective.weights, self.objective.causality, tuple(states)),
            is_leaf=lambda leaf: leaf is None,
        )

    def judge(self) -> None:
        """Let the network after the last step, whose loss nobody has seen, compete with the best one."""
        loss = loss_of(self.objective, self.state.network).total
        judged = self.optimizer.judged(self.state.network, self.state.optimizer_state, loss)
        self.state = eqx.tree_at(lambda s: s.optimizer_state, self.state, judged)

    def refine_unknowns(self, horizon: float) -> None:
        """Bring the unknowns to the best fit of the data up to a part of the interval, the equation being exact."""
        network = self.best_network
        if isinstance(network, WithUnknowns) and self.problem.observations:
            better = refined(self.problem, self.objective_up_to(horizon), network)
            parameters = eqx.filter(better, eqx.is_inexact_array)
            self.state = eqx.tree_at(
                lambda s: (s.network, s.optimizer_state.best_parameters), self.state, (better, parameters)
            )

    def objective_up_to(self, horizon: float) -> Objective:
        """The plain objective on all columns up to a part of the window."""
        points = self.window.select(self._all_points, horizon)
        return build_objective(self.problem, self.settings, self.state.network, points, self.window)

    def held_out_objective(self, points: TrainingPoints) -> Objective:
        """The plain objective of this window on points that are not trained on."""
        return build_objective(self.problem, self.settings, self.state.network, self.window.select(points), self.window)

    def restored(self, arrays: TrainingState) -> "Stepper":
        """The same phase as these arrays of a checkpoint left it."""
        state = eqx.combine(arrays, self.state)
        where = (self.problem, self.settings, self.strategies, self._all_points, self.phase)
        stepper = Stepper(*where, state.network, state.solved)
        context, objective = stepper._context(state.network, 0), stepper.objective
        for strategy, own in zip(self.strategies, state.strategy_states, strict=True):
            objective = strategy.apply(context, objective, own)
        stepper.objective = eqx.tree_at(
            lambda o: (o.weights, o.causality),
            objective,
            (state.weights, state.causality),
            is_leaf=lambda leaf: leaf is None,
        )
        stepper.state = state
        return stepper

    def _window(self, solved: tuple[Network, ...]) -> Window:
        phase, initial = self.phase, self.problem.initial_values
        if solved:
            starts = window_starts(self.problem.interval, self.settings.num_times, self.settings.windows)
            initial = end_values(solved[-1], phase.start - starts[phase.window - 1])
        return Window(phase.window, phase.start, phase.end, initial, self.settings.include_start)

    def _context(self, network: Network, step: int, losses: LossValue | None = None) -> Context:
        def build(points: TrainingPoints) -> Objective:
            return build_objective(self.problem, self.settings, network, points, self.window)

        return Context(self.problem, self.settings, self.phase, self.window, step, self.points, build, losses)


def num_parameters(network: Network) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))


def assembled(pieces: tuple[Network, ...], problem: EvolutionProblem, settings: Settings) -> Network:
    """The networks of the first windows as one over the whole interval; windows still to come repeat the last one."""
    if settings.windows == 1:
        return pieces[0]
    missing = settings.windows - len(pieces)
    starts = window_starts(problem.interval, settings.num_times, settings.windows)
    return Windows((*pieces, *(pieces[-1:] * missing)), problem.interval, starts)
