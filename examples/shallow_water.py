"""Waves on shallow water: a hump of water that falls apart into two waves. Error against the reference.

python examples/shallow_water.py
cinnet solve examples/shallow_water.py:ShallowWater --grid 20 64
"""

import jax.numpy as jnp

import cinnet

GRID = (20, 64)


class ShallowWater(cinnet.EvolutionProblem):
    """h_t + (h u)_x = 0, u_t + u u_x + h_x - nu u_xx = 0 on [0, 1] x [-2, 2], periodic; depth h, speed u."""

    viscosity: float = 0.01

    space = cinnet.Periodic(-2.0, 2.0)
    components = ("h", "u")

    def residual(self, h, u, t, x):
        return h.t + (h * u).x, u.t + u * u.x + h.x - self.viscosity * u.xx

    def initial(self, x):
        return 1 + 0.1 * jnp.exp(-5 * jnp.sin(jnp.pi * x / 4) ** 2), 0.0 * x

    def invariants(self):
        return {"water": cinnet.Invariant(lambda h, u, t, x: h)}


if __name__ == "__main__":
    print(cinnet.solve(ShallowWater(), grid=GRID).verdict)
