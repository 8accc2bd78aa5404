"""What is believed of unknown fields before any data: smoothness, as a term of the training objective."""

from collections.abc import Callable, Mapping

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..networks import Network, WithUnknowns


class Prior(eqx.Module):
    """The penalties on the coefficients of all unknown fields, with the interface of `Term`: one level, one column."""

    scales: Mapping[str, Float[Array, " _"]]
    times: Float[Array, " 1"]
    num_points: int = eqx.field(static=True)
    name: str = eqx.field(static=True, default="prior")
    num_equations: int = eqx.field(static=True, default=1)
    is_single_chunk: bool = eqx.field(static=True, default=True)

    def __init__(self, scales: Mapping[str, Float[np.ndarray, " _"]], dtype: np.dtype):
        self.scales = {name: jnp.asarray(scale, dtype) for name, scale in scales.items()}
        self.times = jnp.zeros(1, dtype)
        self.num_points = sum(scale.size for scale in scales.values())

    def _penalties(self, network: Network) -> Float[Array, " coefficients"]:
        assert isinstance(network, WithUnknowns)
        return jnp.concatenate([scale * network.coefficients[name] for name, scale in self.scales.items()])

    def levels(self, network: Network) -> Float[Array, " 1"]:
        return jnp.sum(self._penalties(network) ** 2)[None]

    def rows(self, network: Network, weights: Float[Array, " 1"]) -> Float[Array, " rows"]:
        return jnp.sqrt(weights) * self._penalties(network)

    def add_gradient(self, network: Network, weights: Float[Array, " 1"], gradients: Network):
        gradient = eqx.filter_grad(lambda network: weights @ self.levels(network))(network)
        return self.levels(network), jax.tree.map(jnp.add, gradients, gradient)

    def jacobian(
        self, rebuild: Callable[[Array], Network], flat: Float[Array, " parameters"], weights: Float[Array, " 1"]
    ) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]:
        return self.rows(rebuild(flat), weights), jax.jacrev(lambda f: self.rows(rebuild(f), weights))(flat)
