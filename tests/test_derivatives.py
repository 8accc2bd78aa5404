import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from oracles import assert_jets_agree, nested_derivatives

from cinnet.derivatives import JetEngine, NestedEngine, SpectralEngine, fourier_differentiation, resolve_engine
from cinnet.domains import Bounded, Box, Periodic, TimeInterval
from cinnet.networks import MLP, CinNet

INTERVAL = TimeInterval(0.0, 2.0)
LINE, TORUS = Box(Periodic(-1.0, 1.0)), Box(Periodic(-1.0, 1.0), Periodic(0.0, 3.0))
TIMES = np.array([0.0, 0.7, 2.0])


@pytest.mark.parametrize("count", [8, 9, 16])
@pytest.mark.parametrize("order", [1, 2, 3, 4])
def test_fourier_differentiation_is_exact_on_resolved_waves(count, order):
    period = 3.0
    x = np.arange(count) * period / count
    matrix = fourier_differentiation(count, period, order)
    cycle = (np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z), np.sin)
    for harmonic in range((count + 1) // 2):
        frequency = 2 * np.pi * harmonic / period
        scale = max(frequency**order, 1.0)
        cosine = frequency**order * cycle[order % 4](frequency * x)
        np.testing.assert_allclose(matrix @ np.cos(frequency * x), cosine, atol=1e-11 * scale)
        sine = frequency**order * cycle[(order + 3) % 4](frequency * x)
        np.testing.assert_allclose(matrix @ np.sin(frequency * x), sine, atol=1e-11 * scale)


def test_the_highest_wave_of_an_even_grid_is_a_cosine():
    zigzag = (-1.0) ** np.arange(8)
    np.testing.assert_allclose(fourier_differentiation(8, 2 * np.pi, 1) @ zigzag, 0, atol=1e-12)
    np.testing.assert_allclose(fourier_differentiation(8, 2 * np.pi, 2) @ zigzag, -16 * zigzag, atol=1e-12)


@pytest.mark.parametrize(
    ("box", "counts", "wanted"),
    [
        (LINE, (40,), [(0, 0), (0, 1), (0, 2), (0, 3), (0, 4), (1, 0), (1, 1)]),
        (LINE, (41,), [(0, 1), (0, 2), (1, 1)]),
        (TORUS, (24, 26), [(0, 0, 0), (0, 2, 0), (0, 1, 1), (0, 0, 2), (1, 0, 0)]),
    ],
)
def test_spectral_engine_equals_jets_on_a_resolved_function(box, counts, wanted):
    network = CinNet(
        box, INTERVAL, hidden=(4,), harmonics=1, outputs=2, num_mesh_intervals=3, dtype="float64", key=jax.random.key(0)
    )
    network = jax.tree.map(lambda w: 0.3 * w if eqx.is_inexact_array(w) else w, network)
    points = box.uniform_grid(counts)
    engine = resolve_engine("spectral", box, counts)

    def evaluate(engine):
        plan = engine.prepare(network, TIMES, points)
        return eqx.filter_jit(engine)(network, plan, jnp.asarray(TIMES), jnp.asarray(points), tuple(wanted))

    assert_jets_agree(evaluate(engine), evaluate(JetEngine()), 1e-9)


def test_nested_engine_equals_the_oracle_with_shared_and_scattered_times():
    network = MLP(LINE, INTERVAL, hidden=(4,), harmonics=2, dtype="float64", key=jax.random.key(0))
    points = jnp.array([[0.3], [-0.8]])
    engine = NestedEngine()
    assert engine.prepare(network, TIMES, np.asarray(points)) is None
    for times in (TIMES, np.stack([TIMES, TIMES[::-1]], axis=1)):
        expected = nested_derivatives(network, times, points, ((1, 2),))
        result = eqx.filter_jit(engine)(network, None, jnp.asarray(times), points, tuple(expected))
        assert_jets_agree(result, expected, 1e-12)


def test_engines_resolve_by_name():
    assert resolve_engine("jets", LINE, None) == JetEngine()
    assert resolve_engine("nested", LINE, None) == NestedEngine()
    assert resolve_engine("spectral", LINE, (8,)) == SpectralEngine(LINE, (8,))
    assert resolve_engine(NestedEngine(), LINE, None) == NestedEngine()
    assert SpectralEngine.couples_columns
    assert not JetEngine.couples_columns


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: resolve_engine("tape", LINE, None), "engine='tape'.*'spectral'"),
        (lambda: resolve_engine("spectral", LINE, None), "engine='spectral' needs points on a uniform grid"),
        (lambda: SpectralEngine(Box(Bounded(0.0, 1.0)), (8,)), "all periodic"),
        (lambda: SpectralEngine(Box(), ()), "all periodic"),
        (lambda: SpectralEngine(TORUS, (8,)), r"counts=\(8,\).*2 axes"),
    ],
)
def test_engine_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("points", [np.linspace(-1, 1, 8)[:, None], LINE.uniform_grid((9,))])
def test_spectral_engine_refuses_points_off_its_grid(points):
    network = MLP(LINE, INTERVAL, hidden=(4,), dtype="float64", key=jax.random.key(0))
    with pytest.raises(ValueError, match=r"points of shape \(., 1\) are not the uniform periodic grid \(8,\)"):
        SpectralEngine(LINE, (8,)).prepare(network, TIMES, points)
