"""The Swift-Hohenberg equation: stripes grow out of a small disturbance. Error against the reference.

python examples/swift_hohenberg.py
cinnet solve examples/swift_hohenberg.py:SwiftHohenberg --grid 20 128
"""

import jax.numpy as jnp
import numpy as np

import cinnet

GRID = (20, 128)


class SwiftHohenberg(cinnet.EvolutionProblem):
    """u_t = r u - (1 + d_xx)^2 u - u^3 on [0, 10] x [0, 8 pi], periodic."""

    control: float = 0.5

    time = (0.0, 10.0)
    space = cinnet.Periodic(0.0, 8 * np.pi)

    def residual(self, u, t, x):
        return u.t - self.control * u + u + 2 * u.xx + u.xxxx + u**3

    def initial(self, x):
        return 0.1 * jnp.cos(x) + 0.1 * jnp.cos(3 * x / 4)


if __name__ == "__main__":
    print(cinnet.solve(SwiftHohenberg(), grid=GRID).verdict)
