"""Partial derivatives of a function of a vector: one forward-mode derivative inside another for each order."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array

from .fields import MultiIndex

VectorFunction = Callable[[Array], Array]


def partial_derivative(function: VectorFunction, index: MultiIndex) -> VectorFunction:
    """The derivative of order index[i] in the i-th coordinate; its cost grows exponentially with the order."""
    for axis, order in enumerate(index):
        for _ in range(order):
            function = _along(function, axis)
    return function


def _along(function: VectorFunction, axis: int) -> VectorFunction:
    return lambda z: jax.jvp(function, (z,), (jnp.zeros_like(z).at[axis].set(1.0),))[1]
