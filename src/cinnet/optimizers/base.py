"""What every optimizer is: a pure step on a least-squares objective. It never sees an equation."""

import abc
from collections.abc import Callable
from typing import Any, ClassVar, Protocol, runtime_checkable

import equinox as eqx
import jax
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
    """A method that improves parameters step by step; its state is a pytree of arrays.

    A new method defines `init` and `step`. How it is trained with is said by the rest, whose defaults suit methods with
    many cheap steps.
    """

    record_every: ClassVar[int] = 100
    """Steps between two records of a run."""
    stall_steps: ClassVar[int] = 20_000
    """A run has stalled when so many steps hardly lowered the loss."""
    stuck_is_final: ClassVar[bool] = False
    """Whether a step that did not move will not move the next time either, so that the run has stalled."""

    @abc.abstractmethod
    def init(self, model: PyTree) -> PyTree:
        """The state before the first step."""

    @abc.abstractmethod
    def step(self, objective: LeastSquares, model: PyTree, state: PyTree) -> tuple[PyTree, PyTree, StepInfo]:
        """One step: new model, new state, report. Pure, so it can be compiled and resumed."""

    def memory(self, num_rows: int, num_parameters: int, itemsize: int) -> int:
        """Bytes that a step holds beside the objective's own: here the state before and after it, and a gradient.

        For `num_rows` residuals and `num_parameters` parameters of `itemsize` bytes.
        """
        parameters = jax.ShapeDtypeStruct((num_parameters,), f"float{8 * itemsize}")
        state = jax.eval_shape(self.init, parameters)
        return 2 * sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(state)) + itemsize * num_parameters

    def within(self, limit_bytes: float, num_rows: int, num_parameters: int, itemsize: int) -> "Optimizer":
        """The form of this method for a memory of so many bytes: itself, unless there is one that needs less."""
        del limit_bytes, num_rows, num_parameters, itemsize
        return self


class SecondOrder(Optimizer):
    """A method with few, costly steps that are only taken when they lower the loss."""

    record_every: ClassVar[int] = 5
    stall_steps: ClassVar[int] = 40
    stuck_is_final: ClassVar[bool] = True


def flatten_parameters(model: PyTree) -> tuple[Float[Array, " parameters"], Callable[[Array], PyTree]]:
    """The parameters as one vector, and the model that a vector of any precision stands for."""
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    flat, unravel = ravel_pytree(parameters)
    return flat, lambda vector: eqx.combine(unravel(vector.astype(flat.dtype)), static)


def check_positive(owner: Any, *names: str) -> None:
    """Raise for a setting that is not a positive number."""
    for name in names:
        value = getattr(owner, name)
        if not value > 0:
            raise ValueError(f"{type(owner).__name__}({name}={value}): {name} must be positive.")


def check_fraction(owner: Any, *names: str) -> None:
    """Raise for a setting that is not in [0, 1)."""
    for name in names:
        value = getattr(owner, name)
        if not 0 <= value < 1:
            raise ValueError(f"{type(owner).__name__}({name}={value}): {name} must be at least 0 and less than 1.")
