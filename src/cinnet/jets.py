"""Taylor jets: a function's value and derivatives at a point, carried through a network together.

A jet is a dictionary from spatial multi-index to array, holding normalised Taylor coefficients
(derivative / factorial). The arrays stay separate on purpose: every product with a weight matrix is then one
plain GEMM, and the element-wise rules fuse without the copies that stacking them would need.
"""

import abc
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import equinox as eqx
import jax.numpy as jnp
from jaxtyping import Array

from .fields import MultiIndex, below, factorial, subtract

Jet = dict[MultiIndex, Array]


def _graded(indices: Iterable[MultiIndex]) -> tuple[MultiIndex, ...]:
    return tuple(sorted(set(indices), key=lambda index: (sum(index), index)))


@dataclass(frozen=True)
class JetSpace:
    """Which Taylor coefficients a computation carries, found from the derivatives that are wanted.

    `spatial` are the coefficients of the function, `rates` those of its time derivative; both are closed
    downwards because the chain rule needs all lower orders.
    """

    wanted: tuple[MultiIndex, ...]
    spatial: tuple[MultiIndex, ...]
    rates: tuple[MultiIndex, ...]

    @classmethod
    def of(cls, derivatives: Iterable[MultiIndex]) -> "JetSpace":
        wanted = _graded(derivatives)
        if not wanted:
            raise ValueError("derivatives is empty; ask for at least the value, the multi-index of zeros.")
        if any(index[0] > 1 for index in wanted):
            raise ValueError(f"derivatives={wanted}: jets offer the first time derivative only.")
        closure = {lower for index in wanted for lower in below(index[1:])}
        rates = {lower for index in wanted if index[0] for lower in below(index[1:])}
        return cls(wanted, _graded(closure), _graded(rates))

    def derivatives(self, values: Jet, rates: Jet) -> dict[MultiIndex, Array]:
        """The wanted derivatives from Taylor coefficients."""
        return {index: (rates if index[0] else values)[index[1:]] * factorial(index[1:]) for index in self.wanted}


def multiply(a: Mapping[MultiIndex, Array], b: Mapping[MultiIndex, Array], indices: Iterable[MultiIndex]) -> Jet:
    """Coefficients of a product: (ab)_n = sum over k <= n of a_k b_(n-k); absent coefficients are zero."""
    product: Jet = {}
    for index in indices:
        terms = [
            a[lower] * b[subtract(index, lower)] for lower in below(index) if lower in a and subtract(index, lower) in b
        ]
        if terms:
            product[index] = sum(terms[1:], start=terms[0])
    return product


def compose(coefficients: Sequence[Array], jet: Jet, indices: Sequence[MultiIndex]) -> Jet:
    """Coefficients of f(g): the sum over k of c_k (g - g_0)^k, with c_k the Taylor coefficients of f at g_0."""
    zero = indices[0]
    increment = {index: jet[index] for index in indices if index != zero}
    result: Jet = {zero: coefficients[0]}
    power: Jet = increment
    for coefficient in coefficients[1 : 1 + sum(indices[-1])]:
        for index, value in power.items():
            term = coefficient * value
            result[index] = result[index] + term if index in result else term
        power = multiply(power, increment, indices)
    return result


def shift(coefficients: Sequence[Array]) -> list[Array]:
    """Taylor coefficients of f' from those of f."""
    return [k * c for k, c in enumerate(coefficients)][1:]


class Activation(eqx.Module):
    """An element-wise function with a jet rule: its Taylor coefficients at any point, to any order."""

    @abc.abstractmethod
    def taylor(self, x: Array, order: int) -> list[Array]:
        """f(x), f'(x), f''(x) / 2, ... up to `order`."""

    def __call__(self, x: Array) -> Array:
        return self.taylor(x, 0)[0]


class Tanh(Activation):
    """tanh, from f' = 1 - f^2."""

    def taylor(self, x: Array, order: int) -> list[Array]:
        coefficients = [jnp.tanh(x)]
        for n in range(order):
            square = sum((coefficients[k] * coefficients[n - k] for k in range(n + 1)), start=jnp.zeros((), x.dtype))
            coefficients.append(((1.0 if n == 0 else 0.0) - square) / (n + 1))
        return coefficients


class Sin(Activation):
    """sin."""

    def taylor(self, x: Array, order: int) -> list[Array]:
        cycle = itertools.cycle((1.0, 1.0, -1.0, -1.0))
        functions = (jnp.sin(x), jnp.cos(x)) if order else (jnp.sin(x),)
        return [next(cycle) / factorial((n,)) * functions[n % 2] for n in range(order + 1)]


ACTIVATIONS: dict[str, Activation] = {"tanh": Tanh(), "sin": Sin()}


def resolve_activation(activation: str | Activation) -> Activation:
    if isinstance(activation, Activation):
        return activation
    if activation not in ACTIVATIONS:
        raise ValueError(
            f"activation={activation!r} is unknown; use one of {sorted(ACTIVATIONS)} or an object of a subclass of "
            "cinnet.Activation, whose `taylor` gives its jet rule."
        )
    return ACTIVATIONS[activation]
