"""An evolution equation as a user writes it down: domain, residual, initial value, boundary conditions."""

import abc
import dataclasses
from collections.abc import Callable, Mapping, Sequence
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
from ..fields import MultiIndex, Operator, real_form, required_derivatives, split_complex
from ..observations import Observations
from ..unknowns import AnyUnknown, Unknown, UnknownField


@dataclass(frozen=True)
class Invariant:
    """A spatial integral worth watching: `density(u, t, x, ...)` integrated over the box.

    `conserved` says it stays constant; otherwise it may only fall (a free energy).
    """

    density: Callable[..., Any]
    conserved: bool = True


def _as_tuple(observations: Observations | Sequence[Observations]) -> tuple[Observations, ...]:
    return (observations,) if isinstance(observations, Observations) else tuple(observations)


class Complex(str):
    """The name of a component with complex values: `components = (Complex("psi"),)`."""


class Residual(eqx.Module):
    """The residual of a problem as an operator on real fields; what is unknown has the value of its coefficients."""

    problem: "EvolutionProblem"
    coefficients: Mapping[str, Float[Array, " _"]]

    def __call__(self, *arguments: Any) -> Any:
        known = self.problem.with_unknowns(self.coefficients)
        return known.on_real_fields(known.residual)(*arguments)

    def bind(self, coefficients: Mapping[str, Float[Array, " _"]]) -> "Residual":
        """The same with other coefficients."""
        return Residual(self.problem, coefficients)


