"""Both coefficients of the Korteweg-de Vries equation from 500 points with one percent of noise.

python examples/kdv_inverse.py
"""

import numpy as np

import cinnet

GRID = (20, 256)
# From the whole interval at once the first guess is too far from the late data; the horizon grows towards them.
PARTS = {0.4: 40, 0.7: 40, 1.0: 100}
STAGES = tuple(cinnet.Stage("levenberg-marquardt", steps, horizon=part) for part, steps in PARTS.items())
TRUTH = cinnet.KortewegDeVries()


def problem(seed: int = 0, count: int = 500, noise: float = 0.01) -> cinnet.KortewegDeVries:
    random = np.random.default_rng(seed)
    t, x = random.uniform(0, 1, count), random.uniform(-1, 1, count)
    values = cinnet.reference_solution(TRUTH)(t, x)
    noisy = values + noise * values.std() * random.standard_normal(count)
    unknown = {"advection": cinnet.Unknown(0.5), "dispersion": cinnet.Unknown(0.05, lower=0.0)}
    return cinnet.KortewegDeVries(**unknown, observations=cinnet.Observations(t, x, noisy))


if __name__ == "__main__":
    for name, found in cinnet.solve(problem(), grid=GRID, stages=STAGES).estimates.items():
        truth = getattr(TRUTH, name)
        print(f"{name}: {found.value:.5g} +- {found.standard_error:.1g}, truth {truth:.5g}")
