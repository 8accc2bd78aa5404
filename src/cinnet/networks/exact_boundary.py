"""A network that has given boundary values exactly: a function with these values plus one that vanishes there."""

import math
from collections.abc import Callable
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..conditions import BoundaryCondition, ValueAndSlope
from ..dataflow import depends_on
from ..domains import Axis, Box
from ..fields import MultiIndex, below, split_complex, subtract
from ..jets import JetSpace
from ..nested import partial_derivative
from .base import Network
from .wrapper import Wrapper


class BoundaryPlan(eqx.Module):
    """The plan of the inner network, and the times."""

    queries: Any
    times: Float[Array, "queries #columns"]

    @property
    def num_rows(self) -> int:
        return self.queries.num_rows


class ExactBoundary(Wrapper):
    """G(t, x) + D(x) N(t, x), where G has the boundary values and D is zero on these faces and nowhere else.

    Along each axis G is linear between the two faces, or constant from one; D is a product of distances to the faces.
    `is_complex` says for every component whether it has two outputs, its parts; none has if it is empty.
    """

    inner: Network
    faces: tuple[BoundaryCondition, ...] = eqx.field(static=True)
    is_complex: tuple[bool, ...] = eqx.field(static=True)

    def __init__(self, inner: Network, faces: tuple[BoundaryCondition, ...], is_complex: tuple[bool, ...] = ()):
        self.inner, self.faces = inner, faces
        self.is_complex = is_complex or (False,) * inner.widths[-1]

    @property
    def varies_in_time(self) -> bool:
        """Whether the boundary values depend on t, however late."""
        return depends_on(self.lift, 0, jnp.zeros((), self.dtype), jnp.zeros(self._box.dimension, self.dtype))

    @property
    def _box(self) -> Box:
        return self.inner.box

    def lift(self, t: Float[Array, ""], x: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        """G: axis after axis, what is still missing at its faces is carried into the box."""

        def missing_nothing(x: Array) -> Array:
            return jnp.zeros(self.widths[-1], self.dtype)

        found = missing_nothing
        for number, (name, axis) in enumerate(zip(self._box.names, self._box.axes, strict=True)):
            sides = {face.side: face for face in self.faces if face.axis == name}
            if sides:
                found = self._with_axis(found, number, axis, sides, t)
        return found(x)

    def _with_axis(
        self,
        before: Callable[[Array], Array],
        number: int,
        axis: Axis,
        sides: dict[str, BoundaryCondition],
        t: Array,
    ) -> Callable[[Array], Array]:
        def missing(side: str, x: Array) -> Array:
            on_face = x.at[number].set(axis.lower if side == "lower" else axis.upper)
            return self._value(sides[side], t, on_face) - before(on_face)

        def after(x: Array) -> Array:
            if len(sides) == 1:
                return before(x) + missing(next(iter(sides)), x)
            part = (x[number] - axis.lower) / axis.length
            return before(x) + (1 - part) * missing("lower", x) + part * missing("upper", x)

        return after

    def _value(self, face: BoundaryCondition, t: Array, x: Array) -> Float[Array, " outputs"]:
        value = face.value(t, *(x[i] for i in range(x.shape[0]))) if callable(face.value) else face.value
        values = value if isinstance(value, tuple | list) else (value,) * len(self.is_complex)
        return jnp.stack([part.astype(self.dtype) for part in split_complex(values, self.is_complex)])

    def _distance(self, points: Float[Array, "columns dim"], orders: MultiIndex) -> Float[Array, " columns"]:
        """A derivative of D."""
        result = jnp.ones(points.shape[0], self.dtype)
        for number, (name, axis) in enumerate(zip(self._box.names, self._box.axes, strict=True)):
            sides = frozenset(face.side for face in self.faces if face.axis == name)
            polynomial = np.polynomial.Polynomial(_DISTANCES[sides])
            slope = (polynomial.deriv(orders[number]) if orders[number] else polynomial).coef
            part = (points[:, number] - axis.lower) / axis.length
            result = result * jnp.polyval(jnp.asarray(slope[::-1], self.dtype), part) / axis.length ** orders[number]
        return result

    def __call__(self, t, x=()):
        point = jnp.atleast_1d(jnp.asarray(x, self.dtype))
        nothing = (0,) * self._box.dimension
        time = jnp.asarray(t, self.dtype)
        return self.lift(time, point) + self._distance(point[None], nothing)[0] * self.inner(t, x)

    def plan(self, times):
        clock = jnp.asarray(times, self.dtype)
        return BoundaryPlan(self.inner.plan(times), clock.reshape(clock.shape[0], -1))

    def jets(self, plan, points, space):
        points = points.astype(self.dtype)
        needed = {(index[0], *lower) for index in space.wanted for lower in below(index[1:])}
        inner = self.inner.jets(plan.queries, points, JetSpace.of(needed))
        results = {}
        for index in space.wanted:
            product = sum(
                math.prod(math.comb(n, k) for n, k in zip(index[1:], lower, strict=True))
                * self._distance(points, lower)[:, None]
                * inner[(index[0], *subtract(index[1:], lower))]
                for lower in below(index[1:])
            )
            results[index] = product + self._lift_derivative(plan.times, points, index)
        return results

    def _lift_derivative(
        self, times: Array, points: Array, index: MultiIndex
    ) -> Float[Array, "queries columns outputs"]:
        derivative = partial_derivative(lambda z: self.lift(z[0], z[1:]), index)
        shared = jnp.broadcast_to(times, (times.shape[0], points.shape[0]))
        everywhere = jnp.broadcast_to(points, (times.shape[0], *points.shape))
        return jax.vmap(jax.vmap(derivative))(jnp.concatenate([shared[..., None], everywhere], axis=-1))


_DISTANCES = {
    frozenset(): (1.0,),
    frozenset(("lower",)): (0.0, 1.0),
    frozenset(("upper",)): (1.0, -1.0),
    frozenset(("lower", "upper")): (0.0, 4.0, -4.0),
}


def exact_faces(faces: tuple[BoundaryCondition, ...]) -> tuple[BoundaryCondition, ...]:
    """Those that give the values of all components."""
    return tuple(
        face
        for face in faces
        if isinstance(face.operator, ValueAndSlope)
        and face.operator.slope_factor == 0
        and face.operator.value_factor == 1
        and face.operator.of is None
    )


def insulated_axes(box: Box, faces: tuple[BoundaryCondition, ...]) -> tuple[bool, ...]:
    """For every axis whether both its ends are insulated: du/dn = 0 for all components."""
    ends = {
        (face.axis, face.side)
        for face in faces
        if isinstance(face.operator, ValueAndSlope)
        and face.operator.value_factor == 0
        and face.operator.of is None
        and not callable(face.value)
        and face.value == 0
    }
    return tuple({(name, "lower"), (name, "upper")} <= ends for name in box.names)
