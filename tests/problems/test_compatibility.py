import importlib.util
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

import cinnet
from cinnet import Bounded, Box, EvolutionProblem, Periodic, Unknown, dirichlet, neumann, robin
from cinnet.config.settings import Stage
from cinnet.problems import PROBLEMS
from cinnet.problems.compatibility import incompatibilities
from cinnet.unknowns import Parameter


class Rod(EvolutionProblem):
    space = Bounded(0.0, 1.0)

    def residual(self, u, t, x):
        return u.t - u.xx

    def initial(self, x):
        return 2 + x


def rod(*conditions):
    return type("Rod", (Rod,), {"boundary": conditions})()


@pytest.mark.parametrize(
    ("conditions", "found"),
    [
        ((dirichlet("x", "lower", 2.0), dirichlet("x", "upper", lambda t, x: 3 + t)), []),
        ((neumann("x", "lower", -1.0), neumann("x", "upper", 1.0)), []),
        ((robin("x", "upper", 7.0, a=2.0, b=1.0),), []),
        ((dirichlet("x"),), ["boundary x lower by 2.0e+00", "boundary x upper by 3.0e+00"]),
        ((neumann("x"),), ["boundary x lower by 1.0e+00", "boundary x upper by 1.0e+00"]),
    ],
)
def test_initial_value_against_conditions(conditions, found):
    sentences = incompatibilities(rod(*conditions))
    assert len(sentences) == len(found)
    for sentence, part in zip(sentences, found, strict=True):
        assert part in sentence


def test_a_condition_with_an_unknown_contradicts_nothing():
    """Its guess was once taken for its value."""

    class Heated(Rod):
        end: Parameter = 5.0

        @property
        def boundary(self):
            return dirichlet("x", "lower"), dirichlet("x", "upper", self.end)

    known, unknown = (incompatibilities(Heated(end)) for end in (5.0, Unknown(5.0)))
    assert len(known) == 2
    assert unknown == known[:1]


def test_faces_that_contradict_each_other():
    class Plate(EvolutionProblem):
        space = Box(Bounded(0.0, 1.0), Bounded(0.0, 1.0))
        boundary = (dirichlet("x", value=lambda t, x, y: t), dirichlet("y"))

        def residual(self, u, t, x, y):
            return u.t - u.laplacian

        def initial(self, x, y):
            return jnp.sin(jnp.pi * x) * jnp.sin(jnp.pi * y)

    sentences = incompatibilities(Plate())
    assert len(sentences) == 4
    assert "boundary x lower and boundary y lower differ by 1.0e+00 where the faces meet" in sentences[0]


def test_run_reports_it():
    with pytest.warns(UserWarning, match="the initial value misses the condition on boundary x lower by 2.0e"):
        solution = cinnet.solve(
            rod(dirichlet("x")), grid=(2, 4), hidden=(4,), stages=(Stage("levenberg-marquardt", 2),), reference=False
        )
    assert len(solution.result.incompatibilities) == 2


class Transport(EvolutionProblem):
    """Moves along x only."""

    def residual(self, u, t, *x):
        return u.t + u.x

    def initial(self, x, y=0.0):
        return 2 * x + 0 * y


def transport(*axes, **attributes):
    return type("Transport", (Transport,), {"space": Box(*axes), **attributes})()


@pytest.mark.parametrize(
    ("problem", "found"),
    [
        (transport(Bounded(0.0, 1.0)), ["axis x has no boundary condition, so that many solutions fit"]),
        (transport(Bounded(0.0, 1.0), boundary=(dirichlet("x", "lower"),)), []),
        (transport(Bounded(0.0, 1.0), Bounded(0.0, 1.0), boundary=(dirichlet("x", "lower"),)), []),
        (transport(Periodic(-1.0, 1.0)), ["jumps by 4.0e+00 from one end of the periodic axis x to the other"]),
        (transport(Bounded(0.0, 1.0), Periodic(-1.0, 1.0)), ["axis x has no boundary condition"]),
        (transport(Periodic(-1.0, 1.0), initial=lambda self, x: 1e-6 * x), ["the solution is wrong near the jump"]),
        (transport(Periodic(-1.0, 1.0), initial=lambda self, x: abs(x)), []),
        (transport(Periodic(-1.0, 1.0), initial=lambda self, x: 0 * x), []),
    ],
)
def test_ends_of_axes(problem, found):
    sentences = incompatibilities(problem)
    assert len(sentences) == len(found)
    for sentence, part in zip(sentences, found, strict=True):
        assert part in sentence


def examples():
    for path in sorted(Path(__file__).parents[2].glob("examples/*.py")):
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__ == path.stem and not hasattr(module, "problem"):
                yield value


def test_problems_that_are_well_posed_are_not_warned_of():
    with jax.numpy_dtype_promotion("standard"):
        problems = [cls() for cls in (*PROBLEMS.values(), *examples())]
        assert len(problems) > 12
        assert {problem.name: found for problem in problems if (found := incompatibilities(problem))} == {}
