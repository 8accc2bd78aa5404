"""A run folder holds one run: an edited equation is another one, and what made it stays what made it."""

import json
import os
import signal

import jax.numpy as jnp
import numpy as np
import pytest

import cinnet
from cinnet.storage.run_folder import RESULT_FILE

TINY = {"grid": (4, 8), "hidden": (3,), "windows": 2, "optimizer": "adam", "steps": 2}


def flux(u, factor=0.05):
    return factor * u.xx


class Rod(cinnet.EvolutionProblem):
    space = cinnet.Bounded(0.0, 1.0)
    boundary = (cinnet.dirichlet("x"),)

    def residual(self, u, t, x):
        return u.t - flux(u)

    def initial(self, x):
        return jnp.sin(jnp.pi * x)


def edited(**attributes):
    """The class after its author changed it: of the same name, with other attributes."""
    return type("Rod", (Rod,), attributes)()


def solve(folder, problem=None, **options):
    return cinnet.solve(problem or Rod(), folder=folder, **TINY, **options)


def interrupt_at(step):
    def callback(view):
        if view.step == step:
            os.kill(os.getpid(), signal.SIGINT)

    return callback


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("runs") / "rod"
    solve(place)
    return place


@pytest.mark.parametrize(
    "problem",
    [
        edited(residual=lambda self, u, t, x: u.t - 1.0000001 * flux(u)),
        edited(residual=lambda self, u, t, x: u.t - flux(u, 0.06)),
        edited(initial=lambda self, x: 2 * jnp.sin(jnp.pi * x)),
        edited(boundary=(cinnet.dirichlet("x", value=lambda t, x: t),)),
        edited(boundary=(cinnet.neumann("x"),)),
        edited(space=cinnet.Bounded(0.0, 2.0), initial=lambda self, x: jnp.sin(2 * jnp.pi * x)),
        edited(time=(0.0, 2.0)),
        Rod(observations=cinnet.Observations([0.5], [0.5], [1.0])),
    ],
)
@pytest.mark.filterwarnings("ignore:Rod. the initial value misses")
def test_an_edited_equation_is_not_the_run_in_the_folder(folder, problem):
    """It was once known by its name: the old network came back as the finished solution of the new equation."""
    for use in (lambda: solve(folder, problem), lambda: cinnet.load(folder, problem)):
        with pytest.raises(ValueError, match="the equation, initial value, boundary or data of 'Rod' have changed"):
            use()


def test_an_edited_helper_makes_another_equation(folder, monkeypatch):
    assert cinnet.load(folder, Rod()).status == "completed"
    monkeypatch.setattr(flux, "__defaults__", (0.06,))
    with pytest.raises(ValueError, match="of 'Rod' have changed"):
        cinnet.load(folder, Rod())


@pytest.fixture
def build(monkeypatch):
    """Sets the commit that a process runs."""

    def set_commit(commit):
        monkeypatch.setattr("cinnet.training.trainer.provenance", lambda: {"cinnet": "0.1", "commit": commit})

    return set_commit


def commit_of(folder):
    return json.loads((folder / RESULT_FILE).read_text())["made_by"]["commit"]


def test_a_result_names_what_trained_the_run_and_not_what_looks_at_it_later(tmp_path, build):
    first, longer = tmp_path / "first", tmp_path / "longer"
    build("of monday")
    solve(first)
    build("of tuesday")
    solve(first)
    assert commit_of(first) == "of monday"
    cinnet.load(first, Rod()).assess()
    assert commit_of(first) == "of monday"
    solve(first, assess=True)
    assert commit_of(first) == "of monday"
    cinnet.extend(cinnet.load(first, Rod()), 1.5, folder=longer)
    assert commit_of(longer) == "of monday, of tuesday"


def test_a_result_names_all_that_had_a_part_in_training(tmp_path, build):
    build("of monday")
    solve(tmp_path, callbacks=[interrupt_at(1)])
    build("of tuesday")
    assert solve(tmp_path, budget=1e-9).result.made_by["commit"] == "of monday"
    (tmp_path / RESULT_FILE).unlink()
    assert solve(tmp_path).result.made_by["commit"] == "of monday, of tuesday"


def test_a_finished_run_keeps_its_assessment(tmp_path):
    assessed = solve(tmp_path, assess=True).result
    assert assessed.is_assessed
    assert solve(tmp_path).result == assessed
    (tmp_path / RESULT_FILE).write_text("{")
    assert not solve(tmp_path).result.is_assessed
    np.testing.assert_array_equal(cinnet.load(tmp_path, Rod())(0.5, 0.5), solve(tmp_path)(0.5, 0.5))
