"""Tensor grids for integrals and spectral derivatives: Fourier on periodic axes, Chebyshev on bounded ones."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.fft
from jaxtyping import Float

from ..derivatives import fourier_differentiation
from ..domains import Axis, Box

_EMPTY = 1e-4  # of the energy


@dataclass(frozen=True)
class TensorGrid:
    """Points with the weights of the mean over the box: equal along periodic axes, else those of Clenshaw and Curtis.

    Use `TensorGrid.of(box, counts)`.
    """

    points: Float[np.ndarray, "points dim"]
    weights: Float[np.ndarray, " points"]
    axes: tuple[tuple[Axis, int], ...]

    @classmethod
    def of(cls, box: Box, counts: Sequence[int]) -> "TensorGrid":
        """`counts` points along the axes; both ends belong to a bounded axis, which needs two points at least."""
        return cls._with_counts(tuple(zip(box.axes, counts, strict=True)))

    @classmethod
    def _with_counts(cls, axes: tuple[tuple[Axis, int], ...]) -> "TensorGrid":
        mesh = np.meshgrid(*(_nodes(axis, count) for axis, count in axes), indexing="ij")
        points = np.stack([m.ravel() for m in mesh], axis=-1) if mesh else np.zeros((1, 0))
        weights = np.ones(1)
        for axis, count in axes:
            weights = np.kron(weights, _mean_weights(axis, count))
        return cls(points, weights, axes)

    def refined(self, factor: int) -> "TensorGrid":
        return self._with_counts(
            tuple((axis, factor * n if axis.periodic else factor * (n - 1) + 1) for axis, n in self.axes)
        )

    def restricted(
        self, values: Float[np.ndarray, "times points components"], coarse: "TensorGrid"
    ) -> Float[np.ndarray, "times coarse_points components"]:
        """Values on a coarser grid without the modes that it cannot tell from others."""
        values = values.reshape(self._shape(values))
        for number, ((axis, many), (_, few)) in enumerate(zip(self.axes, coarse.axes, strict=True), start=1):
            along = np.moveaxis(values, number, -1)
            if axis.periodic:
                modes = np.fft.rfft(along, norm="forward")[..., : few // 2 + 1]
                modes[..., -1] *= few % 2  # the highest mode of an even grid has no phase
                along = np.fft.irfft(modes, few, norm="forward")
            else:
                modes = np.asarray(scipy.fft.dct(along, type=1))[..., :few] / (many - 1)
                modes[..., -1] = 0.0
                along = np.asarray(scipy.fft.idct(modes * (few - 1), type=1))
            values = np.moveaxis(along, -1, number)
        return values.reshape(len(values), -1, values.shape[-1])

    def norm(self, values: Float[np.ndarray, "points components"]) -> float:
        """The root mean square over the box."""
        return math.sqrt(float(np.sum(values**2, axis=-1) @ self.weights))

    def resolves(self, values: Float[np.ndarray, "times points components"]) -> bool:
        """Whether the finest third of the modes along every axis is nearly empty."""
        values = values.reshape(self._shape(values))
        for number, (axis, _count) in enumerate(self.axes, start=1):
            along = np.moveaxis(values, number, -1)
            modes = np.abs(np.fft.rfft(along) if axis.periodic else np.asarray(scipy.fft.dct(along, type=1))) ** 2
            modes = modes.reshape(-1, modes.shape[-1]).sum(axis=0)
            if modes[2 * len(modes) // 3 :].sum() > _EMPTY * modes.sum():
                return False
        return True

    def derivative(self, orders: Sequence[int]) -> Float[np.ndarray, "points points"]:
        """The matrix of a partial derivative."""
        product = np.eye(1)
        for (axis, count), order in zip(self.axes, orders, strict=True):
            if axis.periodic:
                matrix = fourier_differentiation(count, axis.length, order)
            else:
                matrix = np.linalg.matrix_power(_chebyshev_differentiation(count) * (2 / axis.length), order)
            product = np.kron(product, matrix)
        return product

    def _shape(self, values: np.ndarray) -> tuple[int, ...]:
        return (len(values), *(count for _, count in self.axes), values.shape[-1])


def _nodes(axis: Axis, count: int) -> np.ndarray:
    if axis.periodic:
        return axis.uniform_points(count)
    return axis.lower + axis.length * (1 - np.cos(np.pi * np.arange(count) / (count - 1))) / 2


def _mean_weights(axis: Axis, count: int) -> np.ndarray:
    """Weights of the mean over an axis: equal, or Clenshaw and Curtis's."""
    if axis.periodic:
        return np.full(count, 1 / count)
    n = count - 1
    k = np.arange(0, n + 1, 2)
    cosines = np.cos(np.outer(np.arange(count), k) * np.pi / n)
    factors = 2.0 / (1 - k**2) * np.where((k == 0) | (k == n), 0.5, 1.0)
    weights = cosines @ factors * 2 / n
    weights[[0, -1]] /= 2
    return weights / 2


def _chebyshev_differentiation(count: int) -> np.ndarray:
    """On increasing nodes of [-1, 1]."""
    x = -np.cos(np.pi * np.arange(count) / (count - 1))
    c = np.where((np.arange(count) == 0) | (np.arange(count) == count - 1), 2.0, 1.0) * (-1.0) ** np.arange(count)
    difference = x[:, None] - x + np.eye(count)
    matrix = np.outer(c, 1 / c) / difference
    return matrix - np.diag(matrix.sum(axis=1))
