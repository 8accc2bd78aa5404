"""Evaluation of a reference solution, and the refinement that certifies it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.domains import Box, Periodic
from cinnet.problems import AllenCahn, AllenCahn2D, EvolutionProblem, KortewegDeVries
from cinnet.reference import NotConvergedError, reference_solution
from cinnet.reference.spectrum import resize, spectrum_modes, trim


@pytest.fixture(scope="module")
def allen_cahn():
    return reference_solution(AllenCahn(), cache=False)


def test_allen_cahn_meets_its_tolerance_against_a_much_finer_run(allen_cahn):
    fine = reference_solution(AllenCahn(), modes=4096, time_step=1e-3, cache=False)
    t, x = np.array([0.01, 0.0437, 0.5, 0.987, 1.0]), np.linspace(-1, 1, 301)[:, None]
    values, expected = allen_cahn.on_grid(t, x), fine.on_grid(t, x)
    errors = np.linalg.norm(values - expected, axis=(1, 2)) / np.linalg.norm(expected, axis=(1, 2))
    assert errors.max() < 2e-8
    assert allen_cahn.agreement <= allen_cahn.tolerance == 1e-8


def test_the_initial_value_is_exact_and_continued_periodically(allen_cahn):
    x = np.linspace(-1, 1, 33)
    np.testing.assert_allclose(allen_cahn(0.0, x), x**2 * np.cos(np.pi * x), atol=1e-15)
    np.testing.assert_allclose(allen_cahn(0.0, x + 4), allen_cahn(0.0, x), atol=1e-12)
    np.testing.assert_allclose(allen_cahn(0.3, x + 4), allen_cahn(0.3, x), atol=1e-11)


def test_a_time_between_snapshots_is_reached_by_integration():
    coarse = reference_solution(KortewegDeVries(dispersion=0.1), modes=64, time_step=2e-3, levels=3, cache=False)
    dense = reference_solution(KortewegDeVries(dispersion=0.1), modes=64, time_step=2e-3, levels=101, cache=False)
    x = np.linspace(-1, 1, 50)[:, None]
    on_levels, between = np.array([0.02, 0.37, 0.5, 0.99]), np.array([0.01234, 0.0127, 0.7654321])
    np.testing.assert_allclose(coarse.on_grid(on_levels, x), dense.on_grid(on_levels, x), atol=1e-10)
    np.testing.assert_allclose(coarse.on_grid(between, x), dense.on_grid(between, x), atol=1e-9)
    assert coarse.time_step == pytest.approx(2e-3)


def test_call_broadcasts_and_agrees_with_on_grid_whatever_the_arrangement(allen_cahn):
    random = np.random.default_rng(1)
    t, x = random.uniform(0, 1, 9), random.uniform(-1, 1, 13)
    grid = allen_cahn.on_grid(t, x[:, None])
    assert grid.shape == (9, 13, 1)
    assert grid.dtype == np.float64
    np.testing.assert_allclose(allen_cahn(t[:, None], x), grid[..., 0], atol=1e-13)
    scattered = allen_cahn(t, x[:9])
    np.testing.assert_allclose(scattered, np.diagonal(grid[:, :9, 0]), atol=1e-13)
    assert allen_cahn(0.5, 0.1).shape == ()


def test_duplicate_and_unsorted_times(allen_cahn):
    t, x = np.array([0.7, 0.0, 0.7, 0.31, 1.0]), np.array([[0.2], [0.4]])
    values = allen_cahn.on_grid(t, x)
    for time, row in zip(t, values, strict=True):
        np.testing.assert_allclose(row[:, 0], allen_cahn(time, x[:, 0]), atol=1e-13)


def test_spatial_derivatives_are_those_of_the_fourier_sum(allen_cahn):
    x = np.linspace(-1, 1, 41)[:, None]
    step = 1e-5
    values = allen_cahn.on_grid([0.5], np.concatenate([x - step, x + step]))[0, :, 0].reshape(2, -1)
    derivative = allen_cahn.on_grid([0.5], x, derivative=(1,))[0, :, 0]
    np.testing.assert_allclose(derivative, (values[1] - values[0]) / (2 * step), atol=1e-4)


class Rotated(EvolutionProblem):
    """u_t = u_x - u_y moves the initial value along (-1, 1): u = sin(x + 2 y - t) + cos(3 y - 3 t)."""

    space = Box(Periodic(0.0, 2 * np.pi), Periodic(-np.pi, np.pi))

    def residual(self, u, t, x, y):
        return u.t - u.x + u.y

    def initial(self, x, y):
        return jnp.sin(x + 2 * y) + jnp.cos(3 * y)


def test_two_dimensions_at_scattered_points_on_grids_and_derivatives():
    solution = reference_solution(Rotated(), modes=(8, 16), time_step=0.05, levels=5, cache=False)

    def exact(t, x, y):
        return np.sin(x + 2 * y - t) + np.cos(3 * y - 3 * t)

    random = np.random.default_rng(2)
    t, x, y = random.uniform(0, 1, 30), random.uniform(0, 6, 30), random.uniform(-3, 3, 30)
    np.testing.assert_allclose(solution(t, x, y), exact(t, x, y), atol=1e-12)
    np.testing.assert_allclose(solution(0.4, x[:, None], y), exact(0.4, x[:, None], y), atol=1e-12)
    points = np.stack([x, y], axis=-1)
    derivative = solution.on_grid([0.25], points, derivative=(1, 2))[0, :, 0]
    np.testing.assert_allclose(derivative, -4 * np.cos(x + 2 * y - 0.25), atol=1e-11)


def test_float64_in_32_bit_mode_without_touching_the_configuration():
    def value():
        solution = reference_solution(AllenCahn2D(), modes=16, time_step=0.1, levels=3, cache=False)
        next(solution.spectra(np.array([0.2])))  # an abandoned generator must not leave the mode switched on
        return solution(0.2, 0.3, 0.4)

    with jax.enable_x64(False):
        in_32_bit_mode = value()
        assert not jax.config.jax_enable_x64
        assert jnp.ones(()).dtype == jnp.float32
    with jax.enable_x64(True):
        in_64_bit_mode = value()
    assert in_32_bit_mode.dtype == np.float64
    assert in_32_bit_mode == in_64_bit_mode


def test_trimming_keeps_the_norm_and_resizing_is_reversible():
    random = np.random.default_rng(3)
    spectrum = np.zeros((2, 11, 9, 6), dtype=np.complex128)
    small = (slice(None), [0, 1, 2, -2, -1], slice(0, 2), slice(0, 4))
    spectrum[small] = random.standard_normal((2, 5, 2, 4))
    trimmed = trim(spectrum, 1e-14)
    assert spectrum_modes(trimmed) == (5, 3, 7)
    np.testing.assert_array_equal(resize(trimmed, (11, 9, 11)), spectrum)
    assert trim(0 * spectrum, 1e-14).shape == (2, 1, 1, 1)


def test_progress_names_each_run_and_one_given_setting_is_kept():
    lines = []
    problem = KortewegDeVries(dispersion=0.1)
    solution = reference_solution(problem, tolerance=1e-5, modes=64, cache=False, progress=lines.append)
    assert solution.modes == (64,)
    assert solution.agreement <= 1e-5
    assert all("64 modes" in line for line in lines)
    assert len(lines) >= 2


class BlowUp(EvolutionProblem):
    space = Periodic(0.0, 1.0)

    def residual(self, u, t, x):
        return u.t - u**2

    def initial(self, x):
        return 2 + jnp.sin(2 * jnp.pi * x)


class Discontinuous(EvolutionProblem):
    space = Periodic(0.0, 1.0)

    def residual(self, u, t, x):
        return u.t + u.x

    def initial(self, x):
        return jnp.where(x < 0.5, 1.0, 0.0)


def test_a_solution_that_ceases_to_exist_is_reported():
    with pytest.raises(NotConvergedError, match=r"not finite after t=0\.3.*whatever the modes"):
        reference_solution(BlowUp(), cache=False)
    with pytest.raises(NotConvergedError, match=r"modes=\(32,\) and time_step=1\.00e-02"):
        reference_solution(BlowUp(), modes=32, time_step=0.01, cache=False)


def test_a_tolerance_out_of_reach_is_reported_with_what_was_reached():
    with pytest.raises(NotConvergedError, match=r"16384 modes an axis.*in space"):
        reference_solution(Discontinuous(), cache=False, levels=3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"tolerance": 0.0}, "tolerance=0.0"),
        ({"modes": (32, 32)}, r"modes=\(32, 32\)"),
        ({"modes": 2}, "modes=2"),
        ({"time_step": -1.0}, "time_step=-1.0"),
        ({"levels": 1}, "levels=1"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        reference_solution(AllenCahn(), cache=False, **arguments)


def test_bad_evaluations_are_named(allen_cahn):
    with pytest.raises(ValueError, match="outside the time interval"):
        allen_cahn(1.5, 0.0)
    with pytest.raises(ValueError, match="2 coordinate"):
        allen_cahn(0.5, 0.0, 0.0)
    with pytest.raises(ValueError, match="expected"):
        allen_cahn.on_grid([0.5], np.zeros((3, 2)))
    with pytest.raises(ValueError, match="derivative"):
        allen_cahn.on_grid([0.5], np.zeros((3, 1)), derivative=(1, 1))
