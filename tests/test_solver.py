import jax
import jax.numpy as jnp
import numpy as np
import pytest
from filelock import FileLock
from scipy.integrate import solve_ivp

import cinnet
from cinnet import machine
from cinnet.config.settings import Stage
from cinnet.problems import KortewegDeVries
from cinnet.solver import load, solve
from cinnet.storage.files import StorageError
from cinnet.storage.run_folder import LOCK_FILE, held
from cinnet.view.plots import all_figures
from cinnet.view.report import write_report

TINY = {"grid": (6, 12), "hidden": (8, 8), "harmonics": (1,), "stages": (Stage("levenberg-marquardt", 25),)}


class Heat(cinnet.EvolutionProblem):
    """u_t = u_xx / 20, solved by exp(-pi^2 t / 20) sin(pi x)."""

    space = cinnet.Periodic(-1.0, 1.0)

    def residual(self, u, t, x):
        return u.t - 0.05 * u.xx

    def initial(self, x):
        return jnp.sin(jnp.pi * x)


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("CINNET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))


@pytest.fixture(scope="module")
def solved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "heat"
    return solve(Heat(), folder=folder, reference=False, **TINY), folder


def test_a_linear_problem_is_solved(solved):
    solution, _ = solved
    t, x = np.linspace(0, 1, 5)[:, None], np.linspace(-1, 1, 9)
    exact = np.exp(-0.05 * np.pi**2 * t) * np.sin(np.pi * x)
    assert np.abs(solution(t, x) - exact).max() < 0.02
    assert solution.status in ("completed", "stalled")


def test_values_and_derivatives_at_scattered_points_equal_the_network(solved):
    solution, _ = solved
    generator = np.random.default_rng(0)
    t, x = generator.uniform(0, 1, 7), generator.uniform(-1, 1, 7)
    one_by_one = [float(solution.network(t[i], x[i])[0]) for i in range(7)]
    np.testing.assert_allclose(solution(t, x), one_by_one, atol=1e-5)
    slopes = [float(jax.jacfwd(lambda z, t=t[i]: solution.network(t, z)[0])(jnp.float32(x[i]))) for i in range(7)]
    np.testing.assert_allclose(solution.derivative("x", t, x), slopes, atol=1e-4)


def test_a_saved_run_is_the_same_solution(solved):
    solution, folder = solved
    again = load(folder, Heat())
    np.testing.assert_array_equal(again(0.3, 0.2), solution(0.3, 0.2))
    assert again.result == solution.result
    with pytest.raises(ValueError, match="'Heat', which is not built in"):
        load(folder)


def test_a_solution_without_a_folder_can_be_saved(tmp_path):
    solution = solve(Heat(), reference=False, windows=2, **TINY)
    solution.assess(reference=False)
    solution.save(tmp_path / "kept")
    again = load(tmp_path / "kept", Heat())
    np.testing.assert_array_equal(again(0.3, 0.2), solution(0.3, 0.2))
    assert again.records == solution.records
    write_report([tmp_path / "kept"], tmp_path / "report.html")
    with pytest.raises(ValueError, match="another configuration"):
        solve(Heat(), seed=1, reference=False, **TINY).save(tmp_path / "kept")


def test_a_folder_with_another_run_is_refused(solved):
    _, folder = solved
    with pytest.raises(ValueError, match="another configuration"):
        solve(Heat(), folder=folder, seed=5, **TINY)


def test_a_folder_that_another_process_writes_to_is_refused(solved, tmp_path):
    _, folder = solved
    # A second lock of the same file is to the system what that of another process is.
    with FileLock(tmp_path / LOCK_FILE), pytest.raises(ValueError, match="another process"):
        solve(Heat(), folder=tmp_path, **TINY)
    assert [path.name for path in tmp_path.iterdir()] == [LOCK_FILE]
    with held(folder), held(folder):
        load(folder, Heat())


def test_a_folder_without_a_run_is_named(tmp_path):
    with pytest.raises(StorageError, match="not a finished run folder"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda s: s(2.0, 0.0), "t=2.0 lies outside"),
        (lambda s: s(0.5), "0 coordinate"),
        (lambda s: s.derivative("q", 0.5, 0.0), "'q' is not made of"),
        (lambda s: s.derivative("y", 0.5, 0.0), "no axis 'y'"),
    ],
)
def test_wrong_evaluations_are_named(solved, call, message):
    with pytest.raises(ValueError, match=message):
        call(solved[0])


def test_diagnostics_against_the_reference(solved):
    solution, _ = solved
    times, errors = solution.error_over_time()
    assert solution.relative_error() < 0.02
    assert errors.shape == times.shape == solution.residual_over_time()[1].shape
    assert solution.invariants() == {}
    assert "Heat" in repr(solution)


MEASUREMENTS = (
    *("machine.timeit.repeat", "reference.known.reference_solution"),
    *("assess.error_estimate.linearised", "assess.diagnostics.sample_fields"),
)


def refuse(monkeypatch, *names):
    def unasked(*_, **__):
        raise AssertionError("nobody asked for this")

    for name in names:
        monkeypatch.setattr(f"cinnet.{name}", unasked)


@pytest.mark.parametrize("options", [{}, {"reference": False}])
def test_nothing_is_measured_unasked(options, monkeypatch, tmp_path):
    """Every run once took a GEMM, an error estimate and figures, also without a reference."""
    refuse(monkeypatch, *MEASUREMENTS)
    solution = solve(Heat(), grid=(2, 4), hidden=(4,), stages=(Stage("adam", 1),), folder=tmp_path / "run", **options)
    assert not solution.result.is_assessed
    assert solution.result.relative_l2_error is None


