import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import nested_derivatives

from cinnet.assess.metrics import (
    invariants,
    last_time_below,
    relative_error,
    relative_error_over_time,
    residual_over_time,
)
from cinnet.derivatives import NestedEngine, SpectralEngine
from cinnet.evaluation import predict
from cinnet.networks import MLP
from cinnet.problems import AllenCahn, KortewegDeVries

PROBLEM = AllenCahn(diffusivity=0.1)
NETWORK = MLP(PROBLEM.box, PROBLEM.interval, hidden=(4,), harmonics=1, dtype="float64", key=jax.random.key(0))
TIMES = np.array([0.0, 0.4, 1.0])
GRID = PROBLEM.box.uniform_grid((5,))


def test_relative_errors_in_closed_form():
    reference = np.array([[[3.0], [4.0]], [[0.0], [5.0]]])
    prediction = reference + np.array([[[1.0], [0.0]], [[2.0], [0.0]]])
    assert relative_error(prediction, reference) == pytest.approx(np.sqrt(5 / 50))
    np.testing.assert_allclose(relative_error_over_time(prediction, reference), [1 / 5, 2 / 5])
    assert relative_error(reference, reference) == 0


def test_relative_error_sums_over_components():
    reference, prediction = np.ones((2, 3, 2)), np.ones((2, 3, 2))
    prediction[..., 1] = 3.0
    assert relative_error(prediction, reference) == pytest.approx(np.sqrt(2.0))
    np.testing.assert_allclose(relative_error_over_time(prediction, reference), np.sqrt([2.0, 2.0]))


def test_a_zero_reference_is_refused():
    with pytest.raises(ValueError, match="reference is zero"):
        relative_error(np.ones((2, 3, 1)), np.zeros((2, 3, 1)))


def test_shapes_must_agree():
    with pytest.raises(ValueError, match=r"\(2, 3, 1\) and reference \(2, 4, 1\)"):
        inspect.unwrap(relative_error)(np.ones((2, 3, 1)), np.ones((2, 4, 1)))


def test_predictions_do_not_depend_on_the_chunks():
    whole, parts = predict(NETWORK, TIMES, GRID), predict(NETWORK, TIMES, GRID, max_columns=2)
    expected = nested_derivatives(NETWORK, TIMES, GRID, ((0, 0),))[0, 0]
    np.testing.assert_allclose(whole[0, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(parts[0, 0], expected, rtol=1e-12)


@pytest.mark.parametrize("engine", [NestedEngine(), SpectralEngine(PROBLEM.box, (32,))], ids=["nested", "spectral"])
def test_predictions_by_another_engine(engine):
    grid = PROBLEM.box.uniform_grid((32,))
    wanted = frozenset({(0, 1), (1, 0)})
    result = predict(NETWORK, TIMES, grid, wanted, engine=engine, max_columns=20)
    jets = predict(NETWORK, TIMES, grid, wanted)
    for index in wanted:
        np.testing.assert_allclose(result[index], jets[index], rtol=1e-7, atol=1e-7)


def test_times_outside_the_interval_are_refused():
    with pytest.raises(ValueError, match=r"times=1.5 .*\[0.0, 1.0\]"):
        predict(NETWORK, np.array([0.5, 1.5]), GRID)


def test_residual_over_time_is_the_mean_square_at_each_time():
    derivatives = nested_derivatives(NETWORK, TIMES, GRID, ((0, 2), (1, 0)))
    at = {index: np.asarray(value)[..., 0] for index, value in derivatives.items()}
    residual = at[1, 0] - 0.1 * at[0, 2] + 5 * (at[0, 0] ** 3 - at[0, 0])
    result = residual_over_time(PROBLEM, NETWORK, TIMES, GRID)
    np.testing.assert_allclose(result, (residual**2).mean(axis=1), rtol=1e-11)


def test_invariants_of_a_cosine():
    """u = c(t) cos(pi x): mass 0, momentum c^2, energy pi^2 m^2 c^2 / 2 because the cube integrates to 0."""
    problem = KortewegDeVries(dispersion=0.3)
    grid = problem.box.uniform_grid((16,))
    scale = np.array([1.0, 2.0, 0.5])

    def evaluate(index):
        assert index[0] == 0
        wave = np.cos(np.pi * grid[:, 0]) if index[1] == 0 else -np.pi * np.sin(np.pi * grid[:, 0])
        return (scale[:, None] * wave)[..., None]

    result = invariants(problem, evaluate, TIMES, grid, np.full(16, 2 / 16))
    assert set(result) == {"mass", "momentum", "energy"}
    np.testing.assert_allclose(result["mass"], 0, atol=1e-14)
    np.testing.assert_allclose(result["momentum"], scale**2, rtol=1e-13)
    np.testing.assert_allclose(result["energy"], 0.5 * 0.09 * np.pi**2 * scale**2, rtol=1e-12)


def test_invariants_of_a_network_use_its_derivatives():
    problem = KortewegDeVries()
    grid = problem.box.uniform_grid((16,))
    at = predict(NETWORK, TIMES, grid, frozenset({(0, 0), (0, 1)}))
    result = invariants(problem, at.__getitem__, TIMES, grid, np.full(16, 2 / 16))
    density = 0.5 * 0.022**2 * at[0, 1] ** 2 - at[0, 0] ** 3 / 6
    np.testing.assert_allclose(result["energy"], 2 * density[..., 0].mean(axis=1), rtol=1e-12)
    assert jnp.all(result["momentum"] > 0)


def test_last_time_below_a_level():
    times = np.array([0.5, 1.0, 1.5])
    assert last_time_below(times, np.array([0.1, 0.2, 0.3]), 0.3) == 1.5
    assert last_time_below(times, np.array([0.1, 0.4, 0.1]), 0.3) == 0.5
    assert last_time_below(times, np.array([0.1, 0.2, np.nan]), 0.3) == 1.0
    assert last_time_below(times, np.array([0.4, 0.1, 0.1]), 0.3) is None
