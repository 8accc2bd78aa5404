import functools

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize
from least_squares_problems import MATRIX, PROBLEMS, Residuals

from cinnet.optimizers import LBFGS, SelfScaledBroyden
from cinnet.optimizers.quasi_newton import BroydenState, _updated

VARIANTS = ["ss-broyden", "ss-bfgs", "bfgs"]


@functools.cache
def trajectory(variant, problem, num_steps=60):
    """(model and state before, after, report) for every step."""
    objective, model, _ = PROBLEMS[problem]
    optimizer = SelfScaledBroyden(variant)
    step, state, result = eqx.filter_jit(optimizer.step), optimizer.init(model), []
    for _ in range(num_steps):
        after = step(objective, model, state)
        result.append(((model, state), after[:2], after[2]))
        model, state = after[:2]
    return result


@pytest.mark.parametrize("variant", VARIANTS)
def test_quadratic_terminates(variant):
    """A quadratic of n parameters takes little more than n steps, and BFGS learns its inverse Hessian."""
    objective, _, least = PROBLEMS["linear"]
    x, state = trajectory(variant, "linear")[14][1]
    np.testing.assert_allclose(objective.loss(x), least, rtol=1e-8)
    if variant == "bfgs":
        np.testing.assert_allclose(state.inverse_hessian, np.linalg.inv(2 * MATRIX.T @ MATRIX), rtol=0.1, atol=0.01)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("problem", ["linear", "rosenbrock", "nested"])
def test_inverse_hessian_is_symmetric_positive_definite(variant, problem):
    for _, (_, state), _ in trajectory(variant, problem):
        matrix = np.asarray(state.inverse_hessian)
        np.testing.assert_allclose(matrix, matrix.T, rtol=1e-10, atol=1e-10 * np.abs(matrix).max())
        assert np.all(np.linalg.eigvalsh(0.5 * (matrix + matrix.T)) > 0)


@pytest.mark.parametrize("variant", VARIANTS)
def test_strong_wolfe_at_every_accepted_step(variant):
    objective = PROBLEMS["rosenbrock"].objective
    value_and_gradient = jax.jit(jax.value_and_grad(lambda x: jnp.sum(objective.function(x) ** 2)))
    accepted = 0
    for (x, state), (moved, _), info in trajectory(variant, "rosenbrock"):
        (value, gradient), (lower, new_gradient) = value_and_gradient(x), value_and_gradient(moved)
        if not info.moved or value < 1e-20:
            break
        direction = -gradient if state.fresh else -state.inverse_hessian @ gradient
        length, slope = info.extras["step_length"], jnp.vdot(direction, gradient)
        np.testing.assert_allclose(moved, x + length * direction, rtol=1e-8, atol=1e-10)
        assert lower <= value + 1e-4 * length * slope
        assert abs(jnp.vdot(direction, new_gradient)) <= 0.9 * abs(slope) * (1 + 1e-6)
        accepted += 1
    assert accepted > 15


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("problem", ["linear", "rosenbrock"])
def test_reaches_the_value_of_scipy(problem, variant):
    objective, start, _ = PROBLEMS[problem]
    value_and_gradient = jax.jit(jax.value_and_grad(lambda x: jnp.sum(objective.function(x) ** 2)))
    oracle = scipy.optimize.minimize(
        lambda x: tuple(map(np.asarray, value_and_gradient(x))), start, jac=True, method="BFGS", options={"gtol": 1e-7}
    )
    model, _ = trajectory(variant, problem)[-1][1]
    assert objective.loss(model) <= oracle.fun * (1 + 1e-10) + 1e-13


