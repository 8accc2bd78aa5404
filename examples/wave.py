"""A string with fixed ends: the wave equation as a system of first order in time.

python examples/wave.py
cinnet solve examples/wave.py:Wave --grid 20 32
"""

import jax.numpy as jnp

import cinnet
from cinnet.overrides import Overrides

GRID = (40, 32)
SETTINGS: Overrides = {"exact_boundary": True}


class Wave(cinnet.EvolutionProblem):
    """u_tt = u_xx on [0, 2] x [0, 1] with v = u_t, u = 0 at both ends; a fundamental and its second harmonic."""

    time = (0.0, 2.0)
    space = cinnet.Bounded(0.0, 1.0)
    components = ("u", "v")
    boundary = (cinnet.dirichlet("x"),)

    def residual(self, u, v, t, x):
        return u.t - v, v.t - u.xx

    def initial(self, x):
        return self.exact(0.0 * x, x)

    def exact(self, t, x):
        modes = [(n * jnp.pi, a) for n, a in ((1, 1.0), (2, 0.3))]
        u = sum(a * jnp.cos(w * t) * jnp.sin(w * x) for w, a in modes)
        return u, sum(-a * w * jnp.sin(w * t) * jnp.sin(w * x) for w, a in modes)


if __name__ == "__main__":
    print(cinnet.solve(Wave(), grid=GRID, **SETTINGS).verdict)
