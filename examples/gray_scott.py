"""Gray and Scott's reaction: a spot of a catalyst that feeds on what flows in. Error against the reference.

python examples/gray_scott.py
cinnet solve examples/gray_scott.py:GrayScott --grid 20 128
"""

import jax.numpy as jnp

import cinnet

GRID = (20, 128)


class GrayScott(cinnet.EvolutionProblem):
    """u_t = D u_xx - u v^2 + F (1 - u), v_t = D/2 v_xx + u v^2 - (F + k) v on [0, 20] x [-25, 25], periodic."""

    diffusivity: float = 1.0
    feed: float = 0.04
    decay: float = 0.06

    time = (0.0, 20.0)
    space = cinnet.Periodic(-25.0, 25.0)
    components = ("u", "v")

    def residual(self, u, v, t, x):
        reaction = u * v**2
        eaten = u.t - self.diffusivity * u.xx + reaction - self.feed * (1 - u)
        return eaten, v.t - self.diffusivity / 2 * v.xx - reaction + (self.feed + self.decay) * v

    def initial(self, x):
        spot = jnp.exp(-((x / 5) ** 2))
        return 1 - spot / 2, spot / 2


if __name__ == "__main__":
    print(cinnet.solve(GrayScott(), grid=GRID).verdict)
