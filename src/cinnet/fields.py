"""What a residual sees as `u`: a value that offers its derivatives, and finds out which are needed.

Derivatives are named by a multi-index (order in t, order in x, order in y, ...). A `Field` is lazy: only the
derivatives that are read are ever computed, and sums, products and integer powers of fields can be
differentiated too, so a flux may be written as `(u**3 - u).xx`.
"""

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .domains import AXIS_NAMES

MultiIndex = tuple[int, ...]


def below(index: MultiIndex) -> Iterable[MultiIndex]:
    """All multi-indices that are componentwise at most `index`, itself included, in lexicographic order."""
    return itertools.product(*(range(order + 1) for order in index))


def subtract(index: MultiIndex, other: MultiIndex) -> MultiIndex:
    return tuple(i - j for i, j in zip(index, other, strict=True))


def factorial(index: MultiIndex) -> int:
    return math.prod(math.factorial(order) for order in index)


def derivative_name(index: MultiIndex) -> str:
    """`(1, 0, 2)` -> `u.tyy`, for messages."""
    letters = "".join(name * order for name, order in zip(("t", *AXIS_NAMES), index, strict=False))
    return f"u.{letters}" if letters else "u"


def parse_derivative(name: str, dimension: int) -> MultiIndex | None:
    """The multi-index of an attribute such as `txx`; None if the name is not made of t, x, y, z."""
    if not name or set(name) - {"t", *AXIS_NAMES}:
        return None
    axes = AXIS_NAMES[:dimension]
    for letter in name:
        if letter != "t" and letter not in axes:
            raise ValueError(
                f"u.{name}: there is no axis {letter!r} in a domain with axes {list(axes)}; "
                "use only existing axes, or add the axis to the problem's `space`."
            )
    if name.count("t") > 1:
        raise ValueError(
            f"u.{name}: second time derivatives are not offered; write the equation as a first-order system "
            "with components ('u', 'v') and v = u.t."
        )
    return (name.count("t"), *(name.count(axis) for axis in axes))


def _is_constant(value: Any) -> bool:
    return isinstance(value, int | float | complex | np.number)


def _constant(value: Any) -> int | float | complex:
    """As a Python number, which takes the precision of whatever it meets."""
    return value.item() if isinstance(value, np.number) else value


class Field:
    """A function of (t, x) known by its derivatives at one point.

    Arithmetic with fields and numbers gives fields again; arithmetic with anything else (coordinates,
    coefficients that vary) and functions such as `jnp.sin` give plain arrays, which have no derivatives. A field
    with complex values has its parts as `u.real` and `u.imag`, fields again, and `u.conjugate()`.
    """

    __array_priority__ = 1000  # so that `numpy_scalar * field` reaches Field.__rmul__

    def __init__(self, dimension: int, derivative: Callable[[MultiIndex], Array | complex]):
        self._dimension = dimension
        self._derivative = derivative

    def derivative(self, *, t: int = 0, **orders: int) -> Array | complex:
        """A derivative by its orders: `u.derivative(t=1, x=2)` is u_txx."""
        name = "t" * t + "".join(axis * order for axis, order in orders.items())
        index = parse_derivative(name, self._dimension) if name else self._zero
        if index is None or min(t, *orders.values(), 0) < 0:
            raise ValueError(
                f"derivative({dict(t=t, **orders)}): give orders of 0 or more along t and the axes "
                f"{list(AXIS_NAMES[: self._dimension])}."
            )
        return self._derivative(index)

    @property
    def _zero(self) -> MultiIndex:
        return (0,) * (1 + self._dimension)

    @property
    def value(self) -> Array | complex:
        return self._derivative(self._zero)

    @property
    def real(self) -> "Field":
        return Field(self._dimension, lambda index: jnp.real(self._derivative(index)))

    @property
    def imag(self) -> "Field":
        return Field(self._dimension, lambda index: jnp.imag(self._derivative(index)))

    def conjugate(self) -> "Field":
        return Field(self._dimension, lambda index: jnp.conj(self._derivative(index)))

    @property
    def gradient(self) -> tuple[Array, ...]:
        return tuple(getattr(self, name) for name in AXIS_NAMES[: self._dimension])

    @property
    def laplacian(self) -> Array:
        return _total([getattr(self, name * 2) for name in AXIS_NAMES[: self._dimension]], "laplacian")

    @property
    def bilaplacian(self) -> Array:
        axes = AXIS_NAMES[: self._dimension]
        return _total([getattr(self, a * 2 + b * 2) for a in axes for b in axes], "bilaplacian")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        index = parse_derivative(name, self._dimension)
        if index is None:
            raise AttributeError(
                f"a field has no attribute {name!r}; derivatives are named by letters of "
                f"{['t', *AXIS_NAMES[: self._dimension]]}, for example u.t or u.xx."
            )
        return self._derivative(index)

    def __jax_array__(self) -> Array:
        return jnp.asarray(self.value)

    def _combine(self, other: Any, on_fields: Callable, on_arrays: Callable):
        if _is_constant(other):
            constant = _constant(other)
            return self._combine(
                Field(self._dimension, lambda index: 0.0 if any(index) else constant),
                on_fields,
                on_arrays,
            )
        if isinstance(other, Field):
            return Field(self._dimension, lambda index: on_fields(self._derivative, other._derivative, index))
        return on_arrays(self.value, other)

    def __neg__(self):
        return self * -1

    def __pos__(self):
        return self

    def __add__(self, other):
        return self._combine(other, lambda a, b, i: a(i) + b(i), lambda a, b: a + b)

    def __sub__(self, other):
        return self._combine(other, lambda a, b, i: a(i) - b(i), lambda a, b: a - b)

    def __mul__(self, other):
        if _is_constant(other):
            constant = _constant(other)
            return Field(self._dimension, lambda index: self._derivative(index) * constant)
        return self._combine(other, _leibniz, lambda a, b: a * b)

    def __pow__(self, exponent):
        if isinstance(exponent, int) and exponent >= 1:
            return self if exponent == 1 else self * self ** (exponent - 1)
        return self.value**exponent

    def __truediv__(self, other):
        return self * (1 / other) if _is_constant(other) else self.value / other

    def __rsub__(self, other):
        return -self + other

    def __rtruediv__(self, other):
        return other / self.value

    def __rpow__(self, other):
        return other**self.value

    __radd__ = __add__
    __rmul__ = __mul__

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


