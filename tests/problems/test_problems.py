from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest

from cinnet.conditions import BoundaryCondition
from cinnet.domains import Bounded, Box, Periodic, TimeInterval
from cinnet.fields import apply_operator, required_derivatives
from cinnet.observations import Observations
from cinnet.problems import (
    PROBLEMS,
    AllenCahn,
    AllenCahn2D,
    CahnHilliard,
    EvolutionProblem,
    Invariant,
    KortewegDeVries,
)

TIMES = np.array([0.0, 0.3, 1.0])
PI = np.pi


def decaying_wave(dimension):
    """Derivatives of sin(pi x) exp(-t), times cos(pi y) in two dimensions, on a few points."""
    generator = np.random.default_rng(0)
    points = generator.uniform(-1, 1, size=(4, dimension))
    cycle = (np.sin, np.cos, lambda z: -np.sin(z), lambda z: -np.cos(z))

    def derivative(index):
        decay = (-1.0) ** index[0] * np.exp(-TIMES)[:, None]
        value = decay * PI ** index[1] * cycle[index[1] % 4](PI * points[:, 0])
        if dimension == 2:
            value = value * PI ** index[2] * cycle[(index[2] + 1) % 4](PI * points[:, 1])
        return value

    return points, derivative


def evaluate(operator, dimension):
    points, derivative = decaying_wave(dimension)
    asked, _ = required_derivatives(operator, dimension)
    arrays = {index: jnp.asarray(derivative(index)[..., None]) for index in asked}
    return np.asarray(apply_operator(operator, arrays, jnp.asarray(TIMES), jnp.asarray(points)))[..., 0]


def by_hand(dimension, *indices):
    _, derivative = decaying_wave(dimension)
    return [derivative(index) for index in indices]


class CoolingRod(EvolutionProblem):
    """pi^2 u_t = u_xx, with both ends held at zero; from sin(pi x) it is solved by exp(-t) sin(pi x)."""

    space = Bounded(0.0, 1.0)
    boundary = (BoundaryCondition("x"),)

    def residual(self, u, t, x):
        return u.t - u.xx / PI**2

    def initial(self, x):
        return jnp.sin(PI * x)


@pytest.mark.parametrize("size", [0.0, 0.3])
def test_a_solution_satisfies_equation_initial_value_and_boundary_and_a_perturbed_one_does_not(size):
    """Of exp(-t) sin(pi x) + size (1 + t) x^2 the mismatches are known in closed form."""
    problem, x = CoolingRod(), np.array([0.0, 0.2, 0.7, 1.0])
    t = TIMES[:, None]
    wave = np.exp(-t) * np.sin(PI * x)
    arrays = {
        (0, 0): wave + size * (1 + t) * x**2,
        (1, 0): -wave + size * x**2,
        (0, 2): -(PI**2) * wave + 2 * size * (1 + t),
    }
    arrays = {index: jnp.asarray(value[..., None]) for index, value in arrays.items()}

    def mismatch(operator):
        return apply_operator(operator, arrays, jnp.asarray(TIMES), jnp.asarray(x[:, None]))[..., 0]

    residual = mismatch(problem.residual_operator)
    np.testing.assert_allclose(residual, size * (x**2 - 2 * (1 + t) / PI**2), atol=1e-15)
    start = arrays[0, 0][0] - problem.initial_values(x[:, None])
    np.testing.assert_allclose(start[:, 0], size * x**2, atol=1e-15)
    lower, upper = (mismatch(condition.mismatch) for condition in problem.boundary_faces)
    np.testing.assert_allclose(lower[:, 0], 0.0, atol=1e-15)
    np.testing.assert_allclose(upper[:, -1], size * (1 + TIMES), atol=1e-15)


@pytest.mark.parametrize("options", [{}, {"diffusivity": 0.3, "reaction": 2.0}])
def test_allen_cahn_residual(options):
    d, r = options.get("diffusivity", 1e-4), options.get("reaction", 5.0)
    u, u_t, u_xx = by_hand(1, (0, 0), (1, 0), (0, 2))
    result = evaluate(AllenCahn(**options).residual, 1)
    np.testing.assert_allclose(result, u_t - d * u_xx + r * (u**3 - u), rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"diffusivity": 0.3, "reaction": 2.0}])
