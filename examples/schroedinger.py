"""The cubic Schroedinger equation with a complex field: a soliton on its way.

python examples/schroedinger.py
cinnet solve examples/schroedinger.py:Schroedinger --grid 20 128
"""

import jax.numpy as jnp

import cinnet

GRID = (20, 128)


class Schroedinger(cinnet.EvolutionProblem):
    """i psi_t + psi_xx / 2 + |psi|^2 psi = 0 on [0, 2] x [-15, 15], periodic; amplitude 1, speed 1."""

    time = (0.0, 2.0)
    space = cinnet.Periodic(-15.0, 15.0)
    components = (cinnet.Complex("psi"),)

    def residual(self, psi, t, x):
        return 1j * psi.t + psi.xx / 2 + abs(psi) ** 2 * psi

    def initial(self, x):
        return jnp.exp(1j * x) / jnp.cosh(x)

    def exact(self, t, x):
        return jnp.exp(1j * x) / jnp.cosh(x - t)

    def invariants(self):
        return {"mass": cinnet.Invariant(lambda psi, t, x: abs(psi) ** 2)}


if __name__ == "__main__":
    solution = cinnet.solve(Schroedinger(), grid=GRID)
    print(solution.verdict)
    print(f"psi(2, 2) = {solution(2.0, 2.0):.4f}")
