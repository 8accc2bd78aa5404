"""From a problem to the terms of its loss: equation, initial and boundary values, observations, beliefs, extras."""

import dataclasses
from collections.abc import Callable, Sequence

import equinox as eqx
import numpy as np
from jaxtyping import Array

from ..derivatives import Engine, JetEngine, resolve_engine
from ..networks import Network
from ..observations import Observations
from ..problems.base import EvolutionProblem
from ..sampling import TrainingPoints
from .columns import ColumnTerm
from .prior import Prior
from .term import ExtraTerm, Term

InitialValues = Callable[[np.ndarray], Array | np.ndarray]
Weighted = tuple[Term, float]


@dataclasses.dataclass(frozen=True)
class LossWeights:
    """omega_res, omega_ic and omega_bc of Eq. loss, the defaults are the paper's, and the weight of observations."""

    residual: float = 1.0
    initial: float = 100.0
    boundary: float = 100.0
    observation: float = 1.0

    def __post_init__(self):
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if not (np.isfinite(value) and value >= 0):
                raise ValueError(f"LossWeights({field.name}={value}): loss weights must be finite and not negative.")


class AllComponents(eqx.Module):
    """The operator that gives u itself, every component."""

    count: int = eqx.field(static=True)

    def __call__(self, *arguments):
        return arguments[: self.count]


def make_terms(
    problem: EvolutionProblem,
    network: Network,
    points: TrainingPoints,
    weights: LossWeights,
    engine: str | Engine,
    memory_limit: int | None,
    span: tuple[float, float],
    initial: InitialValues | None,
    extra_terms: Sequence[ExtraTerm | Term],
) -> list[Weighted]:
    """The terms of a loss with their weights (Eqs. loss, loss_terms): the initial value first, then the residual."""
    start, end = span
    interior = resolve_engine(engine, problem.box, points.counts)
    pointwise = JetEngine() if interior.couples_columns else interior
    common = {"memory_limit": memory_limit, "delay": start - network.interval.start}

    def term(name, operator, engine, where, **options) -> ColumnTerm:
        return ColumnTerm(name, operator, problem, network, engine, where, **common, **options)

    required = {"causal": True, "enforced": True}
    at_start = dataclasses.replace(points, times=np.array([start]))
    values = AllComponents(len(problem.outputs))
    targets = initial or problem.initial_values
    made: list[Weighted] = [
        (term("initial", values, pointwise, at_start, targets=targets, **required), weights.initial),
        (term("residual", problem.residual_operator, interior, points, **required), weights.residual),
    ]
    names: list[str] = []
    for condition, operator in problem.boundary_operators:
        face = TrainingPoints(points.times, condition.project(problem.box, points.points))
        names.append(condition.name)
        name = condition.name if names.count(condition.name) == 1 else f"{condition.name} {names.count(condition.name)}"
        made.append((term(name, operator, pointwise, face, **required), weights.boundary))
    for name, observed in observations_by_term(problem).items():
        inside = observed.between(start, end)
        if inside is not None:
            made.append((_observed(term, problem, name, inside), weights.observation))
    scales = {name: unknown.scales(problem.box) for name, unknown in problem.unknowns.items()}
    scales = {name: scale for name, scale in scales.items() if scale.any()}
    if scales:
        made.append((Prior(scales, network.dtype), 1.0))
    taken = {one.name for one, _ in made}
    for extra in extra_terms:
        if extra.name in taken:
            raise ValueError(f"extra_terms: the name {extra.name!r} is taken; choose another one.")
        taken.add(extra.name)
        added = extra if isinstance(extra, Term) else _extra(term, problem, interior, pointwise, points, span, extra)
        if added is not None:
            made.append((added, extra.weight))
    return made


def _observed(term: Callable[..., ColumnTerm], problem: EvolutionProblem, name: str, observed: Observations) -> Term:
    """The mismatch of every observation."""
    values = np.asarray(observed.values)
    return term(
        name,
        problem.on_real_fields(observed.operator(problem.components)),
        JetEngine(),
        TrainingPoints(observed.times[:1], observed.points),
        targets=lambda points: np.resize(values, len(points))[:, None],
        scattered=observed.times,
    )


def _extra(
    term: Callable[..., ColumnTerm],
    problem: EvolutionProblem,
    interior: Engine,
    pointwise: Engine,
    points: TrainingPoints,
    span: tuple[float, float],
    extra: ExtraTerm,
) -> Term | None:
    """A user's term, None where it has points of its own and none of their times is in this window."""
    operator = problem.on_real_fields(extra.operator)
    if extra.points is None:
        return term(extra.name, operator, interior, points, causal=extra.causal)
    slack = 1e-9 * (span[1] - span[0])
    inside = (extra.points.times >= span[0] - slack) & (extra.points.times <= span[1] + slack)
    if not inside.any():
        return None
    return term(extra.name, operator, pointwise, dataclasses.replace(extra.points, times=extra.points.times[inside]))


def observations_by_term(problem: EvolutionProblem) -> dict[str, Observations]:
    """The measurements of a problem under the names of their terms."""
    return {f"observations {i}" if i else "observations": one for i, one in enumerate(problem.observations)}


def check(
    problem: EvolutionProblem,
    network: Network,
    points: TrainingPoints,
    delay: float,
    causality: float | None,
    memory_limit: int | None,
) -> None:
    """Raise for parts that do not fit together."""
    problem.interval.check(points.times, "times")
    problem.box.check(points.points)
    if network.box != problem.box:
        raise ValueError(f"the network was built for {network.box}, but {problem.name} lives on {problem.box}.")
    network.interval.check(points.times - delay, "times")
    outputs = network.widths[-1]
    if outputs != len(problem.outputs):
        raise ValueError(f"the network has {outputs} output(s), but {problem.name} has components {problem.outputs}.")
    if causality is not None and not (np.isfinite(causality) and causality > 0):
        raise ValueError(f"causality={causality}: epsilon must be positive and finite, or None for no causal weights.")
    if causality is not None and (np.diff(points.times) <= 0).any():
        raise ValueError(f"times={points.times.tolist()}: causal weights need increasing time levels.")
    if memory_limit is not None and memory_limit <= 0:
        raise ValueError(f"memory_limit={memory_limit}: give a positive number of bytes, or None.")
