"""A temporal weight of your own: a memory that fades, in the place of the paper's (t - s)^2.

python examples/extend/temporal_weight.py
"""

import jax.numpy as jnp

import cinnet


def fading(t, s):
    """A(t, s); the time that passed counts, and is forgotten with a half-life of a tenth."""
    age = t - s
    return age * jnp.exp2(-age / 0.1)


if __name__ == "__main__":
    solution = cinnet.solve("allen-cahn", grid=(10, 64), temporal_weight=fading, steps=40)
    print(solution.verdict)
