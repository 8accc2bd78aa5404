"""Where is it heated? A source that is an unknown function of space, from 200 noisy temperatures in a rod.

python examples/heat_source_inverse.py
"""

import jax.numpy as jnp
import numpy as np

import cinnet

GRID = (10, 32)
CONDUCTIVITY = 0.1
MODES = ((1, 1.0), (2, 0.5))


class Rod(cinnet.EvolutionProblem):
    """u_t - k u_xx = s(x) on [0, 1] x [0, 1], u = 0 at both ends and at the start."""

    source: cinnet.Parameter

    space = cinnet.Bounded(0.0, 1.0)
    boundary = (cinnet.dirichlet("x"),)

    def residual(self, u, t, x):
        return u.t - CONDUCTIVITY * u.xx - self.source(x)

    def initial(self, x):
        return 0.0 * x


def true_source(x):
    return sum(a * np.sin(n * np.pi * x) for n, a in MODES)


def true_temperature(t, x):
    rates = {n: CONDUCTIVITY * (n * np.pi) ** 2 for n, _ in MODES}
    return sum(a / rates[n] * -np.expm1(-rates[n] * t) * np.sin(n * np.pi * x) for n, a in MODES)


def problem(seed: int = 0, count: int = 200, noise: float = 0.01) -> Rod:
    random = np.random.default_rng(seed)
    t, x = random.uniform(0, 1, (2, count))
    values = true_temperature(t, x)
    noisy = values + noise * np.std(values) * random.standard_normal(count)
    return Rod(cinnet.UnknownField(0.0, order=6), observations=cinnet.Observations(t, x, noisy))


if __name__ == "__main__":
    solution = cinnet.solve(problem(), grid=GRID)
    x = jnp.linspace(0, 1, 101)
    found, truth = solution.known_problem.parameters["source"].on(x[:, None]), true_source(np.asarray(x))
    print(f"source: relative L2 error {np.linalg.norm(found - truth) / np.linalg.norm(truth):.1e}")
