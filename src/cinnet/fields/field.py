"""What a residual sees as `u`: a value that offers its derivatives, which are fields again.

A `Field` that was given is lazy: only the derivatives that are read are ever computed. Sums, products and integer
powers of fields can be differentiated too, so a flux may be written as `(u**3 - u).xx` or `(u * u.x).x`.
"""

import math
import operator
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from ..domains import AXIS_NAMES
from .indices import MultiIndex, below, derivative_name, parse_derivative, subtract


def _is_constant(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.number)


def _constant(value: Any) -> int | float | complex:
    """As a Python number, which takes the precision of whatever it meets."""
    return value.item() if isinstance(value, np.number) else value


class Field:
    """A function of (t, x) known by its derivatives at one point.

    Arithmetic with fields and numbers gives fields again, and so do derivatives and `u.map(function)`. Arithmetic with
    anything else (coordinates, coefficients that vary) and functions such as `jnp.sin` give plain arrays, which have
    no derivatives. A field with complex values has its parts as `u.real` and `u.imag`, fields again, and
    `u.conjugate()`.

    With a `value`, the field was computed from derivatives that were read; arithmetic then works on values at once.
    """

    __array_priority__ = 1000  # so that `numpy_scalar * field` reaches Field.__rmul__

    def __init__(
        self, dimension: int, derivative: Callable[[MultiIndex], Array | complex], value: Array | complex | None = None
    ):
        self._dimension = dimension
        self._read = derivative
        self._value = value

    def _derivative(self, index: MultiIndex) -> Array | complex:
        return self._read(index) if self._value is None or any(index) else self._value

    def _shifted(self, index: MultiIndex) -> "Field":
        """A derivative that is not read yet."""

        def derivative(further: MultiIndex) -> Array | complex:
            if index[0] + further[0] > 1:
                parse_derivative("tt", self._dimension)  # which says what to write instead
            return self._derivative(tuple(i + j for i, j in zip(index, further, strict=True)))

        return Field(self._dimension, derivative)

    def _differentiated(self, index: MultiIndex) -> "Field":
        derivative = self._shifted(index)
        return Field(self._dimension, derivative._read, derivative.value)

    def derivative(self, *, t: int = 0, **orders: int) -> "Field":
        """A derivative by its orders: `u.derivative(t=1, x=2)` is u_txx."""
        name = "t" * t + "".join(axis * order for axis, order in orders.items())
        index = parse_derivative(name, self._dimension) if name else self._zero
        if index is None or min(t, *orders.values(), 0) < 0:
            raise ValueError(
                f"derivative({dict(t=t, **orders)}): give orders of 0 or more along t and the axes "
                f"{list(AXIS_NAMES[: self._dimension])}."
            )
        return self._differentiated(index)

    @property
    def _zero(self) -> MultiIndex:
        return (0,) * (1 + self._dimension)

    @property
    def value(self) -> Array | complex:
        return self._derivative(self._zero)

    def map(self, function: Callable[[Array], Array]) -> "Field":
        """A function of the value, which JAX can differentiate, as a field: `u.map(jnp.exp).xx`."""

        def derivative(index: MultiIndex) -> Array | complex:
            if not any(index):
                return function(jnp.asarray(self.value))
            axis = next(number for number, order in enumerate(index) if order)
            first = tuple(int(number == axis) for number in range(len(index)))
            slope = self.map(lambda u: jax.jvp(function, (u,), (jnp.ones_like(u),))[1])
            return (slope * self._shifted(first))._derivative(subtract(index, first))

        return Field(self._dimension, derivative)

    def _each(self, function: Callable[[Any], Any]) -> "Field":
        """A real-linear function of the value, which is one of every derivative too."""
        value = None if self._value is None else function(self._value)
        return Field(self._dimension, lambda index: function(self._derivative(index)), value)

    @property
    def real(self) -> "Field":
        return self._each(jnp.real)

    @property
    def imag(self) -> "Field":
        return self._each(jnp.imag)

    def conjugate(self) -> "Field":
        return self._each(jnp.conj)

    @property
    def gradient(self) -> "tuple[Field, ...]":
        return tuple(getattr(self, name) for name in AXIS_NAMES[: self._dimension])

    @property
    def laplacian(self) -> "Field":
        return _total([getattr(self, name * 2) for name in AXIS_NAMES[: self._dimension]], "laplacian")

    @property
    def bilaplacian(self) -> "Field":
        axes = AXIS_NAMES[: self._dimension]
        return _total([getattr(self, a * 2 + b * 2) for a in axes for b in axes], "bilaplacian")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        index = parse_derivative(name, self._dimension)
        if index is None:
            if hasattr(jax.Array, name):
                return getattr(jnp.asarray(self.value), name)
            raise AttributeError(
                f"a field has no attribute {name!r}; derivatives are named by letters of "
                f"{['t', *AXIS_NAMES[: self._dimension]]}, for example u.t or u.xx."
            )
        return self._differentiated(index)

    def __jax_array__(self) -> Array:
        return jnp.asarray(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.value, dtype)

    def _combine(self, other: Any, on_fields: Callable, on_arrays: Callable) -> Any:
        """Self and another field, number or array; `on_arrays` says it for two values."""
        if not (isinstance(other, Field) or _is_constant(other)):
            return on_arrays(self.value, other)
        value = None
        if self._value is not None or getattr(other, "_value", None) is not None:
            value = on_arrays(self.value, other.value if isinstance(other, Field) else _constant(other))
        if not isinstance(other, Field):
            constant = _constant(other)
            other = Field(self._dimension, lambda index: 0.0 if any(index) else constant)
        return Field(self._dimension, lambda index: on_fields(self._derivative, other._derivative, index), value)

    def __neg__(self):
        return self * -1 if self._value is None else self._each(operator.neg)

    def __pos__(self):
        return self

    def __add__(self, other):
        return self._combine(other, lambda a, b, i: a(i) + b(i), lambda a, b: a + b)

    def __sub__(self, other):
        return self._combine(other, lambda a, b, i: a(i) - b(i), lambda a, b: a - b)

    def __rsub__(self, other):
        if self._value is None:
            return -self + other
        return self._combine(other, lambda a, b, i: b(i) - a(i), lambda a, b: b - a)

    def __mul__(self, other):
        if _is_constant(other):
            return self._each(lambda a: a * _constant(other))
        return self._combine(other, _leibniz, lambda a, b: a * b)

    def __rmul__(self, other):
        if _is_constant(other) and self._value is not None:
            return self._each(lambda a: _constant(other) * a)
        return self * other

    def __pow__(self, exponent):
        if not (isinstance(exponent, int) and exponent >= 1):
            return self.value**exponent
        if self._value is not None:
            power = Field(self._dimension, self._derivative) ** exponent
            return Field(self._dimension, power._derivative, self._value**exponent)
        return self if exponent == 1 else self * self ** (exponent - 1)

    def __truediv__(self, other):
        if not _is_constant(other):
            return self.value / other
        return self * (1 / other) if self._value is None else self._each(lambda a: a / _constant(other))

    def __mod__(self, other):
        return self.value % other

    def __rmod__(self, other):
        return other % self.value

    def __rtruediv__(self, other):
        return other / self.value

    def __rpow__(self, other):
        return other**self.value

    __radd__ = __add__

    def __abs__(self):
        return jnp.abs(self.value)

    def __lt__(self, other):
        return self.value < jnp.asarray(other)

    def __le__(self, other):
        return self.value <= jnp.asarray(other)

    def __gt__(self, other):
        return self.value > jnp.asarray(other)

    def __ge__(self, other):
        return self.value >= jnp.asarray(other)

    def __repr__(self) -> str:
        return f"Field(dimension={self._dimension})"


def _value_alone(dimension: int, children: tuple) -> Field:
    def derivative(index: MultiIndex):
        if any(index):
            raise ValueError(
                f"{derivative_name(index)} was asked for inside a compiled function, where only u is known."
            )
        return children[0]

    return Field(dimension, derivative)


# Functions such as jnp.sin are compiled: they take their arguments apart, and so must find the value inside a field.
jax.tree_util.register_pytree_node(Field, lambda field: ((field.value,), field._dimension), _value_alone)


def _total(terms: list[Field], name: str) -> Field:
    if not terms:
        raise ValueError(f"u.{name}: the domain has no spatial axis.")
    return sum(terms[1:], start=terms[0])


def _leibniz(a: Callable, b: Callable, index: MultiIndex) -> Array:
    terms = [
        math.prod(math.comb(n, k) for n, k in zip(index, lower, strict=True)) * (a(lower) * b(subtract(index, lower)))
        for lower in below(index)
    ]
    return sum(terms[1:], start=terms[0])
