"""What every optimizer must do, on every problem."""

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from least_squares_problems import (
    PROBLEMS,
    Residuals,
    curve_model,
    curve_residual,
    nested_model,
    nested_residual,
    train,
)

from cinnet.optimizers import LBFGS, OPTIMIZERS, SOAP, Adam, GaussNewtonCG, LevenbergMarquardt, SelfScaledBroyden

# With the number of steps in which each must come as close to the least loss as the last number.
METHODS = {
    "adam": (Adam(3e-2, decay=0.5, decay_every=1000), 6000, 1e-6),
    "soap": (SOAP(optax.cosine_decay_schedule(3e-2, 3000)), 3000, 1e-6),
    "levenberg-marquardt": (LevenbergMarquardt(), 60, 1e-9),
    "gauss-newton-cg": (GaussNewtonCG(), 60, 1e-9),
    "l-bfgs": (LBFGS(), 150, 1e-9),
    "ss-broyden": (SelfScaledBroyden(), 150, 1e-9),
}
OTHER_FORMS = {
    "gauss-newton-cg, warm": GaussNewtonCG(warm_start=True),
    "ss-broyden, several iterations": SelfScaledBroyden(iterations=5),
}
NAMED = {name: build() for name, build in OPTIMIZERS.items()} | OTHER_FORMS
MONOTONE = set(NAMED) - {"adam", "soap"}
# A network with more parameters than needed has no isolated minimum: a small residual is all one can ask.
NESTED_TOLERANCE = 1e-3


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("method", METHODS)
def test_reaches_the_least_loss(method, problem):
    optimizer, num_steps, tolerance = METHODS[method]
    objective, start, least = PROBLEMS[problem]
    model, _, infos = train(optimizer, objective, start, num_steps)
    np.testing.assert_allclose(infos.loss[0], objective.loss(start))
    excess = objective.loss(model) - least
    assert excess < (NESTED_TOLERANCE if problem == "nested" else tolerance)
    assert excess > -1e-9
    assert method not in MONOTONE or np.all(np.diff(infos.loss) <= 0)
    assert jax.tree.structure(model) == jax.tree.structure(start)


@pytest.mark.parametrize("method", NAMED)
def test_step_contract(method):
    """One compilation, same input same output, a state of constant types, and no move on a loss that is not finite."""
    traces = []

    def residual(model):
        traces.append(0)
        return nested_residual(model)

    optimizer, objective, model = NAMED[method], Residuals(residual, factor=jnp.asarray(1.0)), nested_model()
    step = eqx.filter_jit(optimizer.step)
    state = optimizer.init(model)
    assert all(eqx.is_array(leaf) and not leaf.weak_type for leaf in jax.tree.leaves(state))
    first = step(objective, model, state)
    counted = len(traces)
    assert eqx.tree_equal(first, step(objective, model, state))
    assert [leaf.aval for leaf in jax.tree.leaves(first[1])] == [leaf.aval for leaf in jax.tree.leaves(state)]

    losses = []
    for _ in range(6):
        model, state, info = step(objective, model, state)
        losses.append(float(info.loss))
    assert losses[-1] < losses[0]
    assert method not in MONOTONE or np.all(np.diff(losses) <= 0)
    np.testing.assert_array_equal(model["blocks"][0].order, jnp.arange(3))

    broken = eqx.tree_at(lambda o: o.factor, objective, jnp.asarray(jnp.nan))
    stayed, state, info = step(broken, model, state)
    assert eqx.tree_equal(stayed, model)
    assert not info.moved
    _, _, info = step(objective, stayed, state)
    assert info.moved
    assert len(traces) == counted


@pytest.mark.parametrize("method", NAMED)
def test_float32_stays_float32(method):
    optimizer, model = NAMED[method], nested_model("float32")
    state = optimizer.init(model)
    shapes, state_shapes, _ = eqx.filter_eval_shape(optimizer.step, Residuals(nested_residual), model, state)
    parameters = jax.tree.leaves(eqx.filter(shapes, lambda leaf: getattr(leaf, "ndim", 0) and leaf.dtype != "int64"))
    assert len(parameters) == 4
    assert all(leaf.dtype == "float32" for leaf in parameters)
    assert [leaf.dtype for leaf in jax.tree.leaves(state_shapes)] == [leaf.dtype for leaf in jax.tree.leaves(state)]


@pytest.mark.parametrize("method", METHODS)
def test_weights_are_frozen_within_a_step(method):
    """With weights 1 / r^2 the weighted loss is constant, so only frozen weights leave anything to minimise."""
    optimizer, _, _ = METHODS[method]
    objective, plain = Residuals(curve_residual, lambda r: 1.0 / (r**2 + 1e-2)), Residuals(curve_residual)
    model, _, infos = train(optimizer, objective, curve_model(), 60)
    assert infos.moved[1]
    assert plain.loss(model) < 0.5 * plain.loss(curve_model())


def test_registry_builds_every_optimizer():
    assert set(OPTIMIZERS) == {"adam", "soap", "levenberg-marquardt", "gauss-newton-cg", "l-bfgs", "ss-broyden"}
    for optimizer in OPTIMIZERS.values():
        optimizer().init(nested_model())


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Adam(learning_rate=0.0), "learning_rate=0.0"),
        (lambda: Adam(b1=1.0), "b1=1.0"),
        (lambda: SOAP(refresh_every=0), "refresh_every=0"),
        (lambda: SOAP(weight_decay=-1.0), "weight_decay=-1.0"),
        (lambda: SOAP(decay_steps=0), "decay_steps=0"),
        (lambda: SOAP(optax.constant_schedule(1e-3), decay_steps=5), "decay_steps=5.*give a number as learning_rate"),
        (lambda: LevenbergMarquardt(initial_damping=0.0), "initial_damping=0.0"),
        (lambda: LevenbergMarquardt(max_trials=0), "max_trials=0"),
        (lambda: GaussNewtonCG(tolerance=2.0), "tolerance=2.0"),
        (lambda: LBFGS(memory_size=0), "memory_size=0"),
        (lambda: SelfScaledBroyden(iterations=0), "iterations=0"),
        (lambda: SelfScaledBroyden(max_parameters=3).init(jnp.zeros(4)), "max_parameters=3"),
    ],
)
def test_wrong_settings_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
