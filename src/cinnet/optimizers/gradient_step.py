"""The step that first-order methods share: a direction from an Optax transformation, a length from a schedule."""

import dataclasses

import equinox as eqx
import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Int, PyTree

from .base import LeastSquares, Optimizer, StepInfo


class GradientState(eqx.Module):
    """How many gradients were seen, and what the transformation remembers of them."""

    count: Int[Array, ""]
    memory: PyTree


def initial_state(transformation: optax.GradientTransformation, model: PyTree) -> GradientState:
    return GradientState(jnp.zeros((), jnp.int_), transformation.init(eqx.filter(model, eqx.is_inexact_array)))


def gradient_step(
    transformation: optax.GradientTransformation,
    schedule: optax.Schedule,
    objective: LeastSquares,
    model: PyTree,
    state: GradientState,
) -> tuple[PyTree, GradientState, StepInfo]:
    """Move against the transformed gradient; stay, state included, where the loss or gradient is not finite."""
    value, gradient = objective.loss_and_gradient(model)
    parameters, static = eqx.partition(model, eqx.is_inexact_array)
    with jax.numpy_dtype_promotion("standard"):  # Optax relies on implicit promotion
        rate = jnp.asarray(schedule(state.count))
        directions, memory = transformation.update(gradient, state.memory, parameters)
    moved = jax.tree.map(lambda p, d: p - rate.astype(p.dtype) * d, parameters, directions)

    gradient_norm = _norm(gradient)
    finite = jnp.isfinite(value.total) & jnp.isfinite(gradient_norm)
    parameters, memory = jax.tree.map(
        lambda new, old: jnp.where(finite, new, old), (moved, memory), (parameters, state.memory)
    )
    direction_norm = _norm(directions)
    extras = {"learning_rate": rate, "gradient_norm": gradient_norm, "direction_norm": direction_norm}
    info = StepInfo(value.total, finite & (direction_norm > 0), extras)
    return eqx.combine(parameters, static), GradientState(state.count + 1, memory), info


def refuse_options_of_numbers(owner: Optimizer, *names: str) -> None:
    """Raise for options that shape a learning rate given as a number, where it is a schedule and they would do nothing.

    An option at its default passes, so that what was written down with all its fields can be read back.
    """
    for field in dataclasses.fields(owner):
        value = getattr(owner, field.name)
        if field.name in names and value != field.default:
            raise ValueError(
                f"{type(owner).__name__}({field.name}={value}): learning_rate is a schedule already; give a number as "
                f"learning_rate, or leave {field.name} out."
            )


def _norm(tree: PyTree) -> Array:
    return jnp.sqrt(sum(jnp.sum(leaf.astype(float) ** 2) for leaf in jax.tree.leaves(tree)))
