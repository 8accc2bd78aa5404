"""What one loss-and-gradient costs at the paper's sizes, against plain GEMMs and against plain nested autodiff.

For each benchmark problem: CinNet 4x128, N_s = 4 N_t, the paper's grid. `x GEMM` is the time divided by the
time the same matrix-product FLOPs (counted in the traced program) take in one large float32 GEMM. `naive` maps
jax.grad inside jax.grad over single points, on a few columns and scaled up, because it needs too much memory
for more. Memory is what XLA reserves for temporaries.

    python benchmarks/step_cost.py [--problems allen-cahn kdv] [--memory-limit BYTES]
"""

import argparse
import time

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from cinnet import PROBLEMS, CinNet, Objective, TrainingPoints, latin_hypercube, uniform_grid
from cinnet.derivatives import NestedEngine
from cinnet.embeddings import default_harmonics
from cinnet.machine import gemm_seconds
from cinnet.training.forecast import matmul_flops

GRIDS = {"allen-cahn": (20, 256), "kdv": (20, 256), "cahn-hilliard": (40, 256), "allen-cahn-2d": (20, 1024)}
NAIVE_COLUMNS = 2


def seconds(function, *arguments, repeats: int = 3) -> float:
    jax.block_until_ready(function(*arguments))
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        jax.block_until_ready(function(*arguments))
        times.append(time.perf_counter() - start)
    return min(times)


def gemm_rate() -> float:
    """FLOP/s of a 4096^3 float32 GEMM."""
    return 2 * 4096**3 / gemm_seconds()


class GradOfGrad(NestedEngine):
    """The straightforward way: reverse mode inside reverse mode, one point at a time."""

    def __call__(self, network, plan, times, points, derivatives):
        def at_point(t, x):
            results = {}
            for index in derivatives:
                function = lambda z: network(z[0], z[1:])[0]  # noqa: E731
                for axis, order in enumerate(index):
                    for _ in range(order):
                        function = (lambda f, a: lambda z: jax.grad(f)(z)[a])(function, axis)
                results[index] = function(jnp.concatenate([t[None], x]))[None]
            return results

        return jax.vmap(jax.vmap(at_point, in_axes=(None, 0)), in_axes=(0, None))(times, points)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--problems", nargs="+", default=list(GRIDS), choices=list(GRIDS))
    parser.add_argument("--memory-limit", type=int, default=None, help="bytes of intermediate values held at once")
    options = parser.parse_args()
    step = eqx.filter_jit(lambda objective, network: objective.loss_and_gradient(network))
    print(f"{'problem':14} {'GFLOP':>7} {'seconds':>8} {'x GEMM':>7} {'MB':>6} {'naive s':>8} {'naive / ours':>12}")
    for name in options.problems:
        problem = PROBLEMS[name]()
        num_times, num_points = GRIDS[name]
        network = CinNet(
            problem.box,
            problem.interval,
            num_mesh_intervals=4 * num_times,
            harmonics=default_harmonics(problem.box, problem.spatial_order),
            key=jax.random.key(0),
        )
        grid = (problem.interval, problem.box, num_times, num_points)
        points = uniform_grid(*grid) if problem.box.dimension == 1 else latin_hypercube(*grid, seed=0)
        objective = Objective(problem, network, points, memory_limit=options.memory_limit)
        flops = matmul_flops(eqx.filter_make_jaxpr(step)(objective, network)[0])
        memory = step.lower(objective, network).compile().compiled.memory_analysis().temp_size_in_bytes
        rate = gemm_rate()
        ours = seconds(step, objective, network)
        rate = max(rate, gemm_rate())

        few = TrainingPoints(points.times, np.asarray(points.points[:NAIVE_COLUMNS]))
        naive = seconds(step, Objective(problem, network, few, engine=GradOfGrad()), network, repeats=1)
        naive *= num_points / NAIVE_COLUMNS
        print(
            f"{name:14} {flops / 1e9:7.1f} {ours:8.3f} {ours * rate / flops:7.2f} {memory / 1e6:6.0f} "
            f"{naive:8.1f} {naive / ours:12.1f}",
            flush=True,
        )
    print(f"GEMM peak: {rate / 1e9:.0f} GFLOP/s (4096^3, float32)")


if __name__ == "__main__":
    main()
