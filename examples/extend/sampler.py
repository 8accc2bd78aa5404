"""Training points of your own: more of them near the interfaces of the initial value.

python examples/extend/sampler.py
"""

import numpy as np

import cinnet


def near_interfaces(interval, box, num_times, num_points, *, seed, include_start):
    """Time levels as usual; two thirds of the points within 0.1 of where u0 = x^2 cos(pi x) changes its sign."""
    rng = np.random.default_rng(seed)
    close = num_points * 2 // 3
    points = np.concatenate([rng.choice([-0.5, 0.5], close) + rng.uniform(-0.1, 0.1, close)])
    points = np.concatenate([points, rng.uniform(box.axes[0].lower, box.axes[0].upper, num_points - close)])
    times = np.linspace(interval.start, interval.end, num_times + 1)
    return cinnet.TrainingPoints(times if include_start else times[1:], np.sort(points)[:, None])


if __name__ == "__main__":
    solution = cinnet.solve("allen-cahn", grid=(10, 96), sampling=near_interfaces, steps=25)
    print(solution.verdict)
