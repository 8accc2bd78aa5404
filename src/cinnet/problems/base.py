"""An evolution equation as a user writes it down: domain, residual, initial value, boundary conditions."""

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer
from jaxtyping import Array, Float

from ..conditions import BoundaryCondition
from ..domains import Axis, Box, TimeInterval
from ..fields import MultiIndex, required_derivatives


@dataclass(frozen=True)
class Invariant:
    """A spatial integral worth watching: `density(u, t, x, ...)` integrated over the box.

    `conserved` says it stays constant; otherwise it may only fall (a free energy).
    """

    density: Callable[..., Any]
    conserved: bool = True


class EvolutionProblem(eqx.Module):
    """u_t + N[u] = 0 on [t0, T] x box with u(t0) = g and B[u] = h (Eq. pde).

    A subclass states `time`, `space`, `residual` and `initial`; annotated attributes become parameters of
    the constructor. Components and coordinates arrive as separate arguments and the functions see one point
    at a time: `residual(self, u, t, x)` in one dimension, `residual(self, u, v, t, x, y)` for a system of two
    components in two dimensions, which then returns a tuple.
    """

    time: ClassVar[tuple[float, float] | TimeInterval] = (0.0, 1.0)
    space: ClassVar[Box | Axis | None] = None
    components: ClassVar[tuple[str, ...]] = ("u",)
    boundary: ClassVar[tuple[BoundaryCondition, ...]] = ()
    equation: ClassVar[str] = ""

    @abc.abstractmethod
    def residual(self, *arguments: Any) -> Any:
        """u_t + N[u] at one point; zero for a solution (Eq. residual)."""

    @abc.abstractmethod
    def initial(self, *coordinates: Any) -> Any:
        """g at one point; a tuple for a system."""

    def exact(self, *point: Any) -> Any:
        """u at one point, `exact(self, t, x)`, where the solution is known in closed form; a tuple for a system.

        A problem that has it is compared with it instead of with a spectral reference.
        """
        raise NotImplementedError(f"{self.name} states no exact solution.")

    @property
    def has_exact_solution(self) -> bool:
        return type(self).exact is not EvolutionProblem.exact

    def exact_at(self, t: Float[Array, ""], x: Float[Array, " dim"]) -> Float[Array, " components"]:
        """The exact solution as an array of its components."""
        return _stacked(self.exact(t, *(x[axis] for axis in range(self.box.dimension))))

    def invariants(self) -> Mapping[str, Invariant]:
        """Integrals by name that the solution conserves or dissipates."""
        return {}

    @property
    def interval(self) -> TimeInterval:
        return self.time if isinstance(self.time, TimeInterval) else TimeInterval(*self.time)

    @property
    def box(self) -> Box:
        return Box.of(self.space)

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def derivatives(self) -> frozenset[MultiIndex]:
        """The derivatives the residual reads, as multi-indices (t, x, y, ...)."""
        return required_derivatives(self.residual, self.box.dimension, len(self.components))[0]

    @property
    def spatial_order(self) -> int:
        """The highest spatial order the residual reads."""
        return max(sum(index[1:]) for index in self.derivatives)

    def initial_values(
        self, points: Float[np.ndarray, "points dim"] | Float[Array, "points dim"]
    ) -> Float[Array, "points components"]:
        """g at many points."""

        def at_point(x: Array) -> Array:
            return _stacked(self.initial(*(x[axis] for axis in range(self.box.dimension))))

        return jax.vmap(at_point)(jnp.asarray(points))

    def __check_init__(self):
        where = f"problem {self.name}"
        box = self.box
        if not self.components or len(set(self.components)) != len(self.components):
            raise ValueError(f"{where}: components={self.components!r} must be distinct names, at least one.")
        self._check_residual(where, box)
        self._check_initial(where, box)
        for condition in self.boundary:
            condition.check(box)
            required_derivatives(condition.mismatch, box.dimension, len(self.components))
        for invariant in self.invariants().values():
            required_derivatives(invariant.density, box.dimension, len(self.components))

    def _check_residual(self, where: str, box: Box) -> None:
        _ = self.interval
        asked, equations = required_derivatives(self.residual, box.dimension, len(self.components))
        if equations != len(self.components):
            raise ValueError(
                f"{where}: residual returns {equations} equation(s) for {len(self.components)} component(s) "
                f"{self.components}; return one for each, as a tuple."
            )
        if not any(index[0] for index in asked):
            raise ValueError(f"{where}: residual never reads u.t, so this is not an evolution equation.")

    def _check_initial(self, where: str, box: Box) -> None:
        points = box.uniform_grid((_CHECK_POINTS_PER_AXIS,) * box.dimension)
        values = self.initial_values(jnp.asarray(points))
        if values.shape[1:] != (len(self.components),):
            raise ValueError(
                f"{where}: initial returns values of shape {values.shape[1:]} at a point, "
                f"expected one number for each of the components {self.components}."
            )
        if isinstance(values, Tracer):
            return
        finite = np.isfinite(values).all(axis=-1)
        if not finite.all():
            bad = np.flatnonzero(~finite)[0]
            raise ValueError(
                f"{where}: the initial value is {np.asarray(values[bad]).tolist()} at {box.names} = "
                f"{points[bad].tolist()}; it must be finite everywhere in the domain."
            )

        if self.has_exact_solution:
            exact = jax.vmap(self.exact_at, in_axes=(None, 0))(jnp.asarray(self.interval.start), jnp.asarray(points))
            gap = np.abs(np.asarray(exact) - np.asarray(values)).max(axis=-1)
            if not gap.max() <= _EXACT_TOLERANCE * max(1.0, float(np.abs(values).max())):
                raise ValueError(
                    f"{where}: exact and initial differ by {gap.max():.1e} at t = {self.interval.start} and "
                    f"{box.names} = {points[gap.argmax()].tolist()}."
                )


def _stacked(values: Any) -> Array:
    values = values if isinstance(values, tuple | list) else (values,)
    return jnp.stack([jnp.asarray(v) for v in values])


_CHECK_POINTS_PER_AXIS = 17
_EXACT_TOLERANCE = 1e-4  # single precision, where the difference may be one of large terms
