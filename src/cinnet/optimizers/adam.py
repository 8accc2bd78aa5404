"""Adam with the paper's learning rate: 1e-3, times 0.9 every 5,000 steps."""

import equinox as eqx
import optax
from jaxtyping import PyTree

from .base import LeastSquares, Optimizer, check_fraction, check_positive
from .gradient_step import GradientState, gradient_step, initial_state, refuse_options_of_numbers
from .schedules import ExponentialDecay


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015) with exponential decay, or any Optax schedule as learning rate.

    A number as `learning_rate` becomes learning_rate * decay^(step / decay_every), where the exponent is rounded down
    when `staircase` is set. A schedule is a function of the step and takes none of these options.
    """

    learning_rate: float | optax.Schedule = eqx.field(static=True, default=1e-3)
    decay: float = eqx.field(static=True, default=0.9)
    decay_every: int = eqx.field(static=True, default=5000)
    staircase: bool = eqx.field(static=True, default=True)
    b1: float = eqx.field(static=True, default=0.9)
    b2: float = eqx.field(static=True, default=0.999)
    epsilon: float = eqx.field(static=True, default=1e-8)

    def __check_init__(self):
        check_positive(self, "decay", "decay_every", "epsilon")
        check_fraction(self, "b1", "b2")
        if callable(self.learning_rate):
            refuse_options_of_numbers(self, "decay", "decay_every", "staircase")
        else:
            check_positive(self, "learning_rate")

    @property
    def _transformation(self) -> optax.GradientTransformation:
        return optax.scale_by_adam(self.b1, self.b2, self.epsilon)

    @property
    def _schedule(self) -> optax.Schedule:
        if callable(self.learning_rate):
            return self.learning_rate
        return ExponentialDecay(self.learning_rate, self.decay, self.decay_every, self.staircase)

    def init(self, model: PyTree) -> GradientState:
        return initial_state(self._transformation, model)

    def step(self, objective: LeastSquares, model: PyTree, state: GradientState):
        return gradient_step(self._transformation, self._schedule, objective, model, state)
