import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from scipy.io import savemat

from cinnet import Bounded, EvolutionProblem, GridFunction, Periodic, read_arrays
from cinnet.storage.run_folder import describe


@pytest.fixture(autouse=True)
def _double():
    with jax.enable_x64(True):
        yield


def test_is_the_cubic_spline_of_scipy_with_its_derivatives():
    x = np.sort(np.random.default_rng(0).uniform(0, 3, 20))
    values = np.sin(3 * x)
    ours, theirs = GridFunction(values, x), CubicSpline(x, values, bc_type="not-a-knot")
    where = np.linspace(x[0] - 0.1, x[-1] + 0.1, 57)
    np.testing.assert_allclose(jax.vmap(ours)(where), theirs(where), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(jax.vmap(jax.grad(jax.grad(ours)))(where), theirs(where, 2), rtol=1e-8, atol=1e-9)


def test_periodic_axis_repeats():
    axis = Periodic(-1.0, 1.0)
    x = axis.uniform_points(32)
    values = np.cos(np.pi * x) + np.sin(2 * np.pi * x)
    ours = GridFunction.on((axis,), values)
    theirs = CubicSpline(np.append(x, 1.0), np.append(values, values[0]), bc_type="periodic")
    where = np.linspace(-3.0, 3.0, 101)
    np.testing.assert_allclose(jax.vmap(ours)(where), theirs(where), atol=1e-12)


def test_tensor_grid():
    axes = (Periodic(-1.0, 1.0), Bounded(0.0, 2.0))
    x, y = axes[0].uniform_points(40), axes[1].uniform_points(30)
    function = GridFunction.on(axes, np.cos(np.pi * x)[:, None] * np.exp(y))
    assert float(function(0.3, 1.1)) == pytest.approx(np.cos(0.3 * np.pi) * np.exp(1.1), rel=1e-5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GridFunction(np.ones(5)), "1 axes, but 0 rows"),
        (lambda: GridFunction(np.ones(5), np.arange(4)), "5 increasing numbers"),
        (lambda: GridFunction(np.ones(5), np.arange(5)[::-1]), "increasing"),
        (lambda: GridFunction(np.ones(3), np.arange(3)), "at least 4"),
        (lambda: GridFunction([1, 2, np.nan, 3, 4], np.arange(5)), r"values\[2\] is not finite"),
        (lambda: GridFunction(np.ones(5), np.arange(5), periods=[4.0]), "period 4.0 or more"),
        (lambda: GridFunction(np.ones(5), np.arange(5), periods=[4.0, None]), "one for each of the 1 axes"),
        (lambda: GridFunction(np.ones(5), np.arange(5))(1.0, 2.0), r"takes 1 coordinate\(s\), got 2"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_as_coefficient_and_initial_value():
    axis = Periodic(0.0, 1.0)

    class Medium(EvolutionProblem):
        speed: GridFunction
        start: GridFunction

        space = axis

        def residual(self, u, t, x):
            return u.t + self.speed(x) * u.x

        def initial(self, x):
            return self.start(x)

    x = axis.uniform_points(16)
    problem = Medium(
        GridFunction.on((axis,), 2 + np.cos(2 * np.pi * x)), GridFunction.on((axis,), np.sin(2 * np.pi * x))
    )
    np.testing.assert_allclose(problem.initial_values(x[:, None])[:, 0], np.sin(2 * np.pi * x), atol=1e-12)
    other = Medium(GridFunction.on((axis,), np.ones(16)), problem.start)
    assert describe(problem) != describe(other)


def test_files(tmp_path):
    x, u = np.linspace(0, 1, 5), np.arange(5.0)
    np.savez(tmp_path / "a.npz", x=x, u=u)
    savemat(tmp_path / "a.mat", {"x": x, "u": u, "name": "text"})
    (tmp_path / "a.csv").write_text("x, u\n" + "".join(f"{a},{b}\n" for a, b in zip(x, u, strict=True)))
    for suffix in ("npz", "mat", "csv"):
        arrays = read_arrays(tmp_path / f"a.{suffix}")
        assert sorted(arrays) == ["u", "x"]
        np.testing.assert_allclose(arrays["u"], u)


def test_bad_files(tmp_path):
    cases = {"b.txt": ("1", "not '.txt'"), "b.csv": ("x,u\n1\n", "line 2: 1 entries"), "c.csv": ("x\nabc\n", "x='abc'")}
    for name, (content, message) in cases.items():
        (tmp_path / name).write_text(content)
        with pytest.raises(ValueError, match=message):
            read_arrays(tmp_path / name)
    with pytest.raises(FileNotFoundError, match=r"missing\.npz does not exist"):
        read_arrays(tmp_path / "missing.npz")
    np.savez(tmp_path / "evil.npz", thing=np.array([{"a": 1}], dtype=object))
    with pytest.raises(ValueError, match="allow_pickle"):
        read_arrays(tmp_path / "evil.npz")


def test_values_are_single_precision_inside_a_single_precision_problem():
    with jax.enable_x64(False):
        function = GridFunction(np.arange(5.0), np.arange(5.0))
        assert function(jnp.float32(1.5)).dtype == jnp.float32
