"""What every optimizer is: a pure step on a least-squares objective. It never sees an equation."""

import abc
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import equinox as eqx
from jax.flatten_util import ravel_pytree
from jaxtyping import Array, Bool, Float, Num, PyTree


@runtime_checkable
class LeastSquares(Protocol):
    """A sum of weighted squares over the parameters of a pytree.

    `row_weights` may depend on the parameters (causal weights); within one step they are frozen. The value that
    `loss_and_gradient` returns has the loss in its attribute `total`.
    """

    def loss_and_gradient(self, model: PyTree, /) -> tuple[Any, PyTree]: ...

    def row_weights(self, model: PyTree, /) -> list[Array]: ...

    def weighted_loss(self, model: PyTree, row_weights: list[Array], /) -> Float[Array, ""]: ...

    def residuals(self, model: PyTree, row_weights: list[Array], /) -> Float[Array, " rows"]: ...

    def linearize(
        self, model: PyTree, row_weights: list[Array], /
    ) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]: ...


class StepInfo(eqx.Module):
    """What a step reports: the loss before it, whether it moved, and numbers worth plotting."""

    loss: Float[Array, ""]
    moved: Bool[Array, ""]
    extras: dict[str, Num[Array, ""]]


class Optimizer(eqx.Module):
    """A method that improves parameters step by step; its state is a pytree of arrays."""

    @abc.abstractmethod
    def init(self, model: PyTree) -> PyTree:
        """The state before the first step."""

    @abc.abstractmethod
    def step(self, objective: LeastSquares, model: PyTree, state: PyTree) -> tuple[PyTree, PyTree, StepInfo]:
        """One step: new model, new state, report. Pure, so it can be compiled and resumed."""


def flatten_parameters(model: PyTree) -> tuple[Float[Array, " parameters"], Callable[[Array], PyTree]]:
    """The parameters as one vector, and the model that a vector of any precision stands for."""
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(parameters)
    return flat, lambda vector: eqx.combine(unravel(vector.astype(flat.dtype)), static)


def check_positive(owner: eqx.Module, *names: str) -> None:
    """Raise for a setting that is not a positive number."""
    for name in names:
        value = getattr(owner, name)
        if not value > 0:
            raise ValueError(f"{type(owner).__name__}({name}={value}): {name} must be positive.")


def check_fraction(owner: eqx.Module, *names: str) -> None:
    """Raise for a setting that is not in [0, 1)."""
    for name in names:
        value = getattr(owner, name)
        if not 0 <= value < 1:
            raise ValueError(f"{type(owner).__name__}({name}={value}): {name} must be at least 0 and less than 1.")
