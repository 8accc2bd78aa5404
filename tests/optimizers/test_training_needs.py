"""What an optimizer says of itself, for the loop that trains with it."""

import equinox as eqx
import jax
import jax.numpy as jnp
import pytest
from least_squares_problems import Residuals

from cinnet.optimizers import OPTIMIZERS, SOAP, GaussNewtonCG, LevenbergMarquardt, Optimizer

NUM_ROWS, NUM_PARAMETERS = 300, 256
FIRST_ORDER = {"adam", "soap"}


class OuterProduct(Residuals):
    """A Jacobian that costs no more than itself."""

    def linearize(self, model, row_weights):
        rows = self.residuals(model, row_weights)
        return rows, jnp.outer(rows, model.ravel())


def residual(model):
    return jnp.sin(jnp.arange(NUM_ROWS, dtype=model.dtype)) * jnp.sum(model)


@pytest.mark.parametrize("method", OPTIMIZERS)
def test_records_and_stalls(method):
    optimizer = OPTIMIZERS[method]
    expected = (100, 20_000, False) if method in FIRST_ORDER else (5, 40, True)
    assert (optimizer.record_every, optimizer.stall_steps, optimizer.stuck_is_final) == expected


@pytest.mark.parametrize(
    ("method", "dtype"), [*((method, "float32") for method in OPTIMIZERS), ("levenberg-marquardt", "float64")]
)
def test_memory_is_what_the_compiler_allots(method, dtype):
    """To a factor of two, the model before and after the step left out."""
    optimizer = OPTIMIZERS[method]()
    model = jnp.ones((16, 16) if method == "soap" else NUM_PARAMETERS, dtype)
    arrays, static = eqx.partition((OuterProduct(residual), model, optimizer.init(model)), eqx.is_array)
    step = jax.jit(lambda arrays: eqx.filter(optimizer.step(*eqx.combine(arrays, static)), eqx.is_array))
    used = step.lower(arrays).compile().memory_analysis()
    allotted = used.argument_size_in_bytes + used.output_size_in_bytes + used.temp_size_in_bytes - 2 * model.nbytes
    ratio = optimizer.memory(NUM_ROWS, NUM_PARAMETERS, model.dtype.itemsize) / allotted
    assert 0.5 < ratio < 2.0


@pytest.mark.parametrize("method", OPTIMIZERS)
def test_only_levenberg_marquardt_has_a_form_for_little_memory(method):
    optimizer = OPTIMIZERS[method]()
    sizes = NUM_ROWS, NUM_PARAMETERS, 4
    needed = optimizer.memory(*sizes)
    assert optimizer.within(needed, *sizes) == optimizer
    small = optimizer.within(needed - 1, *sizes)
    assert small == (GaussNewtonCG() if isinstance(optimizer, LevenbergMarquardt) else optimizer)
    assert small.memory(*sizes) <= needed


def test_a_new_method_needs_init_and_step_only():
    class Still(Optimizer):
        def init(self, model):
            return jnp.zeros(3, model.dtype)

        def step(self, objective, model, state):
            raise NotImplementedError

    assert Still().memory(NUM_ROWS, 10, 4) == 2 * 3 * 4 + 10 * 4
    assert Still().within(0, NUM_ROWS, 10, 4) == Still()
    assert Still.record_every == SOAP.record_every
