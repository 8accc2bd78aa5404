"""What a loss is made of: terms, each with a name, a weight, and rows of residuals."""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from ..fields import Operator
from ..networks import Network
from ..sampling import TrainingPoints

Rebuild = Callable[[Float[Array, " parameters"]], Network]


class Term(eqx.Module):
    """One term of the loss: a mean square at each of its time levels.

    `weight` is what it counts in the loss where nobody says otherwise. A `causal` term takes part in the causal order:
    it is weighted down while earlier times are wrong. An `enforced` one is a part of the problem (equation, initial and
    boundary values), not data or belief.
    """

    name: eqx.AbstractVar[str]
    times: eqx.AbstractVar[Float[Array, " times"]]
    causal: eqx.AbstractVar[bool]
    enforced: eqx.AbstractVar[bool]
    is_single_chunk: ClassVar[bool] = True
    weight: ClassVar[float] = 1.0

    @property
    @abc.abstractmethod
    def num_rows(self) -> int: ...

    @abc.abstractmethod
    def levels(self, network: Network) -> Float[Array, " times"]:
        """The mean square at each time level."""

    @abc.abstractmethod
    def rows(self, network: Network, weights: Float[Array, " times"]) -> Float[Array, " rows"]:
        """sqrt(w) r for every residual; the sum of squares is weights @ levels."""

    def add_gradient(
        self, network: Network, weights: Float[Array, " times"], gradients: Network
    ) -> tuple[Float[Array, " times"], Network]:
        """The levels, and `gradients` plus the gradient of weights @ levels."""
        gradient = eqx.filter_grad(lambda network: weights @ self.levels(network))(network)
        return self.levels(network), jax.tree.map(jnp.add, gradients, gradient)

    def jacobian(
        self, rebuild: Rebuild, flat: Float[Array, " parameters"], weights: Float[Array, " times"]
    ) -> tuple[Float[Array, " rows"], Float[Array, "rows parameters"]]:
        """The rows and their gradients."""
        return self.rows(rebuild(flat), weights), jax.jacrev(lambda f: self.rows(rebuild(f), weights))(flat)


class Penalty(Term):
    """A sum of squares of numbers that a network has, whatever the time: one level.

    A subclass has a `name` and gives `penalties`, `num_rows` and `dtype`; `Objective` adds it as it is.
    """

    @property
    def causal(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return False

    @property
    def enforced(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return False

    @abc.abstractmethod
    def penalties(self, network: Network) -> Float[Array, " rows"]:
        """The numbers whose squares are added."""

    @property
    def times(self) -> Float[Array, " 1"]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return jnp.zeros(1, self.dtype)

    @property
    @abc.abstractmethod
    def dtype(self) -> np.dtype: ...

    def levels(self, network: Network) -> Float[Array, " 1"]:
        return jnp.sum(self.penalties(network) ** 2)[None]

    def rows(self, network: Network, weights: Float[Array, " 1"]) -> Float[Array, " rows"]:
        return jnp.sqrt(weights) * self.penalties(network)


@dataclass(frozen=True)
class ExtraTerm:
    """A term of one's own: `operator(u, t, x)` is zero for what is wanted, as a residual is.

    It is averaged over the training points, or over `points` of its own.
    """

    name: str
    operator: Operator
    weight: float = 1.0
    causal: bool = False
    points: TrainingPoints | None = None

    def __post_init__(self):
        if not (np.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"ExtraTerm(weight={self.weight}): loss weights must be finite and not negative.")
        if self.causal and self.points is not None:
            raise ValueError(f"ExtraTerm({self.name!r}, causal=True) lives on the training points; drop `points`.")
