import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from least_squares_problems import MATRIX, PROBLEMS, TARGET, Residuals, linear_residual, train

from cinnet.optimizers import LevenbergMarquardt
from cinnet.optimizers.damping import Damping, gain_ratio
from cinnet.optimizers.levenberg_marquardt import DampingState


def test_step_solves_the_damped_normal_equations():
    optimizer = LevenbergMarquardt(initial_damping=0.3)
    x, _, info = eqx.filter_jit(optimizer.step)(Residuals(linear_residual), jnp.zeros(5), optimizer.init(jnp.zeros(5)))
    damped = MATRIX.T @ MATRIX + 0.3 * np.sum(TARGET**2) * np.eye(5)
    np.testing.assert_allclose(x, np.linalg.solve(damped, MATRIX.T @ TARGET), rtol=1e-10)
    np.testing.assert_allclose(info.loss, np.sum(TARGET**2))
    # A linear model predicts a linear problem exactly, so the damping falls by 4.
    np.testing.assert_allclose(info.extras["gain"], 1.0, rtol=1e-10)
    np.testing.assert_allclose(info.extras["damping"], 0.3 / 4)


def test_primal_and_dual_form_give_the_same_step():
    """Parameters that do nothing make the problem wide; those that matter must move as before."""

    def wide_residual(x):
        return linear_residual(x[:5])

    optimizer = LevenbergMarquardt()
    narrow, _, _ = eqx.filter_jit(optimizer.step)(
        Residuals(linear_residual), jnp.zeros(5), optimizer.init(jnp.zeros(5))
    )
    wide, _, _ = eqx.filter_jit(optimizer.step)(Residuals(wide_residual), jnp.zeros(20), optimizer.init(jnp.zeros(20)))
    np.testing.assert_allclose(wide[:5], narrow, rtol=1e-9)
    np.testing.assert_array_equal(wide[5:], 0.0)


def test_moves_where_the_loss_falls():
    objective, start, _ = PROBLEMS["rosenbrock"]
    _, _, infos = train(LevenbergMarquardt(), objective, start, 40)
    assert np.any(infos.moved)
    assert np.all(infos.moved == (infos.extras["gain"] > 0))


@pytest.mark.parametrize(("gain", "factor"), [(0.9, 0.25), (0.5, 1.0), (0.1, 2.0), (0.0, 5.0), (-3.0, 5.0)])
def test_damping_follows_the_gain(gain, factor):
    damping = Damping(1.0, 1e-8, 1e8, 12)
    np.testing.assert_allclose(damping.adapt(jnp.asarray(2.0), jnp.asarray(gain)), 2.0 * factor)
    assert damping.adapt(jnp.asarray(1e8), jnp.asarray(-1.0)) == 1e8
    assert damping.adapt(jnp.asarray(1e-8), jnp.asarray(1.0)) == 1e-8


@pytest.mark.parametrize(
    ("trial_loss", "predicted", "expected"),
    [(1.0, 2.0, 0.5), (3.0, 2.0, -0.5), (3.0, -2.0, -1.0), (np.nan, 1.0, -1.0), (np.inf, 1.0, -1.0), (1.0, 0.0, -1.0)],
)
def test_gain_ratio(trial_loss, predicted, expected):
    """A prediction that is not positive is an artefact of rounding; an increase must not pass for a gain."""
    ratio = gain_ratio(*[jnp.asarray(value) for value in (2.0, trial_loss, predicted)])
    np.testing.assert_allclose(ratio, expected)


def test_trial_that_is_not_finite_is_rejected():
    def residual(x):
        return jnp.where(x > 0.5, jnp.nan, 4.0 - x)

    optimizer, start = LevenbergMarquardt(initial_damping=1e-6), jnp.zeros(1)
    step = eqx.filter_jit(optimizer.step)
    x, state, info = step(Residuals(residual), start, optimizer.init(start))
    assert info.moved
    assert info.extras["trials"] > 1
    assert 0 < x[0] <= 0.5
    assert state.damping > 1e-6


def test_gives_up_after_max_trials():
    def residual(x):
        return jnp.where(x == 0.0, 1.0 + x, jnp.nan)

    optimizer, start = LevenbergMarquardt(max_trials=3), jnp.zeros(1)
    x, state, info = eqx.filter_jit(optimizer.step)(Residuals(residual), start, optimizer.init(start))
    np.testing.assert_array_equal(x, start)
    assert not info.moved
    assert info.extras["trials"] == 3
    np.testing.assert_allclose(state.damping, 125.0)
    assert jax.tree.structure(state) == jax.tree.structure(DampingState(jnp.asarray(1.0)))


