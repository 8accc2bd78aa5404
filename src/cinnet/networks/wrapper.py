"""What networks that wrap another one share."""

import equinox as eqx
import numpy as np

from ..domains import Box, TimeInterval
from ..symmetry import Symmetry
from .base import Network


class Wrapper(Network):
    """A network that changes the values of `inner` and is like it in all else."""

    inner: eqx.AbstractVar[Network]

    @property
    def box(self) -> Box:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.box

    @property
    def symmetry(self) -> Symmetry:
        return self.inner.symmetry

    @property
    def interval(self) -> TimeInterval:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.interval

    @property
    def dtype(self) -> np.dtype:
        return self.inner.dtype

    @property
    def widths(self) -> tuple[int, ...]:
        return self.inner.widths


def innermost(network: Network) -> Network:
    """The network inside all its wrappers."""
    while isinstance(network, Wrapper):
        network = network.inner
    return network
