"""What networks that stand around another one share."""

import equinox as eqx
import numpy as np

from ..domains import TimeInterval
from ..embeddings import Embedding
from .base import Network


class Around(Network):
    """A network that changes the values of `inner` and is like it in all else."""

    inner: eqx.AbstractVar[Network]

    @property
    def embedding(self) -> Embedding:  # pyright: ignore[reportIncompatibleVariableOverride]
        return self.inner.embedding

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
    """The network inside of all that stands around it."""
    while isinstance(network, Around):
        network = network.inner
    return network
