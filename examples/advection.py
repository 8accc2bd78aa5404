"""Advection at high speed, where a plain PINN is known to fail: the wave crosses the domain almost five times.

python examples/advection.py
cinnet solve examples/advection.py:Advection --grid 160 64 --windows 16
"""

import jax.numpy as jnp
import numpy as np

import cinnet
from cinnet.overrides import Overrides

GRID = (160, 64)
SETTINGS: Overrides = {"windows": 16}  # ten times in each: with five the networks wiggle between them


class Advection(cinnet.EvolutionProblem):
    """u_t + c u_x = 0 on [0, 1] x [0, 2 pi], periodic, u(0, x) = sin(x)."""

    speed: float = 30.0

    space = cinnet.Periodic(0.0, 2 * np.pi)

    def residual(self, u, t, x):
        return u.t + self.speed * u.x

    def initial(self, x):
        return jnp.sin(x)

    def exact(self, t, x):
        return jnp.sin(x - self.speed * t)


if __name__ == "__main__":
    print(cinnet.solve(Advection(), grid=GRID, **SETTINGS).verdict)
