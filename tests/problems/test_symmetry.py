import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.domains import Bounded, Box, Periodic
from cinnet.problems import PROBLEMS
from cinnet.problems.base import EvolutionProblem
from cinnet.problems.symmetry import find_symmetry
from cinnet.symmetry import Symmetry


def heat(initial_value, box, source=lambda *x: 0.0):
    class Heat(EvolutionProblem):
        space = box

        def residual(self, u, t, *x):
            return u.t - u.laplacian - source(*x)

        def initial(self, *x):
            return initial_value(*x)

    return Heat()


LINE = Box(Periodic(0.0, 2.0))
PLANE = Box(Periodic(0.0, 2.0), Periodic(0.0, 2.0))


def cosine(x):
    return jnp.cos(jnp.pi * x)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("allen-cahn", Symmetry((1,), (True,))),
        ("kdv", Symmetry((1,), (False,))),
        ("cahn-hilliard", Symmetry((2,), (True,))),
        ("allen-cahn-2d", Symmetry((1, 1), (True, True), exchange=True)),
    ],
)
def test_symmetries_of_the_benchmarks(name, expected):
    assert find_symmetry(PROBLEMS[name]()) == expected


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (heat(cosine, LINE), Symmetry((1,), (True,))),
        (heat(lambda x: jnp.cos(3 * jnp.pi * x), LINE), Symmetry((3,), (True,))),
        (heat(lambda x: jnp.sin(2 * jnp.pi * x), LINE), Symmetry((2,), (False,))),
        (heat(cosine, LINE, source=lambda x: jnp.sin(jnp.pi * x)), Symmetry((1,), (False,))),
        (heat(lambda x, y: cosine(x) + 2 * cosine(y), PLANE), Symmetry((1, 1), (True, True))),
        (heat(lambda x, y: cosine(x + y), PLANE), Symmetry((1, 1), (False, False), exchange=True)),
        (heat(cosine, Box(Bounded(0.0, 2.0))), Symmetry((1,), (False,))),
    ],
)
def test_a_symmetry_needs_the_initial_value_and_the_equation(problem, expected):
    assert find_symmetry(problem) == expected


def test_images_of_a_point_have_one_representative():
    symmetry = Symmetry((2, 2), (True, True), exchange=True)
    rng = np.random.default_rng(0)
    points = 2 * rng.random((20, 2))
    images = [points, points + np.array([1.0, 0.0]), np.array([2.0, 0.0]) - points * np.array([1, -1]), points[:, ::-1]]
    folded = [symmetry.representative(np.mod(image, 2.0), PLANE) for image in images]
    for other in folded[1:]:
        np.testing.assert_allclose(other, folded[0], atol=1e-12)
    assert len(np.unique(folded[0].round(9), axis=0)) == 20
    assert symmetry.order == 32
