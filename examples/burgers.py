"""Burgers' equation with little viscosity: a wave that steepens into a thin layer. Error against the reference.

python examples/burgers.py
cinnet solve examples/burgers.py:Burgers
"""

import jax.numpy as jnp

import cinnet

GRID = (10, 64)


class Burgers(cinnet.EvolutionProblem):
    """u_t + u u_x - nu u_xx = 0 on [0, 1] x [-1, 1], periodic, u(0, x) = -sin(pi x)."""

    viscosity: float = 0.05

    time = (0.0, 1.0)
    space = cinnet.Periodic(-1.0, 1.0)

    def residual(self, u, t, x):
        return u.t + u * u.x - self.viscosity * u.xx

    def initial(self, x):
        return -jnp.sin(jnp.pi * x)

    def invariants(self):
        return {"momentum": cinnet.Invariant(lambda u, t, x: u)}


if __name__ == "__main__":
    solution = cinnet.solve(Burgers(), grid=GRID)
    print(solution.verdict)
    print(f"u(0.5, 0.25) = {solution(0.5, 0.25):.5f}, slope at the layer: {solution.derivative('x', 1.0, 0.0):.3f}")
    momentum = solution.invariants()["momentum"]
    print(f"momentum stays within {abs(momentum).max():.1e} of zero")