def test_allen_cahn_residual_in_two_dimensions(options):
    d, r = options.get("diffusivity", 1e-4), options.get("reaction", 5.0)
    u, u_t, u_xx, u_yy = by_hand(2, (0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 2))
    result = evaluate(AllenCahn2D(**options).residual, 2)
    np.testing.assert_allclose(result, u_t - d * (u_xx + u_yy) + r * (u**3 - u), rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"advection": 3.0, "dispersion": 0.5}])
def test_korteweg_de_vries_residual(options):
    a, m = options.get("advection", 1.0), options.get("dispersion", 0.022)
    u, u_t, u_x, u_xxx = by_hand(1, (0, 0), (1, 0), (0, 1), (0, 3))
    result = evaluate(KortewegDeVries(**options).residual, 1)
    np.testing.assert_allclose(result, u_t + a * u * u_x + m**2 * u_xxx, rtol=1e-12)


@pytest.mark.parametrize("options", [{}, {"gradient_energy": 0.2, "mobility": 0.7}])
def test_cahn_hilliard_residual(options):
    g, d = options.get("gradient_energy", 1e-6), options.get("mobility", 1e-2)
    u, u_t, u_x, u_xx, u_xxxx = by_hand(1, (0, 0), (1, 0), (0, 1), (0, 2), (0, 4))
    flux = 6 * u * u_x**2 + (3 * u**2 - 1) * u_xx
    result = evaluate(CahnHilliard(**options).residual, 1)
    np.testing.assert_allclose(result, u_t + g * u_xxxx - d * flux, rtol=1e-11)


@pytest.mark.parametrize(
    ("problem", "initial"),
    [
        (AllenCahn(), lambda x: x**2 * np.cos(PI * x)),
        (KortewegDeVries(), lambda x: np.cos(PI * x)),
        (CahnHilliard(), lambda x: -np.cos(2 * PI * x)),
        (AllenCahn2D(), lambda x, y: np.cos(PI * x) * np.cos(PI * y) * (1 - np.exp(-(x**2 + y**2)))),
    ],
    ids=lambda value: getattr(value, "name", ""),
)
def test_initial_values(problem, initial):
    points = np.random.default_rng(1).uniform(-1, 1, size=(5, problem.box.dimension))
    result = problem.initial_values(jnp.asarray(points))
    assert result.shape == (5, 1)
    np.testing.assert_allclose(result[:, 0], initial(*points.T), rtol=1e-12, atol=1e-15)
    assert problem.interval == TimeInterval(0.0, 1.0)
    assert problem.box == Box(*[Periodic(-1.0, 1.0)] * problem.box.dimension)


@pytest.mark.parametrize(
    ("name", "order", "derivatives"),
    [
        ("allen-cahn", 2, {(0, 0), (1, 0), (0, 2)}),
        ("kdv", 3, {(0, 0), (1, 0), (0, 1), (0, 3)}),
        ("cahn-hilliard", 4, {(0, 0), (1, 0), (0, 1), (0, 2), (0, 4)}),
        ("allen-cahn-2d", 2, {(0, 0, 0), (1, 0, 0), (0, 2, 0), (0, 0, 2)}),
    ],
)
def test_problems_ask_only_for_what_they_read(name, order, derivatives):
    problem = PROBLEMS[name]()
    assert (problem.derivatives, problem.spatial_order) == (derivatives, order)
    assert problem.equation


