"""Adaptive damping of Gauss-Newton steps by the gain ratio, shared by its dense and its matrix-free form."""

from collections.abc import Callable

import equinox as eqx
import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, PyTree


def gain_ratio(loss: Float[Array, ""], trial_loss: Float[Array, ""], predicted: Float[Array, ""]) -> Float[Array, ""]:
    """The gain over the gain that the linear model predicted; -1 where either cannot be trusted."""
    predicted = predicted.astype(jnp.float64)
    gain = (loss - trial_loss.astype(jnp.float64)) / predicted
    return jnp.where(jnp.isfinite(gain) & (predicted > 0), gain, -1.0)


class Damping(eqx.Module):
    """The factor mu in (J'J + mu L I) p = -J'r: lower after a good prediction, higher after a bad one."""

    initial: float = eqx.field(static=True)
    lowest: float = eqx.field(static=True)
    highest: float = eqx.field(static=True)
    max_trials: int = eqx.field(static=True)

    def __check_init__(self):
        if not 0 < self.lowest <= self.initial <= self.highest:
            raise ValueError(
                f"initial_damping={self.initial}, min_damping={self.lowest}, max_damping={self.highest}: "
                "they must be positive and the initial damping between the other two."
            )
        if self.max_trials < 1:
            raise ValueError(f"max_trials={self.max_trials}: at least one trial is needed.")

    def adapt(self, damping: Float[Array, ""], gain: Float[Array, ""]) -> Float[Array, ""]:
        adapted = jnp.select([gain > 0.75, gain > 0.25, gain > 0.0], [damping / 4, damping, damping * 2], damping * 5)
        return jnp.clip(adapted, self.lowest, self.highest)

    def search(
        self, trial: Callable[[Array, PyTree], tuple[PyTree, Array]], damping: Float[Array, ""], start: PyTree
    ) -> tuple[Array, PyTree, Array, Array]:
        """Raise the damping until a trial gains.

        `trial` maps a damping and the candidate before to a candidate and its gain ratio. Returns the damping for
        the next step, the last candidate, its gain ratio and the number of trials.
        """

        def attempt(carry):
            damping, previous, _, trials = carry
            candidate, gain = trial(damping, previous)
            return self.adapt(damping, gain), candidate, gain, trials + 1

        def rejected(carry):
            _, _, gain, trials = carry
            return (gain <= 0.0) & (trials < self.max_trials)

        return jax.lax.while_loop(rejected, attempt, (damping, start, jnp.asarray(-1.0, jnp.float64), jnp.asarray(0)))
