"""Allen-Cahn equation in one and two dimensions (Eqs. ac and ac2d).

    u_t - d * laplacian(u) + r * (u^3 - u) = 0    on [0, 1] x [-1, 1]^n, periodic

d: diffusivity (1e-4), r: reaction rate (5). The solution separates into phases u = -1 and u = 1 joined by
interfaces of width sqrt(d / r). Continued periodically, both initial values have a corner where x = +-1.
"""

import jax.numpy as jnp

from ..domains import Box, Periodic
from ..unknowns import Parameter
from .base import EvolutionProblem, Invariant


class AllenCahn(EvolutionProblem):
    """u_t - d u_xx + r (u^3 - u) = 0 with u(0, x) = x^2 cos(pi x) (Eq. ac)."""

    diffusivity: Parameter = 1e-4
    reaction: Parameter = 5.0

    space = Periodic(-1.0, 1.0)
    equation = r"u_t - d\,u_{xx} + r\,(u^3 - u) = 0"

    def residual(self, u, t, x):
        return u.t - self.diffusivity * u.xx + self.reaction * (u**3 - u)

    def initial(self, x):
        return x**2 * jnp.cos(jnp.pi * x)

    def invariants(self):
        def free_energy(u, t, x):
            return 0.5 * self.diffusivity * u.x**2 + 0.25 * self.reaction * (u**2 - 1) ** 2

        return {"free energy": Invariant(free_energy, conserved=False)}


class AllenCahn2D(EvolutionProblem):
    """u_t - d (u_xx + u_yy) + r (u^3 - u) = 0 (Eq. ac2d).

    The initial value is cos(pi x) cos(pi y) (1 - exp(-(x^2 + y^2))).
    """

    diffusivity: Parameter = 1e-4
    reaction: Parameter = 5.0

    space = Box(Periodic(-1.0, 1.0), Periodic(-1.0, 1.0))
    equation = r"u_t - d\,\Delta u + r\,(u^3 - u) = 0"

    def residual(self, u, t, x, y):
        return u.t - self.diffusivity * u.laplacian + self.reaction * (u**3 - u)

    def initial(self, x, y):
        return jnp.cos(jnp.pi * x) * jnp.cos(jnp.pi * y) * -jnp.expm1(-(x**2 + y**2))

    def invariants(self):
        def free_energy(u, t, x, y):
            return 0.5 * self.diffusivity * (u.x**2 + u.y**2) + 0.25 * self.reaction * (u**2 - 1) ** 2

        return {"free energy": Invariant(free_energy, conserved=False)}
