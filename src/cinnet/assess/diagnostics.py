"""What figures and reports show of a solution, as arrays: fields, errors, residual, invariants, gates.

A run folder keeps them, so that reports need neither the network nor the code of the problem.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from ..evaluation import predict
from ..fields import MultiIndex
from ..networks import CinNet, Network, Windows
from ..networks.wrapper import innermost
from ..problems.base import EvolutionProblem
from ..reference import KnownSolution
from ..storage.files import StorageError, read_arrays_of, write_arrays
from .metrics import invariants, relative_error_over_time, residual_over_time
from .tensor_grid import TensorGrid

_KIND, _FORMAT_VERSION = "diagnostics", 2
_SHOWN = {0: (201, ()), 1: (101, (257,)), 2: (21, (65, 65)), 3: (11, (33, 33))}
_POINTS = {0: 1, 1: 512, 2: 64, 3: 16}


@dataclass(frozen=True)
class Fields:
    """Every component on a grid of times and coordinates, and the reference there if it is known.

    In three dimensions this is the plane through the middle of the last axis.
    """

    components: tuple[str, ...]
    axes: tuple[str, ...]
    times: Float[np.ndarray, " times"]
    coordinates: tuple[Float[np.ndarray, " _"], ...]
    values: Float[np.ndarray, "times *points components"]
    reference: Float[np.ndarray, "times *points components"] | None = None


@dataclass(frozen=True)
class OverTime:
    """A quantity over time, of the solution and of the reference where there is one."""

    solution: Float[np.ndarray, " times"]
    reference: Float[np.ndarray, " times"] | None
    conserved: bool


@dataclass(frozen=True)
class Diagnostics:
    """Fields, and quantities over the same times: L_res(t), RL2E(t), invariants.

    `gates` has for every layer the values z of all its features, window after window; it is empty for networks
    without gates.
    """

    fields: Fields
    residual: Float[np.ndarray, " times"]
    error: Float[np.ndarray, " times"] | None
    invariants: Mapping[str, OverTime]
    gates: tuple[Float[np.ndarray, "windows _"], ...]

    @property
    def times(self) -> Float[np.ndarray, " times"]:
        return self.fields.times

    def save(self, path: Path) -> None:
        fields = self.fields
        arrays: dict[str, np.ndarray] = {"times": fields.times, "values": fields.values, "residual": self.residual}
        arrays |= {f"coordinate{i}": values for i, values in enumerate(fields.coordinates)}
        arrays |= {f"gate{i}": values for i, values in enumerate(self.gates)}
        for i, one in enumerate(self.invariants.values()):
            arrays[f"invariant{i}"] = one.solution
            if one.reference is not None:
                arrays[f"reference_invariant{i}"] = one.reference
        if fields.reference is not None and self.error is not None:
            arrays |= {"reference": fields.reference, "error": self.error}
        header = {
            "components": fields.components,
            "axes": fields.axes,
            "num_gates": len(self.gates),
            "invariants": {name: one.conserved for name, one in self.invariants.items()},
        }
        write_arrays(path, _KIND, _FORMAT_VERSION, header, arrays)

    @classmethod
    def load(cls, path: Path) -> "Diagnostics":
        """Diagnostics from a file; raises an error that names it if it is missing or damaged."""
        if not path.exists():
            raise StorageError(f"{path} does not exist; `cinnet resume {path.parent}` makes it.")
        header, arrays = read_arrays_of(path, _KIND, _FORMAT_VERSION)
        try:
            return cls._from_arrays(header, arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise StorageError(f"{path} is not what a run writes ({type(error).__name__}: {error}).") from None

    @classmethod
    def _from_arrays(cls, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> "Diagnostics":
        return cls(
            fields=Fields(
                components=tuple(header["components"]),
                axes=tuple(header["axes"]),
                times=arrays["times"],
                coordinates=tuple(arrays[f"coordinate{i}"] for i in range(len(header["axes"]))),
                values=arrays["values"],
                reference=arrays.get("reference"),
            ),
            residual=arrays["residual"],
            error=arrays.get("error"),
            invariants={
                name: OverTime(arrays[f"invariant{i}"], arrays.get(f"reference_invariant{i}"), conserved)
                for i, (name, conserved) in enumerate(header["invariants"].items())
            },
            gates=tuple(arrays[f"gate{i}"] for i in range(header["num_gates"])),
        )


Evaluate = Callable[[np.ndarray, np.ndarray], np.ndarray]


def sample_fields(problem: EvolutionProblem, evaluate: Evaluate, reference: Evaluate | None = None) -> Fields:
    """A solution, given as a function of times and points, on the grid that figures show."""
    box, interval = problem.box, problem.interval
    num_times, counts = _SHOWN[box.dimension]
    times = np.linspace(interval.start, interval.end, num_times)
    shown = list(zip(box.axes, counts, strict=False))
    coordinates = tuple(np.linspace(axis.lower, axis.upper, count) for axis, count in shown)
    middle = [np.array([axis.lower + axis.length / 2]) for axis in box.axes[len(counts) :]]
    grids = np.meshgrid(*coordinates, *middle, indexing="ij")
    points = np.stack([grid.ravel() for grid in grids], axis=-1) if grids else np.zeros((1, 0))
    shape = (num_times, *counts, len(problem.outputs))
    return Fields(
        components=problem.outputs,
        axes=tuple(box.names[: len(counts)]),
        times=times,
        coordinates=coordinates,
        values=np.asarray(evaluate(times, points), np.float32).reshape(shape),
        reference=None if reference is None else np.asarray(reference(times, points), np.float32).reshape(shape),
    )


def diagnose(problem: EvolutionProblem, network: Network, reference: KnownSolution | None) -> Diagnostics:
    """The diagnostics of a network as a solution of a problem."""
    fields = sample_fields(
        problem,
        lambda times, points: next(iter(predict(network, times, points).values())),
        None if reference is None else reference.on_grid,
    )
    dimension = problem.box.dimension
    points = problem.box.uniform_grid((_POINTS[dimension],) * dimension)
    exact = fields.reference
    return Diagnostics(
        fields=fields,
        residual=residual_over_time(problem, network, fields.times, points),
        error=None if exact is None else relative_error_over_time(_flat(fields.values), _flat(exact)),
        invariants=_invariants(problem, network, reference, fields.times),
        gates=_gates(network),
    )


def _flat(values: Float[np.ndarray, "times *points components"]) -> Float[np.ndarray, "times places components"]:
    return values.reshape(len(values), -1, values.shape[-1])


def _invariants(
    problem: EvolutionProblem, network: Network, reference: KnownSolution | None, times: Float[np.ndarray, " times"]
) -> dict[str, OverTime]:
    declared = problem.invariants()
    if not declared:
        return {}
    box = problem.box
    grid = TensorGrid.of(box, (_POINTS[box.dimension],) * box.dimension)

    def integrals(evaluate: Callable[[MultiIndex], np.ndarray]) -> Mapping[str, np.ndarray]:
        return invariants(problem, evaluate, times, grid.points, box.volume * grid.weights)

    ours = integrals(lambda index: predict(network, times, grid.points, frozenset({index}))[index])
    exact = {} if reference is None else integrals(lambda index: reference.on_grid(times, grid.points, index[1:]))
    return {name: OverTime(ours[name], exact.get(name), declared[name].conserved) for name in declared}


def _gates(network: Network) -> tuple[np.ndarray, ...]:
    pieces = network.pieces if isinstance(network, Windows) else (network,)
    layered = [inner for inner in map(innermost, pieces) if isinstance(inner, CinNet)]
    if not layered or layered[0].layers[0].gate is None:
        return ()
    return tuple(
        np.stack([np.asarray(piece.layers[depth].openness[0], np.float64) for piece in layered])
        for depth in range(len(layered[0].layers))
    )
