"""What a run will need, before it starts: parameters, rows, memory, time."""

import math
from typing import Any

import equinox as eqx
import jax
import jax.extend.core

from ..config.settings import Settings
from ..machine import gemm_seconds
from ..problems.base import EvolutionProblem
from .stepper import num_parameters
from .trainer import Trainer

_SHARE_OF_GEMM_PEAK = 0.4  # measured over the benchmark problems: what a whole step reaches


def forecast(problem: EvolutionProblem, settings: Settings) -> dict[str, Any]:
    """Sizes, memory in GB and seconds of the last stage, counted in its traced step and not compiled.

    The time is that of its matrix products and factorisations at a share of the machine's GEMM rate, all steps used,
    without compilation: right to a factor of about two.
    """
    with jax.enable_x64(True):
        trainer = Trainer(problem, settings)
        of_first_window = [phase for phase in trainer.phases if phase.window == 0]
        stepper = trainer.stepper_of(of_first_window[-1])
        network, objective = stepper.state.network, stepper.objective
        count = num_parameters(network)
        optimizer = of_first_window[-1].optimizer
        memory = optimizer.memory(objective.num_rows, count, network.dtype.itemsize)
        step = eqx.filter_make_jaxpr(optimizer.step)(objective, network, optimizer.init(network))[0]
        rate = 2 * 4096**3 / gemm_seconds()
    seconds = settings.total_steps * matmul_flops(step) / (rate * _SHARE_OF_GEMM_PEAK)
    return {
        "parameters": count,
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