class EvolutionProblem(eqx.Module):
    """u_t + N[u] = 0 on [t0, T] x box with u(t0) = g and B[u] = h (Eq. pde).

    A subclass states `time`, `space`, `residual` and `initial`; annotated attributes become parameters of
    the constructor. Components and coordinates arrive as separate arguments and the functions see one point
    at a time: `residual(self, u, t, x)` in one dimension, `residual(self, u, v, t, x, y)` for a system of two
    components in two dimensions, which then returns a tuple. A component named by `Complex` arrives as one complex
    field.

    `stability` is the one-sided constant of the evolution operator, (v - w, N[w] - N[v]) <= stability |v - w|^2, for
    the error bound where it is known; on periodic boxes it is computed otherwise.

    Parameters that are to be learned are given as `Unknown` or `UnknownField`, and what was measured of the solution
    as `observations`.
    """

    time: ClassVar[tuple[float, float] | TimeInterval] = (0.0, 1.0)
    space: ClassVar[Box | Axis | None] = None
    components: ClassVar[tuple[str, ...]] = ("u",)
    boundary: ClassVar[tuple[BoundaryCondition, ...]] = ()
    equation: ClassVar[str] = ""
    stability: ClassVar[float | None] = None
    observations: tuple[Observations, ...] = eqx.field(default=(), kw_only=True, converter=_as_tuple, static=True)

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
    def outputs(self) -> tuple[str, ...]:
        """The names of the real functions that make up the solution: a complex component has two parts."""
        parts = [(f"{c}.real", f"{c}.imag") if isinstance(c, Complex) else (c,) for c in self.components]
        return tuple(name for names in parts for name in names)

    def joined(self, values: Float[np.ndarray, "... outputs"]) -> np.ndarray:
        """Values of the outputs as values of the components, without their axis if there is only one."""
        if self.outputs != self.components:
            left = list(np.moveaxis(values, -1, 0))
            parts = [left.pop(0) + 1j * left.pop(0) if isinstance(c, Complex) else left.pop(0) for c in self.components]
            values = np.stack(parts, axis=-1)
        return values[..., 0] if len(self.components) == 1 else values

    def on_real_fields(self, operator: Operator) -> Operator:
        """An operator on the components as one on the `outputs`."""
        return real_form(operator, tuple(isinstance(c, Complex) for c in self.components))

    def required_derivatives(self, operator: Operator) -> tuple[frozenset[MultiIndex], int]:
        """The derivatives that an operator on real fields reads, and how many equations it returns."""
        return required_derivatives(operator, self.box.dimension, len(self.outputs))

    @property
    def residual_operator(self) -> Residual:
        """The residual as an operator on real fields, with the guesses of what is unknown."""
        return Residual(self, self._guesses)

    @property
    def unknowns(self) -> dict[str, AnyUnknown]:
        """The parameters that are to be learned, by name."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Unknown | UnknownField)}

    def with_unknowns(self, coefficients: Mapping[str, Float[Array, " _"]]) -> "EvolutionProblem":
        """The problem with what the coefficients of its unknowns stand for in their place; without observations."""
        unknowns = self.unknowns
        values = [unknown.realise(coefficients[name], self.box) for name, unknown in unknowns.items()]
        known = self._replaced(observations=())
        return known._replaced(**dict(zip(unknowns, values, strict=True))) if unknowns else known

    def with_guesses(self) -> "EvolutionProblem":
        """The problem with the guess in the place of every unknown."""
        return self.with_unknowns(self._guesses)

    @property
    def _guesses(self) -> dict[str, Float[Array, " _"]]:
        return {name: jnp.zeros(one.num_coefficients(self.box)) for name, one in self.unknowns.items()}

    def _replaced(self, **values: Any) -> "EvolutionProblem":
        """A copy with other values of some parameters; unlike the constructor it checks nothing and may be traced."""
        copy = object.__new__(type(self))
        for field in dataclasses.fields(self):
            object.__setattr__(copy, field.name, values.get(field.name, getattr(self, field.name)))
        return copy

    def until(self, end: float) -> "EvolutionProblem":
        """The same problem up to another time."""
        cls = self.stated_class
        interval = TimeInterval(self.interval.start, end)
        about = {"time": interval, "_states": cls, "__module__": cls.__module__, "__doc__": cls.__doc__}
        copy = object.__new__(type(cls.__name__, (cls,), about))
        for field in dataclasses.fields(self):
            object.__setattr__(copy, field.name, getattr(self, field.name))
        return copy

    @property
    def stated_class(self) -> type["EvolutionProblem"]:
        """The class that states the problem, also where `until` made another one of it."""
        return getattr(type(self), "_states", type(self))

    @property
    def is_extended(self) -> bool:
        return type(self) is not self.stated_class

    @property
    def derivatives(self) -> frozenset[MultiIndex]:
        """The derivatives the residual reads, as multi-indices (t, x, y, ...)."""
        return self.required_derivatives(self.residual_operator)[0]

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

    @property
    def boundary_faces(self) -> tuple[BoundaryCondition, ...]:
        """The boundary conditions, one for each face that they speak of."""
        return tuple(face for condition in self.boundary for face in condition.faces())

    def __check_init__(self):
        where = f"problem {self.name}"
        box = self.box
        if not self.components or len(set(self.components)) != len(self.components):
            raise ValueError(f"{where}: components={self.components!r} must be distinct names, at least one.")
        self._check_residual(where)
        self._check_initial(where, box)
        guessed = self.with_guesses()
        for condition in guessed.boundary:
            if not isinstance(condition, BoundaryCondition):
                raise TypeError(
                    f"{where}: boundary holds {condition!r}; use dirichlet, neumann, robin, BoundaryCondition."
                )
            condition.check(box)
        for condition in guessed.boundary_faces:
            self.required_derivatives(self.on_real_fields(condition.mismatch))
        for invariant in guessed.invariants().values():
            self.required_derivatives(self.on_real_fields(invariant.density))
        for observed in self.observations:
            observed.check(self.interval, box)
            self.required_derivatives(self.on_real_fields(observed.operator(self.components)))

    def _check_residual(self, where: str) -> None:
        _ = self.interval
        asked, equations = self.required_derivatives(self.residual_operator)
        if equations != len(self.outputs):
            raise ValueError(
                f"{where}: residual returns {equations} equation(s) for {len(self.outputs)} component(s) "
                f"{self.outputs}; return one for each, as a tuple."
            )
        if not any(index[0] for index in asked):
            raise ValueError(f"{where}: residual never reads u.t, so this is not an evolution equation.")

    def _check_initial(self, where: str, box: Box) -> None:
        points = box.uniform_grid((_CHECK_POINTS_PER_AXIS,) * box.dimension)
        try:
            values = self.initial_values(jnp.asarray(points))
        except TypeError as error:
            if not self.unknowns:
                raise
            raise ValueError(
                f"{where}: initial failed with {error}; it must not depend on the unknowns {sorted(self.unknowns)}."
            ) from None
        if values.shape[1:] != (len(self.outputs),):
            raise ValueError(
                f"{where}: initial returns values of shape {values.shape[1:]} at a point, "
                f"expected one number for each of the components {self.outputs}."
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

        if self.has_exact_solution and not self.unknowns:
            exact = jax.vmap(self.exact_at, in_axes=(None, 0))(jnp.asarray(self.interval.start), jnp.asarray(points))
            gap = np.abs(np.asarray(exact) - np.asarray(values)).max(axis=-1)
            if not gap.max() <= _EXACT_TOLERANCE * max(1.0, float(np.abs(values).max())):
                raise ValueError(
                    f"{where}: exact and initial differ by {gap.max():.1e} at t = {self.interval.start} and "
                    f"{box.names} = {points[gap.argmax()].tolist()}."
                )


def _stacked(values: Any) -> Array:
    return jnp.stack(split_complex(values))


_CHECK_POINTS_PER_AXIS = 17
_EXACT_TOLERANCE = 1e-4  # single precision, where the difference may be one of large terms
