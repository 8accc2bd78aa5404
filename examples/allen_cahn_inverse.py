"""How fast does it diffuse? Allen-Cahn's diffusivity from 200 noisy points.

python examples/allen_cahn_inverse.py
"""

import numpy as np

import cinnet

GRID = (20, 128)
TRUTH = cinnet.AllenCahn(diffusivity=1e-3)


def measured(seed: int, count: int = 200, noise: float = 0.01) -> cinnet.Observations:
    """The true solution at random places, with noise relative to its size."""
    random = np.random.default_rng(seed)
    t, x = random.uniform(0, 1, count), random.uniform(-1, 1, count)
    values = cinnet.reference_solution(TRUTH)(t, x)
    return cinnet.Observations(t, x, values + noise * values.std() * random.standard_normal(count))


def problem(seed: int = 0) -> cinnet.AllenCahn:
    return cinnet.AllenCahn(diffusivity=cinnet.Unknown(1e-2, lower=0.0), observations=measured(seed))


if __name__ == "__main__":
    found = cinnet.solve(problem(), grid=GRID).estimates["diffusivity"]
    print(f"diffusivity {found.value:.3e}, truth {TRUTH.diffusivity}")
    print(f"95 % interval: {found.lower:.2e} to {found.upper:.2e}")
