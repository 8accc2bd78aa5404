"""The best model is the one whose loss is the best loss: the one before the step that reports it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from least_squares_problems import PROBLEMS, Residuals, linear_residual, nested_model

from cinnet.optimizers import OPTIMIZERS, Adam, BestSoFar, LevenbergMarquardt

LINEAR, START, _ = PROBLEMS["linear"]


def visited(optimizer, objectives, model):
    """The models before every step and after the last, and the last state; one compiled step for all."""
    step = eqx.filter_jit(optimizer.step)
    models, state = [model], optimizer.init(model)
    for objective in objectives:
        model, state, _ = step(objective, model, state)
        models.append(model)
    return models, state


@pytest.mark.parametrize("learning_rate", [0.3, 5.0, 1e30])
def test_best_loss_is_that_of_the_best_model_and_the_least_of_all(learning_rate):
    optimizer = BestSoFar(Adam(learning_rate))
    models, state = visited(optimizer, 20 * [LINEAR], START)
    losses = [LINEAR.loss(model) for model in models]
    best = optimizer.best(models[-1], state)
    np.testing.assert_allclose(state.best_loss, LINEAR.loss(best), rtol=1e-12)
    np.testing.assert_allclose(state.best_loss, min(losses[:-1]), rtol=1e-12)

    judged = optimizer.judged(models[-1], state, jnp.asarray(losses[-1]))
    np.testing.assert_allclose(judged.best_loss, min(losses), rtol=1e-12)
    np.testing.assert_array_equal(optimizer.best(models[-1], judged), models[int(np.argmin(losses))])


def scaled(*factors):
    return [Residuals(linear_residual, factor=jnp.asarray(factor)) for factor in factors]


@pytest.mark.parametrize(("comparable", "expected"), [(True, 3), (False, 4)])
def test_losses_that_are_not_finite_are_never_the_best(comparable, expected):
    """The fourth objective weighs its rows least; losses with the weights of the fifth cannot be compared with it."""
    optimizer = BestSoFar(Adam(0.1), comparable)
    models, state = visited(optimizer, scaled(np.inf, 1.0, np.nan, 0.1, 1.0, np.nan), START)
    np.testing.assert_array_equal(optimizer.best(models[-1], state), models[expected])
    np.testing.assert_allclose(state.best_loss, (0.01 if comparable else 1.0) * LINEAR.loss(models[expected]))
    after = optimizer.judged(models[-1], state, jnp.asarray(jnp.nan))
    assert eqx.tree_equal(after, state)


def test_without_a_finite_loss_the_start_is_kept():
    optimizer = BestSoFar(Adam(0.1))
    models, state = visited(optimizer, scaled(np.nan, np.inf), START)
    np.testing.assert_array_equal(optimizer.best(models[-1], state), START)
    assert state.best_loss == np.inf


@pytest.mark.parametrize("method", OPTIMIZERS)
def test_takes_the_steps_of_the_wrapped_optimizer_to_the_bit_and_compiles_once(method):
    traces = []

    def residual(model):
        traces.append(0)
        return linear_residual(model)

    inner, start = OPTIMIZERS[method](), START.astype("float32")
    plain, _ = visited(inner, 4 * [LINEAR], start)
    step = eqx.filter_jit(BestSoFar(inner).step)
    model, state, counted = start, BestSoFar(inner).init(start), 0
    for expected in plain[1:]:
        model, state, _ = step(Residuals(residual), model, state)
        counted = counted or len(traces)
        np.testing.assert_array_equal(model, expected)
    assert len(traces) == counted


def test_what_is_not_a_parameter_stays():
    optimizer, model = BestSoFar(Adam()), nested_model()
    state = optimizer.init(model)
    best = optimizer.best(model, optimizer.judged(model, state, jnp.asarray(1.0)))
    assert eqx.tree_equal(best, model)
    assert jax.tree.structure(state.best_parameters) == jax.tree.structure(eqx.filter(model, eqx.is_inexact_array))


@pytest.mark.parametrize("method", OPTIMIZERS)
def test_is_trained_as_the_wrapped_optimizer(method):
    inner = OPTIMIZERS[method]()
    wrapper = BestSoFar(inner)
    for name in ("record_every", "stall_steps", "stuck_is_final"):
        assert getattr(wrapper, name) == getattr(inner, name)
    assert wrapper.memory(20, 30, 4) == inner.memory(20, 30, 4) + 2 * 4 * 30


def test_the_matrix_free_form_is_wrapped_too():
    inner = LevenbergMarquardt(initial_damping=0.3)
    wrapper = BestSoFar(inner, comparable=False)
    needed = wrapper.memory(20, 30, 4)
    assert wrapper.within(needed, 20, 30, 4) == wrapper
    assert wrapper.within(needed - 1, 20, 30, 4) == BestSoFar(inner.matrix_free, comparable=False)
