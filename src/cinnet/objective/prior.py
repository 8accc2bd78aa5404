"""What is believed of unknown fields before any data: smoothness, as a term of the training objective."""

from collections.abc import Mapping

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..networks import Network, WithUnknowns
from .term import Penalty


class Prior(Penalty):
    """The penalties on the coefficients of all unknown fields."""

    scales: Mapping[str, Float[Array, " _"]]

    def __init__(self, scales: Mapping[str, Float[np.ndarray, " _"]], dtype: np.dtype):
        self.scales = {name: jnp.asarray(scale, dtype) for name, scale in scales.items()}

    @property
    def name(self) -> str:  # pyright: ignore[reportIncompatibleVariableOverride]
        return "prior"

    @property
    def dtype(self) -> np.dtype:
        return np.dtype(next(iter(self.scales.values())).dtype)

    @property
    def num_rows(self) -> int:
        return sum(scale.size for scale in self.scales.values())

    def penalties(self, network: Network) -> Float[Array, " coefficients"]:
        assert isinstance(network, WithUnknowns)
        return jnp.concatenate([scale * network.coefficients[name] for name, scale in self.scales.items()])
