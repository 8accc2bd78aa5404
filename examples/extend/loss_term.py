"""A loss term of your own: the solution of Allen-Cahn stays between -1 and 1, so what leaves is penalised.

python examples/extend/loss_term.py
"""

import jax.numpy as jnp

import cinnet


def outside(u, t, x):
    """Zero for what is wanted, as a residual is; u offers its derivatives here too."""
    return jnp.maximum(jnp.abs(u) - 1.0, 0.0)


if __name__ == "__main__":
    term = cinnet.ExtraTerm("bounds", outside, weight=10.0, causal=True)
    solution = cinnet.solve("allen-cahn", "causal-pinn", grid=(10, 64), extra_terms=(term,), steps=40)
    print(solution.verdict)
    print("mean square outside of the bounds:", solution.result.final["extra bounds"])
