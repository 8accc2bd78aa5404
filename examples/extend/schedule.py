"""A learning rate of your own: any function of the step, here one that starts again three times.

python examples/extend/schedule.py
"""

import math
from dataclasses import dataclass

import jax.numpy as jnp

import cinnet


@cinnet.register
@dataclass(frozen=True)
class Restarts:
    """A cosine from `peak` to zero, begun anew after every `period` steps; run folders can hold it."""

    peak: float
    period: int

    def __call__(self, step):
        return self.peak * (1 + jnp.cos(math.pi * (step % self.period) / self.period)) / 2


if __name__ == "__main__":
    optimizer = cinnet.SOAP(Restarts(1e-2, 100))
    solution = cinnet.solve("allen-cahn", grid=(10, 32), windows=1, optimizer=optimizer, steps=300)
    print(solution, "loss", solution.result.final["loss"])
