"""Korteweg-de Vries equation (Eq. kdv).

    u_t + a * u * u_x + m^2 * u_xxx = 0    on [0, 1] x [-1, 1], periodic, u(0, x) = cos(pi x)

a: advection, the paper's eta (1); m: dispersion, the paper's mu (0.022). The cosine steepens and breaks up
into solitons (Zabusky and Kruskal 1965). Mass, momentum and energy are conserved.
"""

import jax.numpy as jnp

from ..domains import Periodic
from ..unknowns import Parameter
from .base import EvolutionProblem, Invariant


class KortewegDeVries(EvolutionProblem):
    """u_t + a u u_x + m^2 u_xxx = 0 with u(0, x) = cos(pi x) (Eq. kdv)."""

    advection: Parameter = 1.0
    dispersion: Parameter = 0.022

    space = Periodic(-1.0, 1.0)
    equation = r"u_t + a\,u\,u_x + m^2\,u_{xxx} = 0"

    def residual(self, u, t, x):
        return u.t + self.advection * u * u.x + self.dispersion**2 * u.xxx

    def initial(self, x):
        return jnp.cos(jnp.pi * x)

    def invariants(self):
        def energy(u, t, x):
            return 0.5 * self.dispersion**2 * u.x**2 - self.advection / 6 * u**3

        return {
            "mass": Invariant(lambda u, t, x: u),
            "momentum": Invariant(lambda u, t, x: u**2),
            "energy": Invariant(energy),
        }
