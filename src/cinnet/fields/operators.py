"""Operators on fields, such as residuals: what they read, and their values at many times and points."""

import itertools
from collections.abc import Callable, Mapping
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..domains import AXIS_NAMES
from .field import Field
from .indices import MultiIndex

Operator = Callable[..., Any]
_OF_FIELDS_ALONE = ("derivative", "gradient", "laplacian", "bilaplacian", "map")


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
    results = _with_advice(operator)(*fields, t, *(x[axis] for axis in range(dimension)))
    results = results if isinstance(results, tuple | list) else (results,)
    return jnp.stack([_as_scalar(r) for r in results])


def _with_advice(operator: Operator) -> Operator:
    """The operator, with a better message where it confuses fields and arrays."""

    def advised(*arguments: Any) -> Any:
        try:
            return operator(*arguments)
        except AttributeError as error:
            letters = set(error.name or "_") <= {"t", *AXIS_NAMES}
            if not ((letters or error.name in _OF_FIELDS_ALONE) and isinstance(error.obj, jax.Array)):
                raise
            raise ValueError(
                f".{error.name} was asked of a plain array, which has no derivatives. Functions such as jnp.exp(u) "
                "and products with coordinates give plain arrays: write u.map(jnp.exp) for a function of u, and carry "
                "out the product rule for coefficients that vary."
            ) from None

        except ValueError as error:
            if "__jax_array__" not in str(error):
                raise
            raise ValueError(
                "a function of jax.lax, or one made by jax.grad or the like, was given a field and needs an array: "
                "give it u.value or u.x.value."
            ) from None

    return advised


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
