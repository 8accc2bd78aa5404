"""A network of your own: a sum of travelling waves with learnable speeds, for advection.

python examples/extend/network.py
"""

import equinox as eqx
import jax
import jax.numpy as jnp

import cinnet


class Advection(cinnet.EvolutionProblem):
    space = cinnet.Periodic(0.0, 1.0)

    def residual(self, u, t, x):
        return u.t + 0.5 * u.x

    def initial(self, x):
        return jnp.sin(2 * jnp.pi * x)


class TravellingWaves(cinnet.PointwiseNetwork):
    box: cinnet.Box = eqx.field(static=True)
    interval: cinnet.TimeInterval = eqx.field(static=True)
    amplitudes: jax.Array
    speeds: jax.Array

    def __init__(self, problem, interval, *, key):
        self.box, self.interval = problem.box, interval
        self.amplitudes, self.speeds = jax.random.normal(key, (2, 6))

    def __call__(self, t, x):
        phase = 2 * jnp.pi * (x - self.speeds[:3] * t + self.speeds[3:])
        return (self.amplitudes[:3] @ jnp.sin(phase) + self.amplitudes[3:] @ jnp.cos(phase))[None]


if __name__ == "__main__":
    solution = cinnet.solve(Advection(), network=TravellingWaves, grid=(10, 16), windows=1, steps=30)
    print(solution.verdict)
