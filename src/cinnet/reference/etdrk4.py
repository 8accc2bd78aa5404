"""Fourier ETDRK4: exponential time differencing of order four for u_t = L u + N(t, x, u).

Cox and Matthews (2002), with the coefficients as contour means after Kassam and Trefethen (2005). The contour is
a full circle and its mean stays complex: the real part alone would be wrong for the imaginary L of KdV.
"""

import functools
from collections.abc import Iterator

import jax.numpy as jnp
import numpy as np
import scipy.fft
from jaxtyping import Float

from ..problems.base import EvolutionProblem
from .spectrum import Spectrum, project_initial, workers
from .split import Split, derivative_symbol, double_precision

_CONTOUR_POINTS = 32  # the error of the mean falls like radius^n / n!
_REMEMBERED_STEPS = 4


class Etdrk4:
    """The integrator of one problem with a fixed number of modes on each axis.

    FFTs are SciPy's and the loop is Python's: XLA's FFT inside a fused CPU program was up to 20 times slower.
    Only the pointwise nonlinearity is compiled by JAX.
    """

    def __init__(self, problem: EvolutionProblem, modes: tuple[int, ...], split: Split | None = None):
        self.problem = problem
        self.modes = modes
        self.split = Split(problem) if split is None else split
        box = problem.box
        self._axes = tuple(range(1, 1 + box.dimension))
        self._workers = workers(int(np.prod(modes)))
        with double_precision():
            self._points = jnp.asarray(box.uniform_grid(modes))

        numbers = [np.fft.fftfreq(n, 1 / n) for n in modes[:-1]] + [np.arange(modes[-1] // 2 + 1)]
        grids = np.meshgrid(*numbers, indexing="ij", sparse=True)
        k = tuple(2 * np.pi / axis.length * m for axis, m in zip(box.axes, grids, strict=True))
        self.symbol = self.split.symbol(k)
        self._inside = np.ones(self.symbol.shape[1:], dtype=bool)  # all modes but Nyquist
        for n, m in zip(modes, grids, strict=True):
            self._inside &= np.abs(m) < n / 2
        # The symbol takes few distinct values in two and three dimensions; coefficients are computed once for each.
        self._distinct, self._position = np.unique(self.symbol, return_inverse=True)
        self._multipliers = [derivative_symbol(index[1:], k) for index, _ in self.split.needed]
        self._coefficients: dict[float, tuple[np.ndarray, ...]] = {}

    @functools.cached_property
    def initial(self) -> Spectrum:
        """The coefficients at the start time."""
        return project_initial(self.problem, self.modes)

    def _nonlinear(self, spectrum: Spectrum, t: float) -> Spectrum:
        """The coefficients of N(t, x, u), pseudo-spectrally."""
        derivatives = np.empty((len(self._multipliers), *spectrum.shape[1:]), dtype=np.complex128)
        for row, (_, component) in enumerate(self.split.needed):
            np.multiply(self._multipliers[row], spectrum[component], out=derivatives[row, ...])
        values = np.zeros((0, *self.modes))
        if len(derivatives):
            values = np.asarray(
                scipy.fft.irfftn(
                    derivatives, s=self.modes, axes=self._axes, norm="forward", overwrite_x=True, workers=self._workers
                )
            )
        result = self.split.nonlinear(values.reshape(len(values), len(self._points)), np.float64(t), self._points)
        fields = np.asarray(result).reshape(-1, *self.modes)
        return np.asarray(scipy.fft.rfftn(fields, axes=self._axes, norm="forward", workers=self._workers))

    def coefficients(self, time_step: float) -> tuple[np.ndarray, ...]:
        """exp(z), exp(z/2), Q, f1, f2, f3 for z = time_step * L (Kassam and Trefethen, Eq. 2.5).

        Q  = h (e^{z/2} - 1) / z
        f1 = h (-4 - z + e^z (4 - 3 z + z^2)) / z^3
        f2 = 2 h (2 + z + e^z (z - 2)) / z^3
        f3 = h (-4 - 3 z - z^2 + e^z (4 - z)) / z^3
        """
        if time_step in self._coefficients:
            return self._coefficients[time_step]
        z = time_step * self._distinct
        means = np.zeros((4, len(z)), dtype=np.complex128)
        # A circle of radius 1 would come close to w = 0, where the quotients cancel, if |z| is near 1.
        radius = np.where(np.abs(np.abs(z) - 1) < 0.5, 2.0, 1.0)
        for point in np.exp(2j * np.pi * (np.arange(_CONTOUR_POINTS) + 0.5) / _CONTOUR_POINTS):
            w = z + radius * point
            half = np.exp(w / 2)
            full = half * half
            cube = w**-3
            means[0] += (half - 1) / w
            means[1] += (-4 - w + full * (4 - 3 * w + w * w)) * cube
            means[2] += 2 * (2 + w + full * (w - 2)) * cube
            means[3] += (-4 - 3 * w - w * w + full * (4 - w)) * cube
        means *= time_step / _CONTOUR_POINTS
        exponentials = np.stack([np.exp(z), np.exp(z / 2)])
        if not np.imag(self._distinct).any():  # then the mean over the full circle is real, up to rounding
            means, exponentials = np.real(means), np.real(exponentials)
        position = self._position.reshape(self.symbol.shape)
        factors = tuple(e[position] for e in exponentials) + tuple(f[position] * self._inside for f in means)
        while len(self._coefficients) >= _REMEMBERED_STEPS:
            self._coefficients.pop(next(iter(self._coefficients)))
        self._coefficients[time_step] = factors
        return factors

    def step(self, spectrum: Spectrum, t: float, time_step: float) -> Spectrum:
        """One step of Cox and Matthews' scheme from t to t + time_step."""
        full, half, q, f1, f2, f3 = self.coefficients(time_step)
        middle = t + time_step / 2
        n_u = self._nonlinear(spectrum, t)
        halfway = half * spectrum
        a = halfway + q * n_u
        n_a = self._nonlinear(a, middle)
        b = halfway + q * n_a
        n_b = self._nonlinear(b, middle)
        c = half * a + q * (2 * n_b - n_u)
        n_c = self._nonlinear(c, t + time_step)
        return full * spectrum + f1 * n_u + f2 * (n_a + n_b) + f3 * n_c

    def advance(self, spectrum: Spectrum, t: float, time_step: float, steps: int) -> Spectrum:
        """The solution after some equal steps; not finite if it blew up."""
        with double_precision(), np.errstate(all="ignore"):
            for i in range(steps):
                spectrum = self.step(spectrum, t + i * time_step, time_step)
        return spectrum

    def levels(self, times: Float[np.ndarray, " levels"], steps_per_level: int) -> Iterator[Spectrum]:
        """The solution at times[1:], each reached in equal steps; ends early where it is no longer finite."""
        spectrum = self.initial
        time_step = (times[-1] - times[0]) / ((len(times) - 1) * steps_per_level)
        for start in times[:-1]:
            spectrum = self.advance(spectrum, start, time_step, steps_per_level)
            if not np.isfinite(spectrum).all():
                return
            yield spectrum
