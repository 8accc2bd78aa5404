"""The best model of a run, kept by a wrapper around any optimizer, as optimistix does."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree

from .base import LeastSquares, Optimizer, StepInfo


class BestSoFarState(eqx.Module):
    """The state of the wrapped optimizer, and the parameters of the best model with their loss.

    `best_loss` is infinite until a finite loss was seen; the parameters are those of the start until then.
    """

    inner: PyTree
    best_parameters: PyTree
    best_loss: Float[Array, ""]


class BestSoFar(Optimizer):
    """Takes the steps of another optimizer and remembers the best model on the way.

    A step reports the loss *before* it, so what is remembered is the model before the step. The model after the last
    step has no loss yet: `judged` takes it. With `comparable=False`, for objectives whose weights or points change so
    that the losses of two steps cannot be compared, the last model with a finite loss counts as the best.
    """

    optimizer: Optimizer
    comparable: bool = eqx.field(static=True, default=True)

    @property
    def record_every(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.optimizer.record_every

    @property
    def stall_steps(self) -> int:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.optimizer.stall_steps

    @property
    def stuck_is_final(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.optimizer.stuck_is_final

    def memory(self, num_rows: int, num_parameters: int, itemsize: int) -> int:
        return self.optimizer.memory(num_rows, num_parameters, itemsize) + 2 * itemsize * num_parameters

    def within(self, limit_bytes: float, num_rows: int, num_parameters: int, itemsize: int) -> "BestSoFar":
        left = limit_bytes - 2 * itemsize * num_parameters
        return BestSoFar(self.optimizer.within(left, num_rows, num_parameters, itemsize), self.comparable)

    def init(self, model: PyTree) -> BestSoFarState:
        parameters = eqx.filter(model, eqx.is_inexact_array)
        return BestSoFarState(self.optimizer.init(model), parameters, jnp.asarray(jnp.inf, float))

    def step(
        self, objective: LeastSquares, model: PyTree, state: BestSoFarState
    ) -> tuple[PyTree, BestSoFarState, StepInfo]:
        moved, inner, info = self.optimizer.step(objective, model, state.inner)
        state = self.judged(model, state, info.loss)
        return moved, BestSoFarState(inner, state.best_parameters, state.best_loss), info

    def judged(self, model: PyTree, state: BestSoFarState, loss: Float[Array, ""]) -> BestSoFarState:
        """The state after `model` was found to have this loss."""
        loss = loss.astype(float)
        better = jnp.isfinite(loss)
        if self.comparable:
            better &= loss <= state.best_loss
        candidate = eqx.filter(model, eqx.is_inexact_array), loss
        kept: Any = jax.tree.map(
            lambda new, old: jnp.where(better, new, old), candidate, (state.best_parameters, state.best_loss)
        )
        return BestSoFarState(state.inner, *kept)

    def best(self, model: PyTree, state: BestSoFarState) -> PyTree:
        """The best model; `model` gives all that is not a parameter."""
        return eqx.combine(state.best_parameters, model)
