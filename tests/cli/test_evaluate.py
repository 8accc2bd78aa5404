"""`cinnet evaluate` on a system with a complex component, whose parts are columns of their own."""

import numpy as np
import pytest
from click.testing import CliRunner

from cinnet.cli import main

WAVE = """
import jax.numpy as jnp
import cinnet

class Wave(cinnet.EvolutionProblem):
    space = cinnet.Periodic(0.0, 1.0)
    components = ("n", cinnet.Complex("psi"))

    def residual(self, n, psi, t, x):
        return n.t + n.x, 1j * psi.t + psi.xx

    def initial(self, x):
        return jnp.cos(2 * jnp.pi * x), jnp.exp(2j * jnp.pi * x)
"""


def invoke(*arguments):
    result = CliRunner().invoke(main, [str(argument) for argument in arguments])
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


@pytest.fixture(scope="module")
def evaluate(tmp_path_factory):
    """Evaluates a run at one point."""
    folder = tmp_path_factory.mktemp("complex")
    (folder / "wave.py").write_text(WAVE)
    problem, run = f"{folder}/wave.py:Wave", folder / "run"
    small = ["--grid", "2", "8", "--steps", "2", "--hidden", "4", "--windows", "1"]
    invoke("solve", problem, *small, "--output", run, "--no-report")
    return lambda *flags: invoke("evaluate", run, "--t", "0.5", "--x", "0.25", "--problem", problem, *flags)


def test_every_part_is_a_column(evaluate, tmp_path):
    header, row = evaluate()
    assert header == "t,x,n,psi.real,psi.imag"
    evaluate("--output", tmp_path / "values.npz")
    with np.load(tmp_path / "values.npz") as file:
        n, psi = file["u"][0, 0]
    np.testing.assert_allclose([float(text) for text in row.split(",")], [0.5, 0.25, n.real, psi.real, psi.imag])


def test_derivatives_have_parts_too(evaluate, tmp_path):
    evaluate("--derivative", "x", "--output", tmp_path / "values.csv")
    header, row = (tmp_path / "values.csv").read_text().splitlines()
    assert header == "t,x,n_x,psi.real_x,psi.imag_x"
    assert len(set(row.split(","))) == 5
