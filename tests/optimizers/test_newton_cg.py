import jax
import jax.numpy as jnp
import numpy as np
import pytest
from least_squares_problems import PROBLEMS, train

from cinnet.optimizers import GaussNewtonCG, LevenbergMarquardt
from cinnet.optimizers.newton_cg import conjugate_gradients


@pytest.mark.parametrize("problem", ["rosenbrock", "nested"])
def test_equals_levenberg_marquardt_when_converged(problem):
    objective, start, _ = PROBLEMS[problem]
    dense, _, dense_infos = train(LevenbergMarquardt(max_acceleration=0.0), objective, start, 5)
    free, _, free_infos = train(GaussNewtonCG(tolerance=1e-13), objective, start, 5)
    for expected, result in zip(jax.tree.leaves(dense), jax.tree.leaves(free), strict=True):
        if isinstance(expected, jax.Array):
            np.testing.assert_allclose(result, expected, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(free_infos.extras["damping"], dense_infos.extras["damping"])
    np.testing.assert_allclose(free_infos.loss, dense_infos.loss, rtol=1e-6, atol=1e-14)


def system(size=30, seed=5):
    random = np.random.default_rng(seed)
    axes = np.linalg.qr(random.normal(size=(size, size)))[0]
    return axes @ np.diag(np.logspace(0, 3, size)) @ axes.T, random.normal(size=size)


@pytest.mark.parametrize("tolerance", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize("warm", [False, True])
def test_conjugate_gradients_reach_the_tolerance(tolerance, warm):
    matrix, target = system()
    start = jnp.asarray(np.random.default_rng(6).normal(size=30)) if warm else None
    solve = jax.jit(
        lambda s: conjugate_gradients(lambda v: jnp.asarray(matrix) @ v, jnp.asarray(target), s, tolerance, 500)
    )
    solution, iterations = solve(start)
    assert np.linalg.norm(matrix @ solution - target) <= 1.01 * tolerance * np.linalg.norm(target)
    assert 0 < iterations < 500


def test_conjugate_gradients_stop_at_max_iterations():
    matrix, target = system()
    arguments = (lambda v: jnp.asarray(matrix) @ v, jnp.asarray(target), None)
    _, iterations = conjugate_gradients(*arguments, 0.0, 3)
    assert iterations == 3


def test_exact_warm_start_needs_no_iteration():
    """The scale of a start does not matter, only its direction; and no start is worse than zero."""
    matrix, target = system()
    product, goal = lambda v: jnp.asarray(matrix) @ v, jnp.asarray(target)
    solution, iterations = conjugate_gradients(
        product, goal, jnp.asarray(-3 * np.linalg.solve(matrix, target)), 1e-6, 9
    )
    assert iterations == 0
    np.testing.assert_allclose(solution, np.linalg.solve(matrix, target), rtol=1e-6)
    solution, _ = conjugate_gradients(product, goal, jnp.asarray(1e3 * target), 1e-6, 2)
    assert solution @ matrix @ solution - 2 * solution @ target <= 0
    solution, iterations = conjugate_gradients(product, goal, jnp.zeros(30), 1e-6, 500)
    np.testing.assert_allclose(matrix @ solution, target, atol=1e-5)


def test_looser_tolerance_costs_fewer_iterations():
    objective, start, _ = PROBLEMS["nested"]
    counts = [
        int(train(GaussNewtonCG(tolerance=tolerance), objective, start, 10)[2].extras["cg_iterations"].sum())
        for tolerance in (1e-1, 1e-6)
    ]
    assert counts[0] < counts[1]
