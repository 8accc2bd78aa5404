"""What the data say about the unknowns: their values, and standard errors, from the linearised equation.

How much a small change of an unknown moves the observations, where the solution follows it (see
`objective.constrained`), compared with their noise, is the information that they hold on the unknown.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from scipy.stats import t as student_t

from ..networks import Network, WithUnknowns
from ..objective import Objective
from ..objective.constrained import ConstrainedProblem
from ..problems.base import EvolutionProblem
from ..unknowns import Unknown


@dataclass(frozen=True)
class Estimate:
    """The value of an unknown number, with its standard error and 95 % interval where there are data for them."""

    value: float
    standard_error: float | None = None
    lower: float | None = None
    upper: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def __str__(self) -> str:
        if self.standard_error is None:
            return f"{self.value:.4g}"
        return f"{self.value:.4g} +- {self.standard_error:.2g}, 95 % interval {self.lower:.4g} to {self.upper:.4g}"


def known_problem(problem: EvolutionProblem, network: Network) -> EvolutionProblem:
    """The problem with what a network learned in the place of its unknowns."""
    return problem.with_unknowns(network.coefficients) if isinstance(network, WithUnknowns) else problem


def estimates(problem: EvolutionProblem, objective: Objective, network: WithUnknowns) -> Mapping[str, Estimate]:
    """The unknown numbers of a problem after training; unknown fields count, but are not reported."""
    unknowns, box = problem.unknowns, problem.box
    scalars = {name: one for name, one in unknowns.items() if isinstance(one, Unknown)}
    values = {name: float(one.realise(network.coefficients[name], box)) for name, one in scalars.items()}
    linear = ConstrainedProblem.of(problem, objective, network)
    if not linear.is_overdetermined:
        return {name: Estimate(value) for name, value in values.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = np.linalg.pinv(linear.information(), hermitian=True)
    results, start = {}, 0
    quantile = float(student_t.ppf(0.975, linear.freedom))
    for name in sorted(unknowns):
        one = unknowns[name]
        if isinstance(one, Unknown):
            raw = network.coefficients[name].astype(jnp.float64)
            deviation = float(np.sqrt(covariance[start, start]))
            slope = float(jax.grad(lambda c, one=one: one.realise(c, box))(raw)[0])
            ends = sorted(float(one.realise(raw + side * quantile * deviation, box)) for side in (-1, 1))
            results[name] = Estimate(values[name], abs(slope) * deviation, ends[0], ends[1])
        start += one.num_coefficients(box)
    return results
