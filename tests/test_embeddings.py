import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import all_derivatives, paper_features

from cinnet.domains import Bounded, Box, Periodic
from cinnet.embeddings import Embedding, default_harmonics
from cinnet.fields import factorial

LINE = Box(Periodic(-1.0, 2.0))
TORUS = Box(Periodic(-1.0, 2.0), Periodic(0.5, 1.5))
STRIP = Box(Bounded(1.0, 5.0), Periodic(0.5, 1.5))


@pytest.mark.parametrize(("box", "harmonics"), [(LINE, (3,)), (TORUS, (2, 3))])
def test_features_are_the_papers_in_the_papers_order(box, harmonics):
    point = np.array([0.3, 0.9])[: box.dimension]
    embedding = Embedding(box, harmonics)
    lower, upper = [axis.lower for axis in box.axes], [axis.upper for axis in box.axes]
    expected = paper_features(point, lower, upper, harmonics)
    np.testing.assert_allclose(embedding(jnp.asarray(point)), expected, rtol=1e-14)
    assert embedding.num_features == len(expected)


def test_complete_features_are_all_products_of_the_one_dimensional_ones():
    point = np.array([0.3, 0.9])
    along = [paper_features(point[[i]], [axis.lower], [axis.upper], (2,)) for i, axis in enumerate(TORUS.axes)]
    embedding = Embedding(TORUS, 2, tensor="complete")
    expected = [a * b for a, b in itertools.product(*along)]
    np.testing.assert_allclose(embedding(jnp.asarray(point)), expected, rtol=1e-14)
    assert expected[0] == 1.0


@pytest.mark.parametrize(("tensor", "count"), [("paper", 8 * 2 * 1 * 3), ("complete", 5 * 3 * 7)])
def test_feature_count_in_three_dimensions(tensor, count):
    box = Box(*[Periodic(0.0, 1.0)] * 3)
    embedding = Embedding(box, (2, 1, 3), tensor)
    features = embedding(jnp.array([0.137, 0.291, 0.4137]))
    assert embedding.num_features == features.size == count
    assert len(set(np.round(np.asarray(features), 12))) == count


def test_bounded_axes_are_scaled_to_the_unit_interval_and_come_last():
    embedding = Embedding(STRIP, 1)
    for x, scaled in ((1.0, -1.0), (3.0, 0.0), (5.0, 1.0)):
        features = embedding(jnp.array([x, 0.7]))
        np.testing.assert_allclose(features, [*paper_features(np.array([0.7]), [0.5], [1.5], (1,)), scaled], atol=1e-15)
    assert Embedding(Box(), 3)(jnp.zeros(0)).shape == (0,)
    assert Embedding(Box(), 3).num_features == 0
    assert Embedding(Box(Bounded(0.0, 1.0))).num_features == 1


def test_bounded_axes_may_have_waves_of_twice_their_length():
    embedding = Embedding(Box(Bounded(1.0, 5.0)), bounded_harmonics=2)
    x, part = 2.0, 0.25
    cosines, sines = ([wave(m * np.pi * part) for m in (1, 2)] for wave in (np.cos, np.sin))
    np.testing.assert_allclose(embedding(jnp.array([x])), [2 * part - 1, *cosines, *sines], rtol=1e-14)
    assert embedding.num_features == 5


@pytest.mark.parametrize(
    ("box", "orders"), [(LINE, (4,)), (TORUS, (2, 2)), (STRIP, (2, 2))], ids=["line", "torus", "strip"]
)
@pytest.mark.parametrize("tensor", ["paper", "complete"])
def test_jets_equal_autodiff(box, orders, tensor):
    embedding = Embedding(box, 2, tensor, bounded_harmonics=2)
    points = jnp.array([[0.3, 0.9], [1.4, 0.6]])[:, : box.dimension]
    expected = jax.jit(jax.vmap(lambda x: all_derivatives(embedding, x, orders)))(points)
    result = embedding.jets(points, list(expected))
    for index, value in result.items():
        np.testing.assert_allclose(value * factorial(index), expected[index], rtol=1e-11, atol=1e-9)


def test_values_and_derivatives_are_periodic():
    embedding = Embedding(TORUS, 2)
    indices = [(0, 0), (1, 0), (0, 2), (3, 1)]
    here = embedding.jets(jnp.array([[-1.0, 0.8], [0.2, 0.5]]), indices)
    there = embedding.jets(jnp.array([[2.0, 0.8], [0.2, 1.5]]), indices)
    for index in indices:
        assert np.abs(here[index]).max() > 0.1
        np.testing.assert_allclose(here[index], there[index], rtol=0, atol=1e-12 * np.abs(here[index]).max())


@pytest.mark.parametrize(
    ("box", "order", "expected"),
    [(LINE, 2, (10,)), (LINE, 4, (5,)), (TORUS, 2, (2, 2)), (STRIP, 3, (10,)), (Box(Bounded(0.0, 1.0)), 2, ())],
)
def test_default_harmonics_are_the_papers(box, order, expected):
    assert default_harmonics(box, order) == expected


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((LINE, 0), "harmonics=0.*M >= 1"),
        ((TORUS, (2, 0)), r"harmonics=\(2, 0\)"),
        ((TORUS, (2,)), r"harmonics=\(2,\).*2 periodic"),
        ((TORUS, 2, "full"), "tensor='full'.*'complete'"),
        ((STRIP, 2, "paper", None, None, -1), "bounded_harmonics=-1"),
    ],
)
def test_embedding_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        Embedding(*arguments)