def _total(terms: list[Array], name: str) -> Array:
    if not terms:
        raise ValueError(f"u.{name}: the domain has no spatial axis.")
    return sum(terms[1:], start=terms[0])


def _leibniz(a: Callable, b: Callable, index: MultiIndex) -> Array:
    terms = [
        math.prod(math.comb(n, k) for n, k in zip(index, lower, strict=True)) * (a(lower) * b(subtract(index, lower)))
        for lower in below(index)
    ]
    return sum(terms[1:], start=terms[0])


Operator = Callable[..., Any]


def real_form(operator: Operator, is_complex: tuple[bool, ...]) -> Operator:
    """An operator on fields, of which some are complex, as one on their real and imaginary parts.

    Its complex results become two real ones each.
    """
    return _RealForm(operator, is_complex) if any(is_complex) else operator


class _RealForm(eqx.Module):
    operator: Operator
    is_complex: tuple[bool, ...] = eqx.field(static=True)

    def __call__(self, *arguments: Any) -> tuple:
        left, fields = list(arguments), []
        for two_parts in self.is_complex:
            first = left.pop(0)
            fields.append(_complex_field(first, left.pop(0)) if two_parts else first)
        return tuple(split_complex(self.operator(*fields, *left)))


def _complex_field(real: Field, imag: Field) -> Field:
    def derivative(index: MultiIndex) -> Array:
        return jax.lax.complex(jnp.asarray(real._derivative(index)), jnp.asarray(imag._derivative(index)))

    return Field(real._dimension, derivative)


def split_complex(results: Any, is_complex: tuple[bool, ...] = ()) -> list[Array]:
    """One or several results as real numbers: two for a complex one, and for one that stands for a complex one."""
    results = results if isinstance(results, tuple | list) else (results,)
    arrays = [jnp.asarray(result.value if isinstance(result, Field) else result) for result in results]
    named = itertools.chain(is_complex, itertools.repeat(False))
    pairs = [
        (jnp.real(a), jnp.imag(a)) if two or jnp.issubdtype(a.dtype, jnp.complexfloating) else (a,)
        for a, two in zip(arrays, named, strict=False)
    ]
    return [part for pair in pairs for part in pair]


def _call(operator: Operator, derivative_of: Callable[[int], Callable], components: int, t: Array, x: Array) -> Array:
    """Apply an operator at one point and give its one or several results as a vector."""
    dimension = x.shape[0]
    fields = [Field(dimension, derivative_of(c)) for c in range(components)]
    results = operator(*fields, t, *(x[axis] for axis in range(dimension)))
    results = results if isinstance(results, tuple | list) else (results,)
    return jnp.stack([_as_scalar(r) for r in results])


def _as_scalar(result: Any) -> Array:
    array = jnp.asarray(result.value if isinstance(result, Field) else result)
    if jnp.issubdtype(array.dtype, jnp.complexfloating):
        raise ValueError(
            "an equation returned a complex number; name its unknown as Complex('psi') in `components`, or return real "
            "and imaginary part."
        )
    if array.shape != ():
        raise ValueError(
            f"an equation returned an array of shape {array.shape}, but it is evaluated one point at a time "
            "and must return one number for each equation (a tuple of numbers for a system)."
        )
    return array


def required_derivatives(operator: Operator, dimension: int, components: int = 1) -> tuple[frozenset[MultiIndex], int]:
    """The derivatives an operator reads, and how many equations it returns, by one abstract trace."""
    asked: set[MultiIndex] = set()

    def record(index: MultiIndex) -> Array:
        asked.add(index)
        return jnp.zeros(())

    def trace(t: Array, x: Array) -> Array:
        return _call(operator, lambda _: record, components, t, x)

    point = np.zeros(()), np.zeros(dimension)
    equations = jax.eval_shape(trace, *point).shape[0]
    return frozenset(asked), equations


def apply_operator(
    operator: Operator,
    derivatives: Mapping[MultiIndex, Float[Array, "times points components"]],
    times: Float[Array, " times"] | Float[Array, "times points"],
    points: Float[Array, "points dim"],
) -> Float[Array, "times points equations"]:
    """Evaluate `operator(u, ..., t, x, ...)` at every time and point; the operator itself sees scalars."""
    components = next(iter(derivatives.values())).shape[-1]

    def at_point(at: Mapping[MultiIndex, Array], t: Array, x: Array) -> Array:
        return _call(operator, lambda c: lambda index: at[index][c], components, t, x)

    over_points = jax.vmap(at_point, in_axes=(0, 0 if times.ndim == 2 else None, 0))
    over_times = jax.vmap(over_points, in_axes=(0, 0, None))
    return over_times(dict(derivatives), times, points)
