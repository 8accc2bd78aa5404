"""Adam with the paper's learning rate: 1e-3, times 0.9 every 5,000 steps."""

import equinox as eqx
import optax
from jaxtyping import PyTree

from .base import LeastSquares, Optimizer, check_fraction, check_positive
from .gradient_step import GradientState, gradient_step, initial_state


class Adam(Optimizer):
    """Adam (Kingma & Ba 2015) with exponential decay.

    The learning rate is learning_rate * decay^(step / decay_every), where the exponent is rounded down when
    `staircase` is set.
    """

    learning_rate: float = eqx.field(static=True, default=1e-3)
    decay: float = eqx.field(static=True, default=0.9)
    decay_every: int = eqx.field(static=True, default=5000)
    staircase: bool = eqx.field(static=True, default=True)
    b1: float = eqx.field(static=True, default=0.9)
    b2: float = eqx.field(static=True, default=0.999)
    epsilon: float = eqx.field(static=True, default=1e-8)

    def __check_init__(self):
        check_positive(self, "learning_rate", "decay", "decay_every", "epsilon")
        check_fraction(self, "b1", "b2")

    @property
    def _transformation(self) -> optax.GradientTransformation:
        return optax.scale_by_adam(self.b1, self.b2, self.epsilon)

    def init(self, model: PyTree) -> GradientState:
        return initial_state(self._transformation, model)

    def step(self, objective: LeastSquares, model: PyTree, state: GradientState):
        schedule = optax.exponential_decay(self.learning_rate, self.decay_every, self.decay, staircase=self.staircase)
        return gradient_step(self._transformation, schedule, objective, model, state)
