"""Real fields on a periodic box as Fourier coefficients: u(x) = sum over m of c_m exp(i k_m (x - lower)).

Coefficients have the layout of `scipy.fft.rfftn` with `norm="forward"`, one leading axis for the components, so
they do not depend on the number of modes. The Nyquist mode of an even grid is always zero: it has no sign, hence
no odd derivative, and without it spectra of different size nest and every derivative is unambiguous.
"""

import math

import jax.numpy as jnp
import numpy as np
import scipy.fft
from jaxtyping import Complex, Float

from ..domains import Box
from ..problems.base import EvolutionProblem
from .split import derivative_symbol, double_precision

Spectrum = Complex[np.ndarray, "components ..."]

_INITIAL_POINTS = {1: 2**18, 2: 2**22, 3: 2**22}  # grid on which the initial value is projected, if the modes fit
_CHUNK = 2**18  # points at a time, bounds the memory of projections and of scattered evaluation
_THREADING_PAYS = 2**15  # points below which a second FFT thread costs more than it saves


def workers(points: int) -> int:
    return 2 if points >= _THREADING_PAYS else 1


def spectrum_modes(spectrum: Spectrum) -> tuple[int, ...]:
    """The smallest odd number of modes on each axis that holds this spectrum."""
    *full, last = spectrum.shape[1:]
    return (*(2 * ((n - 1) // 2) + 1 for n in full), 2 * last - 1)


def resize(spectrum: Spectrum, modes: tuple[int, ...]) -> Spectrum:
    """The same coefficients in the layout of another number of modes: padded with zeros or cut off."""
    shape = (*modes[:-1], modes[-1] // 2 + 1)
    halves = [(min(old, new) - 1) // 2 for old, new in zip(spectrum.shape[1:-1], shape[:-1], strict=True)]
    kept = [np.r_[0 : h + 1, -h:0] for h in halves]  # negative positions mean the same mode in both layouts
    kept.append(np.arange(min(spectrum.shape[-1], (modes[-1] - 1) // 2 + 1)))
    where = (slice(None), *np.ix_(*kept))
    resized = np.zeros((len(spectrum), *shape), dtype=np.complex128)
    resized[where] = spectrum[where]
    return resized


def energy(spectrum: Spectrum) -> Float[np.ndarray, "..."]:
    """|c_m|^2 summed over components, counting the conjugate half; its sum is the mean square of the field."""
    density = np.sum(np.real(spectrum) ** 2 + np.imag(spectrum) ** 2, axis=0)
    density[..., 1:] *= 2
    return density


def trim(spectrum: Spectrum, tolerance: float) -> Spectrum:
    """Drop the outer modes whose relative L2 norm is below `tolerance`."""
    density = energy(spectrum)
    allowed = tolerance**2 * density.sum() / density.ndim
    modes = []
    for axis, size in enumerate(density.shape):
        along = density.sum(axis=tuple(a for a in range(density.ndim) if a != axis))
        if axis < density.ndim - 1:  # fold negative modes onto positive ones
            half = (size - 1) // 2
            along = along[: half + 1] + np.r_[0.0, along[: -half - 1 : -1]] if half else along[:1]
        outside = np.cumsum(along[::-1])[::-1]  # energy of this mode and those beyond
        modes.append(2 * max(int(np.sum(outside > allowed)) - 1, 0) + 1)
    return resize(spectrum, tuple(modes))


def difference(first: Spectrum, second: Spectrum) -> tuple[float, float]:
    """Mean square of the difference of two fields over the box, and of the second field (Parseval)."""
    common = tuple(map(max, spectrum_modes(first), spectrum_modes(second)))
    second = resize(second, common)
    return float(energy(resize(first, common) - second).sum()), float(energy(second).sum())


def project_initial(problem: EvolutionProblem, modes: tuple[int, ...]) -> Spectrum:
    """Fourier coefficients of the initial value, sampled on a much finer grid and cut off.

    A corner, as Allen-Cahn has at x = +-1, would leave an alias of size 1 / modes^2 in the low modes if the
    initial value were sampled on the solver's own grid.
    """
    box = problem.box
    budget = _INITIAL_POINTS[box.dimension] / math.prod(modes)
    factor = 2 ** max(0, math.floor(math.log2(budget) / box.dimension)) if budget >= 1 else 1
    fine = tuple(factor * n for n in modes)
    count = math.prod(fine)
    axes = [axis.uniform_points(n) for axis, n in zip(box.axes, fine, strict=True)]
    values = np.empty((len(problem.outputs), count))
    with double_precision():
        for start in range(0, count, _CHUNK):
            flat = np.arange(start, min(start + _CHUNK, count))
            points = np.stack([x[i] for x, i in zip(axes, np.unravel_index(flat, fine), strict=True)], axis=-1)
            values[:, flat] = np.asarray(problem.initial_values(jnp.asarray(points))).T
    spectrum = scipy.fft.rfftn(
        values.reshape(-1, *fine), axes=range(1, 1 + box.dimension), norm="forward", workers=workers(count)
    )
    return resize(np.asarray(spectrum), modes)


def _exponentials(coordinates: np.ndarray, lower: float, length: float, modes: np.ndarray, order: int) -> np.ndarray:
    """(i k_m)^order exp(i k_m (x - lower)), one row a mode."""
    k = 2 * np.pi / length * modes
    return derivative_symbol((order,), (k,))[:, None] * np.exp(1j * np.outer(k, coordinates - lower))


def evaluate(
    spectra: Complex[np.ndarray, "fields ..."],
    box: Box,
    points: Float[np.ndarray, "points dim"],
    orders: tuple[int, ...],
) -> Float[np.ndarray, "fields points"]:
    """The derivative of the given orders of every field at arbitrary points, by the Fourier sum itself.

    The sum is taken axis by axis: over distinct coordinates if the points are (nearly) a tensor grid, else point
    by point in chunks.
    """
    dimension = box.dimension
    modes = [np.fft.fftfreq(n, 1 / n) for n in spectra.shape[1:-1]] + [np.arange(spectra.shape[-1])]
    spectra = spectra * np.where(modes[-1] == 0, 1.0, 2.0)  # the conjugate half that the layout leaves out

    def exponentials(axis: int, coordinates: np.ndarray) -> np.ndarray:
        where = box.axes[axis]
        return _exponentials(coordinates, where.lower, where.length, modes[axis], orders[axis])

    distinct = [np.unique(points[:, axis], return_inverse=True) for axis in range(dimension)]
    if dimension == 1 or math.prod(len(x) for x, _ in distinct) <= 4 * len(points):
        for axis in reversed(range(dimension)):  # contracts the axis and appends its points: [..., z, y, x]
            spectra = np.tensordot(spectra, exponentials(axis, distinct[axis][0]), axes=([1 + axis], [0]))
        return np.real(spectra)[(slice(None), *(inverse for _, inverse in reversed(distinct)))]

    values = np.empty((len(spectra), len(points)))
    rows = max(1, 16 * _CHUNK // math.prod(spectra.shape[:-1]))
    for start in range(0, len(points), rows):
        chunk = points[start : start + rows]
        partial = spectra @ exponentials(dimension - 1, chunk[:, -1])
        for axis in reversed(range(dimension - 1)):
            partial = np.einsum("...kp,kp->...p", partial, exponentials(axis, chunk[:, axis]))
        values[:, start : start + rows] = np.real(partial)
    return values
