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

# With the number of steps in which each must come within 1e-6 of the least loss, or of a thousandth of the first.
METHODS = {
    "adam": (Adam(3e-2, decay=0.5, decay_every=1000), 6000, 1e-6),
    "soap": (SOAP(optax.cosine_decay_schedule(3e-2, 3000)), 3000, 1e-6),
    "levenberg-marquardt": (LevenbergMarquardt(), 60, 1e-9),
    "gauss-newton-cg": (GaussNewtonCG(), 60, 1e-9),
    "gauss-newton-cg, warm": (GaussNewtonCG(warm_start=True), 60, 1e-9),
    "l-bfgs": (LBFGS(), 150, 1e-9),
    "ss-broyden": (SelfScaledBroyden(), 150, 1e-9),
    "ss-bfgs": (SelfScaledBroyden("ss-bfgs"), 150, 1e-9),
    "bfgs": (SelfScaledBroyden("bfgs"), 150, 1e-9),
    "ss-broyden, several iterations": (SelfScaledBroyden(iterations=5), 30, 1e-9),
}
FAST = {name: method for name, (method, _, _) in METHODS.items()}
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
    assert jax.tree.structure(model) == jax.tree.structure(start)


@pytest.mark.parametrize("method", FAST)
def test_is_compiled_once_and_pure(method):
    traces = []

    def residual(model):
        traces.append(0)
        return nested_residual(model)

    optimizer, objective, model = FAST[method], Residuals(residual), nested_model()
    step = eqx.filter_jit(optimizer.step)
    state = optimizer.init(model)
    first = step(objective, model, state)
    counted = len(traces)
    again = step(objective, model, state)
    assert eqx.tree_equal(first, again)
    for _ in range(2):
        model, state, _ = step(objective, model, state)
    assert len(traces) == counted


@pytest.mark.parametrize("method", FAST)
def test_float32_stays_float32(method):
    optimizer, objective, start = FAST[method], Residuals(nested_residual), nested_model("float32")
    model, state, _ = train(optimizer, objective, start, 20)
    assert all(leaf.dtype == "float32" for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_inexact_array)))
    assert objective.loss(model) < objective.loss(start)
    np.testing.assert_array_equal(model["blocks"][0].order, start["blocks"][0].order)
    assert jax.tree.structure(state) == jax.tree.structure(optimizer.init(start))


@pytest.mark.parametrize("method", FAST)
def test_state_keeps_its_types(method):
    """A state of other types or weak types after a step would be compiled, and resumed, differently."""
    optimizer, model = FAST[method], nested_model()
    before = optimizer.init(model)
    assert all(eqx.is_array(leaf) and not leaf.weak_type for leaf in jax.tree.leaves(before))
    _, after, _ = optimizer.step(Residuals(nested_residual), model, before)
    assert [leaf.aval for leaf in jax.tree.leaves(after)] == [leaf.aval for leaf in jax.tree.leaves(before)]


@pytest.mark.parametrize("method", FAST)
def test_stays_where_the_loss_is_not_finite(method):
    def residual(model):
        return curve_residual(model) * jnp.nan

    optimizer, start = FAST[method], curve_model()
    model, _, info = eqx.filter_jit(optimizer.step)(Residuals(residual), start, optimizer.init(start))
    assert eqx.tree_equal(model, start)
    assert not info.moved


@pytest.mark.parametrize("method", ["levenberg-marquardt", "gauss-newton-cg", "l-bfgs", "ss-broyden", "bfgs"])
def test_never_increases_the_loss(method):
    objective, start, _ = PROBLEMS["rosenbrock"]
    _, _, infos = train(FAST[method], objective, start, 60)
    assert np.all(np.diff(infos.loss) <= 0)


@pytest.mark.parametrize("method", FAST)
def test_weights_are_frozen_within_a_step(method):
    """With weights 1 / r^2 the weighted loss is constant, so only frozen weights leave anything to minimise."""
    optimizer, num_steps, _ = METHODS[method]
    objective = Residuals(curve_residual, lambda r: 1.0 / (r**2 + 1e-2))
    start = curve_model()
    model, _, infos = train(optimizer, objective, start, min(num_steps, 200))
    assert infos.moved[1]
    assert Residuals(curve_residual).loss(model) < 0.5 * Residuals(curve_residual).loss(start)


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