def test_invariant_densities():
    u, u_x = by_hand(1, (0, 0), (0, 1))
    kdv = KortewegDeVries(advection=3.0, dispersion=0.5).invariants()
    np.testing.assert_allclose(evaluate(kdv["mass"].density, 1), u, rtol=1e-13)
    np.testing.assert_allclose(evaluate(kdv["momentum"].density, 1), u**2, rtol=1e-13)
    np.testing.assert_allclose(evaluate(kdv["energy"].density, 1), 0.125 * u_x**2 - 0.5 * u**3, rtol=1e-12)
    cahn_hilliard = CahnHilliard(gradient_energy=0.2, mobility=0.8).invariants()["free energy"].density
    np.testing.assert_allclose(evaluate(cahn_hilliard, 1), 0.1 * u_x**2 + 0.2 * (u**2 - 1) ** 2, rtol=1e-12)
    allen_cahn = AllenCahn(diffusivity=0.2, reaction=0.8).invariants()["free energy"].density
    np.testing.assert_allclose(evaluate(allen_cahn, 1), 0.1 * u_x**2 + 0.2 * (u**2 - 1) ** 2, rtol=1e-12)
    w, w_x, w_y = by_hand(2, (0, 0, 0), (0, 1, 0), (0, 0, 1))
    plane = AllenCahn2D(diffusivity=0.2, reaction=0.8).invariants()["free energy"].density
    np.testing.assert_allclose(evaluate(plane, 2), 0.1 * (w_x**2 + w_y**2) + 0.2 * (w**2 - 1) ** 2, rtol=1e-12)


@pytest.mark.parametrize(
    "problem",
    [
        KortewegDeVries(advection=1.3, dispersion=0.4),
        CahnHilliard(gradient_energy=0.02, mobility=0.3),
        AllenCahn(diffusivity=0.05, reaction=2.0),
    ],
    ids=lambda problem: problem.name,
)
def test_invariants_stay_or_fall_along_the_exact_flow(problem):
    """d/dt of each integral, with u_t = -N[u] inserted, on a trigonometric polynomial."""
    count = 96
    grid = problem.box.uniform_grid((count,))
    wavenumbers = 1j * PI * np.fft.fftfreq(count, d=1 / count)
    state = 0.4 + np.cos(PI * grid[:, 0]) + 0.3 * np.sin(2 * PI * grid[:, 0] + 0.2)

    def spatial(values, order):
        return np.fft.ifft(wavenumbers**order * np.fft.fft(values)).real

    def arrays(values, asked):
        return {i: jnp.asarray(spatial(values, i[1]) if not i[0] else 0 * values)[None, :, None] for i in asked}

    def apply(operator, derivatives):
        return apply_operator(operator, derivatives, jnp.zeros(1), jnp.asarray(grid))[0, :, 0]

    velocity = -np.asarray(apply(problem.residual, arrays(state, problem.derivatives)))
    assert np.abs(velocity).max() > 0.1
    for name, invariant in problem.invariants().items():
        asked, _ = required_derivatives(invariant.density, 1)
        density_rate = jax.jvp(
            lambda values, density=invariant.density: apply(density, values),
            (arrays(state, asked),),
            (arrays(velocity, asked),),
        )[1]
        rate = float(density_rate.mean()) * problem.box.volume
        if invariant.conserved:
            assert rate == pytest.approx(0, abs=1e-10), name
            assert np.abs(density_rate).max() > 0.1
        else:
            assert rate < -1e-3, name


class System(EvolutionProblem):
    """A wave equation as a first-order system."""

    speed: float = 2.0
    time = (1.0, 3.0)
    space = Bounded(0.0, 1.0)
    components = ("u", "v")

    def residual(self, u, v, t, x):
        return u.t - v, v.t - self.speed**2 * u.xx

    def initial(self, x):
        return jnp.sin(x), 0.0 * x


def test_a_system_has_one_equation_and_initial_value_for_each_component():
    problem = System(speed=3.0)
    assert problem.initial_values(jnp.array([[0.5], [1.0]])).shape == (2, 2)
    assert problem.derivatives == {(1, 0), (0, 0), (0, 2)}
    assert problem.name == "System"
    assert problem.invariants() == {}


def test_an_ordinary_equation_has_no_space():
    class Decay(EvolutionProblem):
        time = TimeInterval(0.0, 2.0)

        def residual(self, u, t):
            return u.t + u

        def initial(self):
            return 1.0

    problem = Decay()
    assert (problem.box, problem.spatial_order) == (Box(), 0)
    assert problem.initial_values(jnp.zeros((1, 0))).tolist() == [[1.0]]


