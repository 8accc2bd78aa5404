"""Heat in an insulated rod: no flow through either end, so that the mean stays what it is.

python examples/heat_neumann.py
cinnet solve examples/heat_neumann.py:InsulatedRod --grid 10 32
"""

import jax.numpy as jnp

import cinnet

GRID = (10, 32)


class InsulatedRod(cinnet.EvolutionProblem):
    """u_t - k u_xx = 0 on [0, 1] x [0, 1], u_x = 0 at both ends, u(0, x) = 1 + cos(pi x) + cos(2 pi x) / 2."""

    conductivity: float = 0.1

    space = cinnet.Bounded(0.0, 1.0)
    boundary = (cinnet.neumann("x"),)

    def residual(self, u, t, x):
        return u.t - self.conductivity * u.xx

    def initial(self, x):
        return self.exact(0.0, x)

    def exact(self, t, x):
        modes = ((1, 1.0), (2, 0.5))
        return 1 + sum(
            a * jnp.exp(-self.conductivity * (n * jnp.pi) ** 2 * t) * jnp.cos(n * jnp.pi * x) for n, a in modes
        )


if __name__ == "__main__":
    print(cinnet.solve(InsulatedRod(), grid=GRID).verdict)
