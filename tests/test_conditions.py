import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.conditions import BoundaryCondition, dirichlet, neumann, robin
from cinnet.domains import Bounded, Box, Periodic
from cinnet.fields import apply_operator, required_derivatives

STRIP = Box(Periodic(-1.0, 1.0), Bounded(0.0, 3.0))


@pytest.mark.parametrize(("side", "end"), [("lower", 0.0), ("upper", 3.0)])
def test_points_are_moved_onto_the_face_once_each(side, end):
    points = np.array([[0.5, 1.0], [-0.5, 2.0], [0.5, 2.0]])
    face = BoundaryCondition("y", side).project(STRIP, points)
    np.testing.assert_array_equal(face, [[-0.5, end], [0.5, end]])
    np.testing.assert_array_equal(points[0], [0.5, 1.0])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (BoundaryCondition("x", "lower"), lambda u, slope, t, x: u),
        (BoundaryCondition("x", "lower", value=lambda t, x: t + x), lambda u, slope, t, x: u - (t + x)),
        (
            BoundaryCondition("x", "lower", operator=lambda u, t, x: u.x + 2 * u, value=lambda t, x: 5.0),
            lambda u, slope, t, x: slope + 2 * u - 5.0,
        ),
    ],
)
def test_mismatch_is_operator_minus_value(condition, expected):
    generator = np.random.default_rng(0)
    u, slope = generator.normal(size=(2, 3, 2, 1))
    times, points = generator.normal(size=3), generator.normal(size=(2, 1))
    derivatives = {(0, 0): jnp.asarray(u), (0, 1): jnp.asarray(slope)}
    result = apply_operator(condition.mismatch, derivatives, jnp.asarray(times), jnp.asarray(points))
    by_hand = expected(u[..., 0], slope[..., 0], times[:, None], points[:, 0])
    np.testing.assert_allclose(result[..., 0], np.broadcast_to(by_hand, (3, 2)), rtol=1e-14)


def test_conditions_on_several_components():
    both = BoundaryCondition("x", "upper", operator=lambda u, v, t, x: (u, v.x), value=lambda t, x: (1.0, t))
    assert required_derivatives(both.mismatch, 1, 2) == ({(0, 0), (0, 1)}, 2)
    same = BoundaryCondition("x", "upper", operator=lambda u, v, t, x: (u, v))
    values = jnp.array([[[3.0, 4.0]]])
    result = apply_operator(same.mismatch, {(0, 0): values}, jnp.zeros(1), jnp.zeros((1, 1)))
    np.testing.assert_array_equal(result, values)


@pytest.mark.parametrize(
    ("condition", "lower", "upper"),
    [
        (dirichlet("x", value=5.0), [3.0 - 5.0, 4.0 - 5.0], [3.0 - 5.0, 4.0 - 5.0]),
        (dirichlet("x", of=1), [4.0], [4.0]),
        (neumann("x", value=1.0), [-7.0 - 1.0, -8.0 - 1.0], [7.0 - 1.0, 8.0 - 1.0]),
        (robin("x", value=lambda t, x: t, a=2.0, b=0.5, of=0), [6.0 - 3.5 - 0.25], [6.0 + 3.5 - 0.25]),
    ],
)
def test_usual_conditions_on_both_faces(condition, lower, upper):
    """u = 3, v = 4, u_x = 7, v_x = 8 at t = 1/4; normal derivatives point outwards."""
    values = {(0, 0): jnp.array([[[3.0, 4.0]]]), (0, 1): jnp.array([[[7.0, 8.0]]])}
    faces = list(condition.faces())
    assert [face.side for face in faces] == ["lower", "upper"]
    for face, expected in zip(faces, (lower, upper), strict=True):
        result = apply_operator(face.mismatch, values, jnp.array([0.25]), jnp.zeros((1, 1)))
        np.testing.assert_allclose(result[0, 0], expected)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: robin("x", a=0.0, b=0.0), "not both zero"),
        (lambda: BoundaryCondition("x", "left"), "side='left'.*'lower'"),
        (lambda: BoundaryCondition("x", "lower").check(STRIP), "axis='x'.*periodic"),
        (lambda: BoundaryCondition("z", "lower").check(STRIP), r"axis 'z'.*\['x', 'y'\]"),
    ],
)
def test_condition_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
