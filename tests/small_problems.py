"""Problems with closed forms that tests of several rooms solve."""

import jax.numpy as jnp

from cinnet import Complex, EvolutionProblem, Periodic
from cinnet.unknowns import Parameter


class Decay(EvolutionProblem):
    """u' = -rate u, u(0) = 1."""

    rate: Parameter = 1.3

    def residual(self, u, t):
        return u.t + self.rate * u

    def initial(self):
        return 1.0

    def exact(self, t):
        return jnp.exp(-self.rate * t)


class FreeParticle(EvolutionProblem):
    """i psi_t + psi_xx = 0, one complex component."""

    space = Periodic(0.0, 1.0)
    components = (Complex("psi"),)

    def residual(self, psi, t, x):
        return 1j * psi.t + psi.xx

    def initial(self, x):
        return jnp.exp(2j * jnp.pi * x)
