import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.config.presets import resolve_settings
from cinnet.domains import Bounded, Box, Periodic
from cinnet.problems import PROBLEMS
from cinnet.problems.base import EvolutionProblem
from cinnet.problems.symmetry import find_symmetry
from cinnet.symmetry import Symmetry
from cinnet.training.build import build_network


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


def pulse(width, *centre):
    return lambda *x: jnp.exp(-sum(((a - b) / width) ** 2 for a, b in zip(x, centre, strict=True)))


def bump(width, centre):
    """Zero, not only small, away from its centre."""
    return lambda x: jnp.maximum(1 - jnp.abs(x - centre) / width, 0.0)


SYMMETRIC = Box(Periodic(-1.0, 1.0))


@pytest.mark.parametrize(
    ("problem", "expected"),
    [
        (heat(pulse(0.005, 0.5), SYMMETRIC), Symmetry((1,), (False,))),
        (heat(pulse(0.002, 0.13), SYMMETRIC), Symmetry((1,), (False,))),
        (heat(pulse(0.002, 0.0), SYMMETRIC), Symmetry((1,), (True,))),
        (heat(lambda x: cosine(x) + bump(1e-3, 0.4)(x), SYMMETRIC), Symmetry((1,), (False,))),
        (heat(cosine, SYMMETRIC, source=bump(1e-3, 0.77)), Symmetry((1,), (False,))),
        (heat(pulse(0.01, 0.31, 1.62), PLANE), Symmetry((1, 1), (False, False))),
        (heat(pulse(0.01, 1.0, 1.0), PLANE), Symmetry((1, 1), (True, True), exchange=True)),
    ],
)
def test_narrow_features_are_seen(problem, expected):
    assert find_symmetry(problem) == expected


def test_a_spike_inside_a_feature_is_seen():
    """Between the points of any grid: only the cells where something varies are searched that closely."""
    even = lambda x: bump(1e-3, 0.4)(x) + bump(1e-3, -0.4)(x)  # noqa: E731
    assert find_symmetry(heat(even, SYMMETRIC)).even == (True,)
    assert find_symmetry(heat(lambda x: even(x) + bump(1e-5, 0.4)(x), SYMMETRIC)).even == (False,)


class Mixture(EvolutionProblem):
    """Components of very different size, of which the small one is not even."""

    space = LINE
    components = ("pressure", "concentration")

    def residual(self, p, c, t, x):
        return p.t - p.xx, c.t - c.xx

    def initial(self, x):
        return 1e6 * cosine(x), 1e-6 * (1 + jnp.sin(jnp.pi * x))


class Micrometre(EvolutionProblem):
    """Diffusion and slow drift in metres and seconds."""

    space = Periodic(0.0, 1e-6)

    def residual(self, u, t, x):
        return u.t + 1e-13 * u.x - 1e-12 * u.xx

    def initial(self, x):
        return jnp.cos(2e6 * jnp.pi * x)


@pytest.mark.parametrize(
    "problem",
    [
        heat(lambda x: 1e-12 * (cosine(x) + 1e-3 * jnp.sin(jnp.pi * x)), LINE),
        heat(lambda x: 1e-12 * cosine(x), LINE, source=lambda x: 1e-13 * jnp.sin(jnp.pi * x)),
        heat(lambda x: 0.0 * x, LINE, source=lambda x: 1e-12 * (2 + jnp.sin(jnp.pi * x))),
        Mixture(),
        Micrometre(),
    ],
)
def test_units_do_not_matter(problem):
    """What is small in the user's units was once taken for rounding: values of 1e-12 had all symmetries."""
    assert find_symmetry(problem) == Symmetry((1,), (False,))


@pytest.mark.parametrize("problem", [heat(bump(1e-9, 0.4), LINE), heat(cosine, LINE, source=bump(1e-9, 0.4))])
def test_what_may_hide_something_has_no_symmetry(problem):
    assert find_symmetry(problem).order == 1


def test_what_is_constant_by_construction_hides_nothing():
    assert find_symmetry(heat(lambda x: 0.0 * x, LINE)) == Symmetry((8,), (True,))


@pytest.mark.parametrize("point", [0.4, 1.6, -0.4])
def test_given_points_and_their_images_are_tried(point):
    problem = heat(lambda x: cosine(x) + bump(1e-9, 0.4)(x), LINE)
    assert find_symmetry(problem).even == (True,)
    assert find_symmetry(problem, np.array([[0.1], [point]])).even == (False,)


def test_a_network_has_no_symmetry_that_its_training_columns_have_not():
    problem = heat(lambda x: cosine(x) + bump(1e-9, 0.4)(x), LINE)
    for columns, even in ((5, False), (6, True)):  # 0.4 is one of five points, and not of six
        settings = resolve_settings(problem, grid=(2, columns), hidden=(3,), windows=1)
        assert build_network(problem, settings).symmetry.even == (even,)


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