def _quadratic(x):
    """Mildly curved residuals, whose second derivative along (a, b) is (a^2, 0, a b) / 2."""
    return jnp.stack([x[0] + x[0] ** 2 / 4 - 1.0, x[1] - 2.0, x[0] * x[1] / 4 + 0.5])


def test_geodesic_acceleration_follows_the_curvature():
    """Against the closed form in NumPy."""
    start = np.array([0.3, -0.2])
    residual, jacobian = np.asarray(_quadratic(start)), np.asarray(jax.jacobian(_quadratic)(start))
    inverse = np.linalg.inv(jacobian.T @ jacobian + 2.0 * residual @ residual * np.eye(2))
    straight = -inverse @ jacobian.T @ residual
    curvature = np.array([straight[0] ** 2, 0.0, straight[0] * straight[1]]) / 2
    acceleration = -inverse @ jacobian.T @ curvature
    ratio = float(2 * np.linalg.norm(acceleration) / np.linalg.norm(straight))
    for max_acceleration, expected in (
        (1.01 * ratio, straight + acceleration / 2),
        (0.99 * ratio, straight),
        (0.0, straight),
    ):
        optimizer = LevenbergMarquardt(initial_damping=2.0, max_acceleration=max_acceleration)
        step = eqx.filter_jit(optimizer.step)
        x, _, _ = step(Residuals(_quadratic), jnp.asarray(start), optimizer.init(jnp.asarray(start)))
        np.testing.assert_allclose(x, start + expected, rtol=1e-9)


def test_acceleration_is_faster_through_a_curved_valley():
    objective, start, _ = PROBLEMS["rosenbrock"]

    def steps_needed(max_acceleration):
        _, _, infos = train(LevenbergMarquardt(max_acceleration=max_acceleration), objective, start, 60)
        return int(np.argmax(np.asarray(infos.loss) < 1e-12))

    assert 0 < steps_needed(0.75) < steps_needed(0.0)


@pytest.mark.parametrize("shape", [(40, 10), (10, 40)], ids=["primal", "dual"])
def test_double_products_see_what_rounding_of_single_ones_hides(shape):
    """The target lies along the least singular vector, whose square is below the rounding of the largest one's."""
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.normal(size=(size, 10)))[0] for size in shape)
    matrix = jnp.asarray(left @ np.diag(np.geomspace(30, 1e-3, 10)) @ right.T, jnp.float32)
    target = jnp.asarray(1e-2 * left[:, -1], jnp.float32)

    def loss_after(double_products):
        optimizer, start = LevenbergMarquardt(double_products=double_products), jnp.zeros(shape[1], jnp.float32)
        _, _, infos = train(optimizer, Residuals(lambda x: matrix @ x - target), start, 20)
        return float(infos.loss[-1])

    assert 10 * loss_after(True) < loss_after(False)


@pytest.mark.parametrize("shape", [(40, 10), (10, 40)], ids=["primal", "dual"])
def test_a_lightly_damped_step_with_double_products_is_that_of_numpy(shape):
    """In the dual form the multipliers are large and cancel: rounded to single precision they ruin the step."""
    random = np.random.default_rng(0)
    left, right = (np.linalg.qr(random.normal(size=(size, 10)))[0] for size in shape)
    matrix = (left @ np.diag(np.geomspace(30, 1e-3, 10)) @ right.T).astype(np.float32)
    target = (1e-2 * left.sum(axis=1)).astype(np.float32)
    loss = float(np.sum(target.astype(np.float64) ** 2))
    damping = 1e-6 / loss

    exact = matrix.astype(np.float64)
    move = np.linalg.solve(exact.T @ exact + 1e-6 * np.eye(shape[1]), exact.T @ target)
    expected = np.sum((exact @ move - target) ** 2)

    optimizer = LevenbergMarquardt(
        initial_damping=damping, min_damping=damping / 10, max_acceleration=0.0, double_products=True
    )
    model, _, infos = train(optimizer, Residuals(lambda x: matrix @ x - target), jnp.zeros(shape[1], jnp.float32), 1)
    assert infos.extras["trials"][0] == 1
    assert np.sum((exact @ np.asarray(model, np.float64) - target) ** 2) == pytest.approx(expected, rel=1e-2)
