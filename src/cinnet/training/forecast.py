"""What a run will need, before it starts: parameters, rows, memory, time."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.extend.core

from ..config.settings import Settings
from ..optimizers import OPTIMIZERS, LevenbergMarquardt
from ..problems.base import EvolutionProblem
from ..solver import gemm_seconds
from .build import Window, build_network, build_objective, build_points, stage_points

_SHARE_OF_GEMM_PEAK = 0.4  # measured over the benchmark problems: what a whole step reaches


def estimate(problem: EvolutionProblem, settings: Settings) -> dict[str, Any]:
    """Sizes, memory in GB and seconds of the last stage, counted in its traced step and not compiled.

    The time is that of its matrix products and factorisations at a share of the machine's GEMM rate, all steps used,
    without compilation: right to a factor of about two.
    """
    with jax.enable_x64(True):
        network = build_network(problem, settings)
        window = Window.of(problem, settings, ())
        stage = settings.stages[-1]
        points = stage_points(build_points(problem, settings), stage, window)
        objective = build_objective(problem, settings, network, points, window)
        optimizer = OPTIMIZERS[stage.optimizer](**stage.options)
        num_parameters = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(network, eqx.is_inexact_array)))
        memory = 0
        if isinstance(optimizer, LevenbergMarquardt):
            memory = optimizer.memory(objective.num_rows, num_parameters, network.dtype.itemsize)
        step = eqx.filter_make_jaxpr(optimizer.step)(objective, network, optimizer.init(network))[0]
        rate = 2 * 4096**3 / gemm_seconds()
    seconds = settings.total_steps * matmul_flops(step) / (rate * _SHARE_OF_GEMM_PEAK)
    return {
        "parameters": num_parameters,
        "rows": objective.num_rows,
        "columns": objective.residual_term.num_points,
        "windows": settings.windows,
        "matrix gigabytes": round(memory / 1e9, 3),
        "estimated seconds": float(f"{seconds:.2g}"),
    }


def matmul_flops(jaxpr) -> int:
    """FLOPs of all matrix products and Cholesky factorisations in a traced program, loops of known length included."""
    total = 0
    for equation in jaxpr.eqns:
        if equation.primitive.name == "dot_general":
            (contracting, _), _ = equation.params["dimension_numbers"]
            left = equation.invars[0].aval.shape
            total += 2 * math.prod(equation.outvars[0].aval.shape) * math.prod(left[i] for i in contracting)
        if equation.primitive.name == "cholesky":
            total += 2 * equation.outvars[0].aval.shape[-1] ** 3 // 3  # in float64, at half the rate
        repeats = equation.params.get("length", 1) if equation.primitive.name == "scan" else 1
        for inner in jax.extend.core.jaxprs_in_params(equation.params):
            total += repeats * matmul_flops(inner)
    return total
