"""What every optimizer is: a pure step on a least-squares objective. It never sees an equation."""

import abc
from typing import Any, Protocol

import equinox as eqx
from jaxtyping import Array, Float, PyTree


class LeastSquares(Protocol):
    """A sum of weighted squares over the parameters of a pytree.

    `row_weights` may depend on the parameters (causal weights); within one step they are frozen.
    """

    def loss_and_gradient(self, model: PyTree) -> tuple[Any, PyTree]: ...

    def row_weights(self, model: PyTree) -> list[Array]: ...

    def weighted_loss(self, model: PyTree, row_weights: list[Array]) -> Float[Array, ""]: ...

    def linearize(
        self, model: PyTree, row_weights: list[Array]
    ) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]: ...


class StepInfo(eqx.Module):
    """What a step reports: the loss before it, whether it moved, and numbers worth plotting."""

    loss: Float[Array, ""]
    moved: Array
    extras: dict[str, Float[Array, ""]]


class Optimizer(eqx.Module):
    """A method that improves parameters step by step; its state is a pytree of arrays."""

    @abc.abstractmethod
    def init(self, model: PyTree) -> PyTree:
        """The state before the first step."""

    @abc.abstractmethod
    def step(self, objective: LeastSquares, model: PyTree, state: PyTree) -> tuple[PyTree, PyTree, StepInfo]:
        """One step: new model, new state, report. Pure, so it can be compiled and resumed."""
