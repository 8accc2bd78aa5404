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
from jaxtyping import Array, Float

from ..conditions import BoundaryCondition
from ..domains import Axis, Box, TimeInterval
from ..fields import MultiIndex, Operator, real_form, required_derivatives, split_complex
from ..observations import Observations
from ..unknowns import AnyUnknown, Unknown, UnknownField
from .checks import check
from .operators import Boundary, Residual


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
    as `observations`. `until` gives the same problem up to another time.
    """

    time: ClassVar[tuple[float, float] | TimeInterval] = (0.0, 1.0)
    space: ClassVar[Box | Axis | None] = None
    components: ClassVar[tuple[str, ...]] = ("u",)
    boundary: ClassVar[tuple[BoundaryCondition, ...]] = ()
    equation: ClassVar[str] = ""
    stability: ClassVar[float | None] = None
    observations: tuple[Observations, ...] = eqx.field(default=(), kw_only=True, converter=_as_tuple, static=True)
    _end: float | None = eqx.field(default=None, init=False, static=True)  # set by `until`

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
        """The exact solution as an array of its outputs."""
        values = self.exact(t, *(x[axis] for axis in range(self.box.dimension)))
        return jnp.stack(split_complex(values, self.is_complex))

    def invariants(self) -> Mapping[str, Invariant]:
        """Integrals by name that the solution conserves or dissipates."""
        return {}

    @property
    def interval(self) -> TimeInterval:
        stated = self._stated_interval
        return stated if self._end is None else TimeInterval(stated.start, self._end)

    @property
    def _stated_interval(self) -> TimeInterval:
        return self.time if isinstance(self.time, TimeInterval) else TimeInterval(*self.time)

    @property
    def box(self) -> Box:
        return Box.of(self.space)

    @property
    def name(self) -> str:
        return type(self).__name__

    @property
    def parameters(self) -> dict[str, Any]:
        """What the author of the problem made parameters of its constructor, by name."""
        own = {field.name for field in dataclasses.fields(EvolutionProblem)}
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self) if f.name not in own}

    @property
    def is_complex(self) -> tuple[bool, ...]:
        """For every component whether it is named by `Complex`."""
        return tuple(isinstance(component, Complex) for component in self.components)

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

    def parted(self, values: np.ndarray) -> Float[np.ndarray, "... outputs"]:
        """Values of the components, as `joined` gives them, as values of the outputs."""
        values = values[..., None] if len(self.components) == 1 else values
        of_component = zip(np.moveaxis(values, -1, 0), self.is_complex, strict=True)
        return np.stack([part for v, two in of_component for part in ((v.real, v.imag) if two else (v.real,))], axis=-1)

    def on_real_fields(self, operator: Operator) -> Operator:
        """An operator on the components as one on the `outputs`."""
        return real_form(operator, self.is_complex)

    def required_derivatives(self, operator: Operator) -> tuple[frozenset[MultiIndex], int]:
        """The derivatives that an operator on real fields reads, and how many equations it returns."""
        return required_derivatives(operator, self.box.dimension, len(self.outputs))

    @property
    def residual_operator(self) -> Residual:
        """The residual as an operator on real fields, with the guesses of what is unknown."""
        return Residual(self, self._guesses)

    @property
    def boundary_operators(self) -> list[tuple[BoundaryCondition, Boundary]]:
        """The condition on every face, and its mismatch as an operator on real fields, with the guesses."""
        faces = self.with_guesses().boundary_faces
        return [(face, Boundary(self, number, self._guesses)) for number, face in enumerate(faces)]

    @property
    def unknowns(self) -> dict[str, AnyUnknown]:
        """The parameters that are to be learned, by name."""
        return {name: one for name, one in self.parameters.items() if isinstance(one, Unknown | UnknownField)}

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
        for name, value in (vars(self) | values).items():
            object.__setattr__(copy, name, value)
        return copy

    def until(self, end: float) -> "EvolutionProblem":
        """The same problem up to another time."""
        interval = TimeInterval(self.interval.start, end)
        for observed in self.observations:
            observed.check(interval, self.box)
        return self._replaced(_end=interval.end)

    @property
    def is_extended(self) -> bool:
        """Whether `until` gave the problem another end than its class states."""
        return self.interval != self._stated_interval

    @property
    def derivatives(self) -> frozenset[MultiIndex]:
        """The derivatives the residual reads, as multi-indices (t, x, y, ...)."""
        return self.required_derivatives(self.residual_operator)[0]

    @property
    def spatial_order(self) -> int:
        """The highest spatial order the residual reads."""
        return max(sum(index[1:]) for index in self.derivatives)

    def initial_at(self, x: Float[Array, " dim"]) -> Float[Array, " outputs"]:
        """g at one point as an array of its outputs."""
        return jnp.stack(self.initial_outputs(x))

    def initial_outputs(self, x: Float[Array, " dim"]) -> list[Float[Array, ""]]:
        """g at one point, its outputs one by one."""
        return split_complex(self.initial(*(x[axis] for axis in range(self.box.dimension))), self.is_complex)

    def initial_values(
        self, points: Float[np.ndarray, "points dim"] | Float[Array, "points dim"]
    ) -> Float[Array, "points outputs"]:
        """g at many points."""
        return jax.vmap(self.initial_at)(jnp.asarray(points))

    @property
    def boundary_faces(self) -> tuple[BoundaryCondition, ...]:
        """The boundary conditions, one for each face that they speak of."""
        return tuple(face for condition in self.boundary for face in condition.faces())

    @property
    def known_faces(self) -> tuple[BoundaryCondition, ...]:
        """Those that depend on no unknown."""
        return tuple(face for face, mismatch in self.boundary_operators if not mismatch.has_unknowns)

    def __check_init__(self):
        check(self)
