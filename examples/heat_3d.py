"""Heat in three dimensions, periodic: random points in space, errors against the exact solution.

python examples/heat_3d.py
cinnet solve examples/heat_3d.py:Heat3D --grid 5 512
"""

import jax.numpy as jnp
import numpy as np

import cinnet

GRID = (5, 512)


class Heat3D(cinnet.EvolutionProblem):
    """u_t - k (u_xx + u_yy + u_zz) = 0 on [0, 1] x [0, 2 pi]^3, u(0) = sin(x) cos(y) + cos(z) sin(2 x) / 2."""

    conductivity: float = 0.2

    space = cinnet.Box(*[cinnet.Periodic(0.0, 2 * np.pi)] * 3)

    def residual(self, u, t, x, y, z):
        return u.t - self.conductivity * u.laplacian

    def initial(self, x, y, z):
        return self.exact(0.0, x, y, z)

    def exact(self, t, x, y, z):
        slow, fast = jnp.exp(-2 * self.conductivity * t), jnp.exp(-5 * self.conductivity * t)
        return slow * jnp.sin(x) * jnp.cos(y) + fast * jnp.cos(z) * jnp.sin(2 * x) / 2


if __name__ == "__main__":
    print(cinnet.solve(Heat3D(), grid=GRID).verdict)
