"""Least-squares problems with known answers, given by a residual function of any pytree."""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import scipy.optimize
from jax.flatten_util import ravel_pytree


class Value(NamedTuple):
    total: Any


class Residuals(eqx.Module):
    """The LeastSquares protocol for residual(model).

    Optionally with weights that depend on the rows, and with a factor on all of them.
    """

    function: Callable = eqx.field(static=True)
    weighting: Callable | None = eqx.field(static=True, default=None)
    factor: jax.Array | None = None

    def row_weights(self, model):
        if self.weighting is not None:
            return [jax.lax.stop_gradient(self.weighting(self.function(model)))]
        return [jnp.ones_like(self.function(model))]

    def residuals(self, model, row_weights):
        rows = jnp.sqrt(row_weights[0]) * self.function(model)
        return rows if self.factor is None else self.factor * rows

    def weighted_loss(self, model, row_weights):
        return jnp.sum(self.residuals(model, row_weights) ** 2)

    def loss_and_gradient(self, model):
        weights = self.row_weights(model)
        loss, gradient = eqx.filter_value_and_grad(lambda m: self.weighted_loss(m, weights))(model)
        return Value(loss), gradient

    def linearize(self, model, row_weights):
        parameters, static = eqx.partition(model, eqx.is_inexact_array)
        flat, unravel = ravel_pytree(parameters)
        rows = lambda vector: self.residuals(eqx.combine(unravel(vector), static), row_weights)  # noqa: E731
        return rows(flat), jax.jacrev(rows)(flat)

    def loss(self, model):
        return float(self.weighted_loss(model, self.row_weights(model)))


class Problem(NamedTuple):
    objective: Residuals
    start: Any
    least_loss: float


class Block(eqx.Module):
    """Matrix and vector parameters beside a leaf that is None, one that is static and one that is an integer."""

    weight: jax.Array
    bias: jax.Array
    missing: jax.Array | None
    order: jax.Array
    name: str = eqx.field(static=True)


_random = np.random.default_rng(0)
MATRIX, TARGET = _random.normal(size=(12, 5)), _random.normal(size=12)
TIMES = np.linspace(0.0, 2.0, 15)
DATA = 2.0 * np.exp(-1.3 * TIMES) + 0.4 + 0.05 * np.sin(9 * TIMES)
INPUTS = _random.normal(size=(20, 3))
OUTPUTS = np.tanh(INPUTS @ _random.normal(size=(3, 2)) + 0.3)


def linear_residual(x):
    return jnp.asarray(MATRIX, x.dtype) @ x - jnp.asarray(TARGET, x.dtype)


def rosenbrock_residual(x):
    return jnp.stack([10.0 * (x[1] - x[0] ** 2), 1.0 - x[0]])


def curve_residual(model):
    times, data = jnp.asarray(TIMES, model["rate"].dtype), jnp.asarray(DATA, model["rate"].dtype)
    return model["amplitude"] * jnp.exp(-model["rate"] * times) + model["offset"] - data


def nested_residual(model):
    first, second = model["blocks"]
    hidden = jnp.tanh(jnp.asarray(INPUTS, first.weight.dtype) @ first.weight + first.bias)
    outputs = hidden @ second.weight + second.bias
    return (outputs - jnp.asarray(OUTPUTS, outputs.dtype)).ravel()


def nested_model(dtype="float64", seed=0):
    first, second = jax.random.split(jax.random.key(seed))
    order = jnp.arange(3)
    return {
        "blocks": (
            Block(0.5 * jax.random.normal(first, (3, 4), dtype), jnp.zeros(4, dtype), None, order, "first"),
            Block(0.5 * jax.random.normal(second, (4, 2), dtype), jnp.zeros(2, dtype), None, order, "second"),
        ),
        "comment": "not a parameter",
    }


def curve_model(dtype="float64"):
    return {name: jnp.asarray(1.0, dtype) for name in ("amplitude", "rate", "offset")}


def _linear_least_loss():
    return float(np.linalg.lstsq(MATRIX, TARGET, rcond=None)[1][0])


def _curve_least_loss():
    fit = scipy.optimize.least_squares(lambda p: p[0] * np.exp(-p[1] * TIMES) + p[2] - DATA, np.ones(3), xtol=1e-14)
    return float(2 * fit.cost)


PROBLEMS = {
    "linear": Problem(Residuals(linear_residual), jnp.zeros(5), _linear_least_loss()),
    "rosenbrock": Problem(Residuals(rosenbrock_residual), jnp.array([-1.2, 1.0]), 0.0),
    "curve": Problem(Residuals(curve_residual), curve_model(), _curve_least_loss()),
    "nested": Problem(Residuals(nested_residual), nested_model(), 0.0),
}


def train(optimizer, objective, model, num_steps):
    """Many steps in one compiled program: the model, the state, and every step's report stacked."""
    arrays, static = eqx.partition(model, eqx.is_array)

    def body(carry, _):
        model, state, info = optimizer.step(objective, eqx.combine(carry[0], static), carry[1])
        return (eqx.filter(model, eqx.is_array), state), info

    run = eqx.filter_jit(lambda carry: jax.lax.scan(body, carry, None, length=num_steps))
    (arrays, state), infos = run((arrays, optimizer.init(model)))
    return eqx.combine(arrays, static), state, infos
