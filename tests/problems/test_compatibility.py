import jax.numpy as jnp
import pytest

import cinnet
from cinnet import Bounded, Box, EvolutionProblem, dirichlet, neumann, robin
from cinnet.config.settings import Stage
from cinnet.problems.compatibility import incompatibilities


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
    assert len(solution.result["incompatibilities"]) == 2
