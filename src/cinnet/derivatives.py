"""Three engines that differentiate a network over columns, behind one interface.

jets      Taylor jets through the layers; exact, any network, any domain. The default.
spectral  network values only, x-derivatives by Fourier differentiation on a uniform periodic grid.
nested    nested forward-mode differentiation of `network(t, x)`; the oracle, and for exotic networks.
"""

import abc
from collections.abc import Iterable
from typing import Any, ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from .domains import Box
from .fields import MultiIndex
from .jets import JetSpace
from .nested import partial_derivative
from .networks import Network

Derivatives = dict[MultiIndex, Float[Array, "times points outputs"]]


class Engine(eqx.Module):
    """Computes derivatives of a network at all `times` of all columns at `points`."""

    couples_columns: ClassVar[bool] = False

    def prepare(self, network: Network, times: np.ndarray | Array, points: np.ndarray | Array) -> Any:
        """What can be computed once for all parameters; passed back as `plan`."""
        return network.plan(times)

    @abc.abstractmethod
    def __call__(
        self, network: Network, plan: Any, times: Array, points: Array, derivatives: Iterable[MultiIndex]
    ) -> Derivatives:
        """The derivatives asked for, by multi-index."""


class JetEngine(Engine):
    """Taylor jets through the layers."""

    def __call__(self, network, plan, times, points, derivatives):
        return network.jets(plan, points, JetSpace.of(derivatives))


class NestedEngine(Engine):
    """One forward-mode derivative inside another for each order; cost grows exponentially with the order."""

    def prepare(self, network, times, points):
        return None

    def __call__(self, network, plan, times, points, derivatives):
        times, points = jnp.asarray(times, network.dtype), jnp.asarray(points, network.dtype)
        over_points = jax.vmap(network_derivatives, in_axes=(None, 0 if times.ndim == 2 else None, 0, None))
        over_times = jax.vmap(over_points, in_axes=(None, 0, None, None))
        return over_times(network, times, points, tuple(derivatives))


def network_derivatives(
    network: Network, t: Float[Array, ""], x: Float[Array, " dim"], derivatives: tuple[MultiIndex, ...]
) -> dict[MultiIndex, Float[Array, " outputs"]]:
    """Derivatives of `network(t, x)` at one point by nested jax.jvp."""
    here = jnp.concatenate([t[None], x])
    return {index: partial_derivative(lambda z: network(z[0], z[1:]), index)(here) for index in derivatives}


class SpectralEngine(Engine):
    """Fourier differentiation of the network's values on a uniform periodic grid.

    By dense matrices: at these sizes they beat an FFT inside a compiled CPU program by far. Exact for the
    trigonometric interpolant of the values, so the grid must resolve the solution.
    """

    box: Box = eqx.field(static=True)
    counts: tuple[int, ...] = eqx.field(static=True)
    couples_columns: ClassVar[bool] = True

    def __init__(self, box: Box, counts: Iterable[int]):
        self.box, self.counts = box, tuple(counts)
        if not box.periodic or box.dimension == 0:
            raise ValueError("the spectral engine needs a box whose axes are all periodic; use engine 'jets'.")
        if len(self.counts) != box.dimension:
            raise ValueError(f"counts={self.counts}: give one number of points for each of {box.dimension} axes.")

    def prepare(self, network, times, points):
        if np.shape(points) != (int(np.prod(self.counts)), self.box.dimension) or not np.allclose(
            points, self.box.uniform_grid(self.counts), atol=1e-6 * max(axis.length for axis in self.box.axes)
        ):
            raise ValueError(
                f"points of shape {np.shape(points)} are not the uniform periodic grid {self.counts} that the "
                "spectral engine differentiates on; sample a uniform_grid or use engine 'jets'."
            )
        return network.plan(times)

    def __call__(self, network, plan, times, points, derivatives):
        derivatives = tuple(derivatives)
        no_space = (0,) * self.box.dimension
        space = JetSpace.of({(index[0], *no_space) for index in derivatives})
        on_grid = network.jets(plan, points, space)
        results = {}
        for index in derivatives:
            values = on_grid[(index[0], *no_space)]
            grid = values.reshape(values.shape[0], *self.counts, values.shape[-1])
            for axis, order in enumerate(index[1:]):
                if order:
                    matrix = fourier_differentiation(self.counts[axis], self.box.axes[axis].length, order)
                    product = jnp.tensordot(jnp.asarray(matrix, grid.dtype), grid, axes=(1, 1 + axis))
                    grid = jnp.moveaxis(product, 0, 1 + axis)
            results[index] = grid.reshape(values.shape)
        return results


def fourier_differentiation(count: int, period: float, order: int) -> Float[np.ndarray, "count count"]:
    """The matrix that differentiates the trigonometric interpolant of values on `count` equidistant points."""
    wavenumbers = np.fft.fftfreq(count, d=period / (2 * np.pi * count))
    symbol = (1j * wavenumbers) ** order
    if count % 2 == 0 and order % 2 == 1:
        symbol[count // 2] = 0.0  # the interpolant's highest mode is a pure cosine: its odd derivatives vanish here
    return np.fft.ifft(symbol[:, None] * np.fft.fft(np.eye(count), axis=0), axis=0).real


def resolve_engine(engine: str | Engine, box: Box, counts: tuple[int, ...] | None) -> Engine:
    """An engine from its name; `counts` is the shape of the uniform grid, if the points form one."""
    if isinstance(engine, Engine):
        return engine
    if engine == "jets":
        return JetEngine()
    if engine == "nested":
        return NestedEngine()
    if engine == "spectral":
        if counts is None:
            raise ValueError("engine='spectral' needs points on a uniform grid; sample a uniform_grid or use 'jets'.")
        return SpectralEngine(box, counts)
    raise ValueError(f"engine={engine!r} is unknown; use 'jets', 'spectral' or 'nested'.")
