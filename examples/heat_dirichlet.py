"""Heat in a rod with cold ends: a bounded axis, boundary conditions and a solution in closed form.

python examples/heat_dirichlet.py
cinnet solve examples/heat_dirichlet.py:Heat
"""

import jax.numpy as jnp
import numpy as np

import cinnet
from cinnet.overrides import Overrides

GRID = (20, 32)
SETTINGS: Overrides = {"exact_boundary": True}


class Heat(cinnet.EvolutionProblem):
    """u_t - k u_xx = 0 on [0, 1] x [0, 1], u = 0 at both ends, u(0, x) = sin(pi x) + sin(3 pi x) / 2."""

    conductivity: float = 0.1

    time = (0.0, 1.0)
    space = cinnet.Bounded(0.0, 1.0)
    boundary = (cinnet.dirichlet("x"),)

    def residual(self, u, t, x):
        return u.t - self.conductivity * u.xx

    def initial(self, x):
        return jnp.sin(jnp.pi * x) + jnp.sin(3 * jnp.pi * x) / 2

    def exact(self, t, x):
        modes = ((1, 1.0), (3, 0.5))
        return sum(a * jnp.exp(-self.conductivity * (n * jnp.pi) ** 2 * t) * jnp.sin(n * jnp.pi * x) for n, a in modes)


if __name__ == "__main__":
    solution = cinnet.solve(Heat(), grid=GRID, **SETTINGS)
    print(solution.verdict)
    ends = solution(np.linspace(0, 1, 51)[:, None], np.array([0.0, 1.0]))
    print(f"largest |u| at the ends: {abs(ends).max():.1e}")