def reference_update(matrix, s, y, variant):
    """The family by its direct form: B <- tau [B - Bss'B / s'Bs + theta (s'Bs) w w'] + yy' / y's."""
    direct, n = np.linalg.inv(matrix), len(s)
    ys, bs, hy = y @ s, direct @ s, matrix @ y
    b, h = s @ bs / ys, y @ hy / ys
    a = b * h - 1
    theta, tau = 0.0, 1.0
    if variant == "ss-bfgs":
        tau = min(1, 1 / b)
    if variant == "ss-broyden":
        rho = min(1, h * (1 - np.sqrt(a / (1 + a))))
        theta = max((rho - 1) / a, min(1 / rho, (1 - b) / b))
        power = (1 + a * theta) ** (-1 / (n - 1))
        tau = min(1, 1 / b) * min(power, 1 / theta) if theta > 0 else min(min(1, 1 / b) * power, 1 + a * theta)
    w = y / ys - bs / (s @ bs)
    kept = direct - np.outer(bs, bs) / (s @ bs) + theta * (s @ bs) * np.outer(w, w)
    return np.linalg.inv(tau * kept + np.outer(y, y) / ys)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("size", [0.2, 1.0, 5.0])
def test_update_is_the_inverse_of_the_direct_form(variant, size):
    random = np.random.default_rng(7)
    root = random.normal(size=(4, 4))
    matrix, s = root @ root.T + np.eye(4), random.normal(size=4)
    y = size * np.linalg.solve(matrix, s) + 0.1 * random.normal(size=4)
    assert y @ s > 0
    curvature = s @ np.linalg.solve(matrix, s)
    arguments = [jnp.asarray(value) for value in (matrix, s, y, curvature, False)]
    result = jax.jit(_updated, static_argnums=0)(variant, *arguments)
    np.testing.assert_allclose(result, reference_update(matrix, s, y, variant), rtol=1e-9)
    np.testing.assert_allclose(result @ y, s, rtol=1e-9, err_msg="secant equation")


def test_failed_search_restarts_and_then_moves():
    """An inverse Hessian that only points uphill is dropped within the step."""
    objective, start, _ = PROBLEMS["rosenbrock"]
    step = eqx.filter_jit(SelfScaledBroyden().step)
    uphill = BroydenState(-jnp.eye(2), jnp.asarray(False))
    model, state, info = step(objective, start, uphill)
    assert info.moved
    assert not state.fresh
    assert objective.loss(model) < objective.loss(start)
    # A direction so long that no trial is lower: the step stays, and the next begins from the identity.
    useless = BroydenState(1e40 * jnp.eye(2), jnp.asarray(False))
    stayed, state, info = step(objective, start, useless)
    assert not info.moved
    assert state.fresh
    np.testing.assert_array_equal(stayed, start)
    np.testing.assert_array_equal(state.inverse_hessian, np.eye(2))
    _, _, info = step(objective, stayed, state)
    assert info.moved


def test_update_without_curvature_is_left_out():
    """On a straight slope the gradient changes by rounding alone: the step is taken, H stays as it is."""

    def residual(x):
        return jnp.sqrt(1e6 - x)

    step = eqx.filter_jit(SelfScaledBroyden(max_evaluations=3).step)
    state = BroydenState(jnp.eye(1) * 7.0, jnp.asarray(False))
    x, after, info = step(Residuals(residual), jnp.zeros(1), state)
    assert info.moved
    assert x[0] >= 7.0
    np.testing.assert_array_equal(after.inverse_hessian, state.inverse_hessian)
    x, after, info = step(Residuals(residual), x, BroydenState(jnp.eye(1), jnp.asarray(True)))
    assert info.moved
    assert after.fresh


def test_several_iterations_are_several_steps():
    objective, start, _ = PROBLEMS["rosenbrock"]
    single, single_state = trajectory("ss-broyden", "rosenbrock")[5][1]
    optimizer = SelfScaledBroyden(iterations=3)
    step, model, state = eqx.filter_jit(optimizer.step), start, optimizer.init(start)
    for _ in range(2):
        model, state, info = step(objective, model, state)
    np.testing.assert_allclose(model, single, rtol=1e-8)
    np.testing.assert_allclose(state.inverse_hessian, single_state.inverse_hessian, rtol=1e-6)
    assert info.extras["evaluations"] >= 4


def test_lbfgs_forgets_after_a_failure():
    objective, start, _ = PROBLEMS["linear"]
    optimizer = LBFGS()
    step, x, state = eqx.filter_jit(optimizer.step), start, optimizer.init(start)
    for _ in range(40):
        x, state, info = step(objective, x, state)
    assert not info.moved
    assert eqx.tree_equal(state, optimizer.init(x))