def test_a_solution_that_shall_not_be_compared_is_judged_without_a_reference(monkeypatch):
    solution = solve(Heat(), grid=(2, 4), hidden=(4,), stages=(Stage("adam", 1),), reference=False)
    refuse(monkeypatch, "assess.assessment.find_reference")
    assert "There is no reference" not in solution.verdict
    assert solution.result.is_assessed
    with pytest.raises(AssertionError, match="nobody asked"):
        solution.assess(reference=True)


def test_an_unknown_problem_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'allen-cahn'"):
        solve("alen-cahn")


def test_invariants_of_a_solution():
    solution = solve(KortewegDeVries(), reference=False, grid=(2, 8), hidden=(4,), stages=(Stage("adam", 1),))
    assert set(solution.invariants()) == {"mass", "momentum", "energy"}


def test_a_float64_solution_is_evaluated_in_float64_wherever_it_is_called():
    solution = solve(Heat(), reference=False, dtype="float64", **TINY)
    with jax.enable_x64(True):
        inside = solution(0.3, 0.2)
    assert solution(0.3, 0.2).dtype == np.float64
    np.testing.assert_array_equal(solution(0.3, 0.2), inside)
    assert solution.network.dtype == np.float64


class Predators(cinnet.EvolutionProblem):
    """Lotka-Volterra, an ODE of two components."""

    time = (0.0, 2.0)
    components = ("prey", "hunters")

    def residual(self, u, v, t):
        return u.t - u + u * v, v.t + v - u * v

    def initial(self):
        return 2.0, 1.0


def test_an_ode_is_solved_drawn_and_compared_with_scipy(tmp_path):
    solution = solve(Predators(), grid=(10, 1), hidden=(8, 8), windows=2, folder=tmp_path / "run", assess=True)
    times = np.linspace(0, 2, 7)
    exact = solve_ivp(
        lambda t, y: [y[0] - y[0] * y[1], y[0] * y[1] - y[1]], (0, 2), [2, 1], t_eval=times, rtol=1e-10, atol=1e-12
    )
    np.testing.assert_allclose(solution(times), exact.y.T, atol=2e-3)
    assert set(all_figures(solution.diagnostics, solution.records, "")) >= {"solution", "training"}
    write_report([tmp_path / "run"], tmp_path / "report.html")


class Rod(cinnet.EvolutionProblem):
    """u_t = u_xx / 20 with u = 0 at both ends, solved by exp(-pi^2 t / 20) sin(pi x)."""

    space = cinnet.Bounded(0.0, 1.0)
    boundary = (cinnet.BoundaryCondition("x", "lower"), cinnet.BoundaryCondition("x", "upper"))

    def residual(self, u, t, x):
        return u.t - 0.05 * u.xx

    def initial(self, x):
        return jnp.sin(jnp.pi * x)

    def exact(self, t, x):
        return jnp.exp(-0.05 * jnp.pi**2 * t) * jnp.sin(jnp.pi * x)

    def invariants(self):
        return {"slope": cinnet.Invariant(lambda u, t, x: u.x**2, conserved=False)}


def test_a_problem_that_states_its_solution_is_compared_with_it():
    solution = solve(Rod(), grid=(6, 12), hidden=(8, 8), stages=TINY["stages"])
    t, x = np.linspace(0, 1, 101), np.linspace(0, 1, 512)
    exact = np.exp(-0.05 * np.pi**2 * t)[:, None] * np.sin(np.pi * x)
    error = np.linalg.norm(solution(t[:, None], x) - exact) / np.linalg.norm(exact)
    assert solution.relative_error() == pytest.approx(error, rel=1e-3)
    assert error < 0.02
    slope = solution.diagnostics.invariants["slope"]
    np.testing.assert_allclose(slope.reference, np.pi**2 / 2 * np.exp(-0.1 * np.pi**2 * t), rtol=1e-2)


def test_freedom_between_the_points_is_found_with_a_reference_too():
    """The error was once all that was said."""
    few = {"grid": (3, 3), "bounded_harmonics": 6, "windows": 1, "stages": (Stage("levenberg-marquardt", 40),)}
    verdict = solve(Rod(), **few, assess=True).verdict
    assert verdict.startswith("Inaccurate: relative L2 error")
    assert "against the reference" in verdict
    assert "holds at the training points but not between them" in verdict
    assert verdict.endswith("Try a denser grid.")


def test_an_exact_solution_that_does_not_start_right_is_refused():
    class Late(Rod):
        def exact(self, t, x):
            return jnp.cos(jnp.pi * x)

    with pytest.raises(ValueError, match=r"exact and initial differ by 1\.4e\+00 at t = 0\.0"):
        Late()


def test_programs_of_earlier_runs_are_forgotten_before_the_process_has_too_many(tmp_path, monkeypatch):
    def compiled_before_a_run():
        program = jax.jit(lambda x: x + 1)
        program(1.0)
        solve(Heat(), reference=False, grid=(4, 8), hidden=(4,), harmonics=(1,), stages=(Stage("adam", 1),))
        return program._cache_size()

    assert compiled_before_a_run() == 1
    small = tmp_path / "max_map_count"
    small.write_text("100\n")
    monkeypatch.setattr(machine, "_MOST_MAPS", small)
    assert compiled_before_a_run() == 0
    monkeypatch.setattr(machine, "_MOST_MAPS", tmp_path / "not Linux")
    assert compiled_before_a_run() == 1
