"""The Kuramoto-Sivashinsky equation before chaos sets in. Error against the reference.

python examples/kuramoto_sivashinsky.py
cinnet solve examples/kuramoto_sivashinsky.py:KuramotoSivashinsky --grid 20 128
"""

import jax.numpy as jnp
import numpy as np

import cinnet

GRID = (20, 128)


class KuramotoSivashinsky(cinnet.EvolutionProblem):
    """u_t + 5 u u_x + u_xx / 2 + u_xxxx / 200 = 0 on [0, 0.5] x [0, 2 pi], periodic, u(0, x) = -sin(x)."""

    time = (0.0, 0.5)
    space = cinnet.Periodic(0.0, 2 * np.pi)

    def residual(self, u, t, x):
        return u.t + 5 * u * u.x + 0.5 * u.xx + 0.005 * u.xxxx

    def initial(self, x):
        return -jnp.sin(x)


if __name__ == "__main__":
    print(cinnet.solve(KuramotoSivashinsky(), grid=GRID).verdict)
