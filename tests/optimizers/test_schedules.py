import dataclasses
import json

import equinox as eqx
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from least_squares_problems import Residuals, linear_residual

from cinnet.optimizers import SOAP, Adam, Cosine, ExponentialDecay


@pytest.mark.parametrize(
    ("schedule", "rates"),
    [
        (Cosine(0.2, 10), {0: 0.2, 5: 0.1, 10: 0.0, 99: 0.0}),
        (Cosine(0.2, 10, final=0.1), {0: 0.2, 5: 0.15, 10: 0.1, 99: 0.1}),
        (Cosine(0.2, 10, warmup=4), {0: 0.0, 1: 0.05, 4: 0.2, 9: 0.1, 14: 0.0}),
        (ExponentialDecay(0.2, 0.25, 10), {0: 0.2, 5: 0.1, 10: 0.05}),
        (ExponentialDecay(0.2, 0.25, 10, staircase=True), {0: 0.2, 9: 0.2, 10: 0.05, 20: 0.0125}),
    ],
)
def test_rates_in_closed_form(schedule, rates):
    found = [float(schedule(jnp.asarray(step))) for step in rates]
    np.testing.assert_allclose(found, list(rates.values()), atol=1e-15)
    options = json.loads(json.dumps(dataclasses.asdict(schedule)))
    assert type(schedule)(**options) == schedule
    assert hash(type(schedule)(**options)) == hash(schedule)


@pytest.mark.parametrize("method", [Adam, SOAP])
@pytest.mark.parametrize(
    "schedule",
    [Cosine(0.1, 6), optax.piecewise_constant_schedule(0.1, {2: 0.5, 4: 0.1}), lambda step: 0.1 / (1 + step)],
)
def test_optimizers_follow_any_schedule(method, schedule):
    optimizer = method(schedule)
    model, step = jnp.zeros(5), eqx.filter_jit(optimizer.step)
    state = optimizer.init(model)
    for count in range(6):
        before = model
        model, state, info = step(Residuals(linear_residual), before, state)
        rate = float(schedule(count))
        np.testing.assert_allclose(info.extras["learning_rate"], rate, rtol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(model - before), rate * info.extras["direction_norm"], rtol=1e-6)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: Cosine(0.0, 10), "peak=0.0"),
        (lambda: Cosine(0.1, 0), "steps=0"),
        (lambda: Cosine(0.1, 10, warmup=-1), "warmup=-1"),
        (lambda: Cosine(0.1, 10, final=0.2), r"final=0\.2.*peak=0\.1"),
        (lambda: ExponentialDecay(0.1, 0.9, 0), "every=0"),
        (lambda: Adam(Cosine(0.1, 10), decay=0.5), r"Adam\(decay=0\.5\).*give a number as learning_rate"),
        (lambda: Adam(Cosine(0.1, 10), staircase=False), "leave staircase out"),
    ],
)
def test_wrong_schedules_are_named(build, message):
    with pytest.raises(ValueError, match=message):
        build()
