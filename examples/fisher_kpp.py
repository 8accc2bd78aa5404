"""Fisher-KPP: a population that grows and spreads, with two fronts that move outwards.

python examples/fisher_kpp.py
cinnet solve examples/fisher_kpp.py:FisherKPP
"""

import jax.numpy as jnp

import cinnet

GRID = (10, 64)


class FisherKPP(cinnet.EvolutionProblem):
    """u_t - d u_xx - r u (1 - u) = 0 on [0, 2] x [-5, 5], periodic, u(0, x) = exp(-x^2)."""

    diffusivity: float = 0.2
    growth: float = 2.0

    time = (0.0, 2.0)
    space = cinnet.Periodic(-5.0, 5.0)

    def residual(self, u, t, x):
        return u.t - self.diffusivity * u.xx - self.growth * u * (1 - u)

    def initial(self, x):
        return jnp.exp(-(x**2))


if __name__ == "__main__":
    problem = FisherKPP()
    solution = cinnet.solve(problem, grid=GRID)
    print(solution.verdict)
    for time, error in zip(*solution.error_over_time(), strict=True):
        if time in (0.0, 1.0, 2.0):
            print(f"t = {time:.1f}: relative L2 error {error:.1e}, u(t, 0) = {solution(time, 0.0):.4f}")
