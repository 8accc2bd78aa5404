"""Cahn-Hilliard equation (Eq. ch).

    u_t + g * u_xxxx - d * (u^3 - u)_xx = 0    on [0, 1] x [-1, 1], periodic, u(0, x) = -cos(2 pi x)

g: gradient energy (1e-6), d: mobility (1e-2). Mass is conserved and the free energy falls. About the mixed
state u = 0 the fastest mode has wave number sqrt(d / (2 g)), near 70, and grows at rate d^2 / (4 g) = 25.
"""

import jax.numpy as jnp

from ..domains import Periodic
from ..unknowns import Parameter
from .base import EvolutionProblem, Invariant


class CahnHilliard(EvolutionProblem):
    """u_t + g u_xxxx - d (u^3 - u)_xx = 0 with u(0, x) = -cos(2 pi x) (Eq. ch)."""

    gradient_energy: Parameter = 1e-6
    mobility: Parameter = 1e-2

    space = Periodic(-1.0, 1.0)
    equation = r"u_t + g\,u_{xxxx} - d\,(u^3 - u)_{xx} = 0"

    def residual(self, u, t, x):
        return u.t + self.gradient_energy * u.xxxx - self.mobility * (u**3 - u).xx

    def initial(self, x):
        return -jnp.cos(2 * jnp.pi * x)

    def invariants(self):
        def free_energy(u, t, x):
            return 0.5 * self.gradient_energy * u.x**2 + 0.25 * self.mobility * (u**2 - 1) ** 2

        return {"mass": Invariant(lambda u, t, x: u), "free energy": Invariant(free_energy, conserved=False)}