def test_a_problem_may_be_built_inside_a_compiled_function():
    class Scaled(EvolutionProblem):
        amplitude: Any
        space = Periodic(-1.0, 1.0)

        def residual(self, u, t, x):
            return u.t

        def initial(self, x):
            return self.amplitude * x

    values = eqx.filter_jit(lambda a: Scaled(a).initial_values(jnp.array([[0.5]])))(jnp.array(3.0))
    assert values.tolist() == [[1.5]]


def variant(**changes):
    """A subclass of a valid problem with some of its parts replaced."""
    base = {
        "space": Periodic(-1.0, 1.0),
        "residual": lambda self, u, t, x: u.t + u.x,
        "initial": lambda self, x: jnp.sin(x),
    }
    return type("Variant", (EvolutionProblem,), base | changes)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"residual": lambda self, u, t, x: u.tt}, ValueError, r"u\.tt"),
        ({"residual": lambda self, u, t, x: u.t + u.y}, ValueError, r"u\.y.*'y'"),
        ({"residual": lambda self, u, t, x: u.x}, ValueError, r"Variant: residual never reads u\.t"),
        ({"residual": lambda self, u, t, x: (u.t, u.t)}, ValueError, "Variant: residual returns 2 equation"),
        ({"residual": lambda self, u, t, x: u.t * jnp.ones(3)}, ValueError, r"shape \(3,\)"),
        (
            {"initial": lambda self, x: 1 / (x + 1)},
            ValueError,
            r"Variant: the initial value is \[inf\] at .* = \[-1.0\]",
        ),
        ({"initial": lambda self, x: (x, x)}, ValueError, r"Variant: initial returns values of shape \(2,\)"),
        ({"components": ()}, ValueError, r"components=\(\)"),
        ({"components": ("u", "u")}, ValueError, r"components=\('u', 'u'\)"),
        ({"time": (1.0, 1.0)}, ValueError, r"TimeInterval\(1.0, 1.0\)"),
        ({"space": (-1.0, 1.0)}, TypeError, r"space"),
        ({"boundary": (BoundaryCondition("x", "lower"),)}, ValueError, "axis='x'.*periodic"),
        (
            {
                "space": Bounded(-1.0, 1.0),
                "boundary": (BoundaryCondition("x", "lower", operator=lambda u, t, x: u.y),),
                "initial": lambda self, x: x,
            },
            ValueError,
            r"u\.y",
        ),
        ({"invariants": lambda self: {"bad": Invariant(lambda u, t, x: u.yy)}}, ValueError, r"u\.yy"),
    ],
)
def test_mistakes_in_a_problem_are_found_when_it_is_made(changes, error, message):
    with pytest.raises(error, match=message):
        variant(**changes)()


def test_the_valid_variant_is_valid():
    assert variant()().name == "Variant"


def test_until_changes_the_interval_and_nothing_else():
    problem = AllenCahn(diffusivity=0.02)
    longer = problem.until(2.0)
    assert type(longer) is AllenCahn
    assert (longer.interval, longer.parameters) == (TimeInterval(0.0, 2.0), {"diffusivity": 0.02, "reaction": 5.0})
    assert longer.is_extended
    assert not problem.is_extended
    assert longer == AllenCahn(diffusivity=0.02).until(2.0) != problem
    assert not longer.until(1.0).is_extended
    assert longer.with_guesses().interval == longer.interval == jax.tree.map(lambda leaf: leaf, longer).interval
    assert jax.tree.structure(longer) != jax.tree.structure(problem)
    with pytest.raises(ValueError, match=r"TimeInterval\(0\.0, -1\.0\)"):
        problem.until(-1.0)


def test_until_works_for_a_problem_with_its_own_constructor():
    class Scaled(AllenCahn):
        def __init__(self, scale: float):
            self.diffusivity, self.reaction = 1e-4 * scale, 5.0 * scale

    assert Scaled(2.0).until(0.5).interval.end == 0.5
    assert Scaled(2.0).until(0.5).reaction == 10.0
    assert not Scaled(2.0).is_extended


def test_until_refuses_to_leave_observations_out():
    problem = AllenCahn(observations=Observations([0.9], [0.1], [0.0]))
    assert problem.until(1.5).observations == problem.observations
    with pytest.raises(ValueError, match=r"observations: t=0\.9 lies outside"):
        problem.until(0.5)
