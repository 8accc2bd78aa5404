"""Functions known on a grid, from arrays or files: initial values, coefficients and sources of an equation."""

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import equinox as eqx
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.interpolate import make_interp_spline
from scipy.io import loadmat

from .domains import Axis, Periodic

_DEGREE = 3


class GridFunction(eqx.Module):
    """The cubic spline through values on a tensor grid: a function of as many coordinates as the grid has axes.

    `coordinates` are the grid's coordinates, one increasing row for each axis of `values`. An axis with a number in
    `periods` repeats with that period, and its last point is the one before the first again; one with None, as all
    have by default, does not. Differentiable in JAX: twice everywhere, three times between the points. Outside of its
    grid the first or last piece goes on.
    """

    knots: tuple[Float[np.ndarray, " _"], ...]
    coefficients: Float[Array, "..."]
    starts: tuple[float, ...] = eqx.field(static=True)
    periods: tuple[float | None, ...] = eqx.field(static=True)

    def __init__(
        self,
        values: Any,
        *coordinates: Any,
        periods: Sequence[float | None] | None = None,
    ):
        values = np.asarray(values, np.float64)
        axes = [np.asarray(c, np.float64) for c in coordinates]
        periods = tuple(periods) if periods is not None else (None,) * len(axes)
        if len(axes) != values.ndim or not axes:
            raise ValueError(
                f"GridFunction: values has {values.ndim} axes, but {len(axes)} rows of coordinates were given."
            )
        if len(periods) != len(axes):
            raise ValueError(
                f"GridFunction(periods={periods}): give one for each of the {len(axes)} axes, None if it has none."
            )
        if not np.isfinite(values).all():
            raise ValueError(f"GridFunction: values{np.argwhere(~np.isfinite(values))[0].tolist()} is not finite.")
        knots, coefficients = [], values
        for number, (x, period) in enumerate(zip(axes, periods, strict=True)):
            if x.shape != (values.shape[number],) or not (np.diff(x) > 0).all():
                raise ValueError(
                    f"GridFunction: coordinates {number} must be {values.shape[number]} increasing numbers, "
                    f"got shape {x.shape}."
                )
            if len(x) <= _DEGREE:
                raise ValueError(f"GridFunction: axis {number} has {len(x)} points; a cubic spline needs at least 4.")
            if period is not None:
                if not x[-1] - x[0] < period:
                    raise ValueError(f"GridFunction: the points of axis {number} span its period {period} or more.")
                x = np.append(x, x[0] + period)
                coefficients = np.concatenate([coefficients, np.take(coefficients, [0], axis=number)], axis=number)
            kind = "periodic" if period is not None else "not-a-knot"
            spline = make_interp_spline(x, np.moveaxis(coefficients, number, 0), _DEGREE, bc_type=kind)
            knots.append(np.asarray(spline.t))
            coefficients = np.moveaxis(np.asarray(spline.c), 0, number)
        self.knots, self.coefficients = tuple(knots), jnp.asarray(coefficients)
        self.starts, self.periods = tuple(float(x[0]) for x in axes), periods

    @classmethod
    def on(cls, axes: Sequence[Axis], values: Any) -> "GridFunction":
        """Values on the uniform grid of a domain's axes: bounded ones with both ends, periodic ones without one."""
        shape = np.shape(values)
        coordinates = [axis.uniform_points(count) for axis, count in zip(axes, shape, strict=True)]
        return cls(values, *coordinates, periods=[a.length if isinstance(a, Periodic) else None for a in axes])

    def __call__(self, *where: Any) -> Float[Array, ""]:
        if len(where) != len(self.knots):
            raise ValueError(f"this function takes {len(self.knots)} coordinate(s), got {len(where)}.")
        result = self.coefficients
        for x, knots, start, period in zip(where, self.knots, self.starts, self.periods, strict=True):
            x = jnp.asarray(x)
            x = x if period is None else start + jnp.mod(x - start, period)
            first, weights = _basis(x, jnp.asarray(knots, x.dtype))
            result = jnp.tensordot(weights, _slice(result, first).astype(x.dtype), axes=1)
        return result


def _slice(coefficients: Array, first: Array) -> Array:
    return coefficients[first + jnp.arange(_DEGREE + 1)]


def _basis(x: Float[Array, ""], knots: Float[Array, " knots"]) -> tuple[Array, Float[Array, " 4"]]:
    """The number of the first B-spline that is not zero at x, and the values of it and the next three (de Boor)."""
    interval = jnp.clip(jnp.searchsorted(knots, x, side="right") - 1, _DEGREE, knots.size - _DEGREE - 2)
    weights = [jnp.ones_like(x)]
    for degree in range(1, _DEGREE + 1):
        carried, following = jnp.zeros_like(x), []
        for r in range(degree):
            right = knots[interval + r + 1]
            left = knots[interval + 1 - degree + r]
            part = weights[r] / (right - left)
            following.append(carried + (right - x) * part)
            carried = (x - left) * part
        weights = [*following, carried]
    return interval - _DEGREE, jnp.stack(weights)


def read_arrays(path: str | Path) -> dict[str, np.ndarray]:
    """The arrays of a file by name: NPZ, MATLAB (.mat up to version 7.2), or CSV with a row of names at the top.

    Nothing in the file is executed.
    """
    path = Path(path)
    readers = {".npz": _read_npz, ".mat": _read_mat, ".csv": _read_csv}
    if path.suffix.lower() not in readers:
        raise ValueError(f"{path}: files of the kinds {sorted(readers)} can be read, not {path.suffix!r}.")
    if not path.is_file():
        raise FileNotFoundError(f"{path} does not exist.")
    return readers[path.suffix.lower()](path)


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _read_mat(path: Path) -> dict[str, np.ndarray]:
    try:
        content = loadmat(path, squeeze_me=True)
    except NotImplementedError:
        raise ValueError(f"{path} is a MATLAB file of version 7.3; save it with `save(..., '-v7')`.") from None
    return {
        name: value
        for name, value in content.items()
        if not name.startswith("__") and isinstance(value, np.ndarray) and value.dtype.kind in "fciub"
    }


def _read_csv(path: Path) -> dict[str, np.ndarray]:
    with path.open(newline="") as file:
        rows = list(csv.reader(file))
    if len(rows) < 2:
        raise ValueError(f"{path}: a row of names and at least one of numbers are needed.")
    names = [name.strip() for name in rows[0]]
    columns: list[list[float]] = [[] for _ in names]
    for number, row in enumerate(rows[1:], start=2):
        if not row:
            continue
        if len(row) != len(names):
            raise ValueError(f"{path}, line {number}: {len(row)} entries, expected {len(names)} ({', '.join(names)}).")
        for name, entry, column in zip(names, row, columns, strict=True):
            try:
                column.append(float(entry))
            except ValueError:
                raise ValueError(f"{path}, line {number}: {name}={entry!r} is not a number.") from None
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}
