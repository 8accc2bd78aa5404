import errno
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner

import cinnet
from cinnet.cli import main
from cinnet.cli.common import PROBLEM_SUMMARIES
from cinnet.problems import PROBLEMS

OWN_PROBLEM = """
import jax.numpy as jnp
import cinnet

class Heat(cinnet.EvolutionProblem):
    space = cinnet.Bounded(0.0, 1.0)
    boundary = (
        cinnet.BoundaryCondition("x", "lower"),
        cinnet.BoundaryCondition("x", "upper"),
    )

    def residual(self, u, t, x):
        return u.t - 0.1 * u.xx

    def initial(self, x):
        return jnp.sin(jnp.pi * x)

class Vortices(cinnet.EvolutionProblem):
    # The streamfunction psi has no time derivative.
    space = cinnet.Periodic(0.0, 1.0)
    components = ("psi", "w")

    def residual(self, psi, w, t, x):
        return psi.laplacian + w, w.t + psi.x - 0.1 * w.xx

    def initial(self, x):
        wave = jnp.cos(2 * jnp.pi * x)
        return wave, 4 * jnp.pi**2 * wave

class Broken(cinnet.EvolutionProblem):
    space = cinnet.Periodic(0.0, 1.0)

    def residual(self, u, t, x):
        return u.xx

    def initial(self, x):
        return x
"""
SMALL = ["--grid", "2", "8", "--steps", "2", "--hidden", "4,4", "--windows", "1"]


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A finished run and things that are not one."""
    root = tmp_path_factory.mktemp("places")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CINNET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        run = root / "run"
        (root / "heat.py").write_text(OWN_PROBLEM)
        (root / "raises.py").write_text("1 / 0\n")
        result = invoke("solve", f"{root}/heat.py:Heat", *SMALL, "--output", run)
        assert result.exit_code == 0, result.output
    for name in ("damaged", "unfinished", "unreadable", "foreign", "undiagnosed"):
        shutil.copytree(run, root / name)
    for path in (root / "damaged").glob("checkpoint.npz*"):
        path.write_bytes(path.read_bytes()[:1000])
    (root / "unfinished" / "result.json").unlink()
    (root / "undiagnosed" / "diagnostics.npz").write_bytes(b"PK")
    (root / "unreadable" / "config.json").write_text("{")
    (root / "foreign" / "config.json").write_text('{"settings": {"colour": 3}, "problem": {}}')
    (root / "not.toml").write_text("a = = 1")
    (root / "unknown.toml").write_text("colour = 3")
    (root / "stages.toml").write_text('[[stages]]\noptimizer = "adm"\nsteps = 3')
    (root / "file").write_text("")
    return root


def test_names_are_those_of_the_library():
    assert set(PROBLEM_SUMMARIES) == set(PROBLEMS)


def test_list_names_everything():
    text = invoke("list").output
    assert all(name in text for name in (*PROBLEMS, "ci-pinn", "causal-pinn", "pinn", "fast", "accurate", "paper"))
    assert set(json.loads(invoke("list", "--json").output)) == {"problems", "methods", "presets"}


def test_help_does_not_wait_for_jax():
    code = "import sys; from cinnet.cli import main; main(['solve', '--help'], standalone_mode=False); "
    code += "sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


def test_a_problem_of_ones_own_is_solved_drawn_and_resumed(places):
    names = {path.name for path in (places / "run").iterdir()}
    assert {"solution.png", "training.pdf", "report.html", "result.json", "config.json", "checkpoint.npz"} <= names
    again = invoke("resume", places / "run", "--problem", f"{places}/heat.py:Heat", "--json")
    assert again.exit_code == 0, again.output
    assert json.loads(again.output)["problem"] == "Heat"


def test_a_problem_with_a_constraint_is_solved_and_judged_without_a_reference(places, tmp_path, monkeypatch):
    """It was once refused, because no reference can be computed."""
    monkeypatch.setattr(sys.modules["cinnet.cli.solve"], "_draw", lambda *_: None)
    flags = [*SMALL, "--harmonics", "1", "--output", tmp_path / "run", "--json"]
    result = invoke("solve", f"{places}/heat.py:Vortices", *flags)
    assert result.exit_code == 0, result.output
    verdict = json.loads(result.stdout)["verdict"]
    assert "estimated relative L2 error" in verdict
    assert "The equation determines psi only up to a constant" in verdict
    assert "There is no reference: problem Vortices" in verdict


def test_assessment_can_be_switched_off(places, tmp_path, monkeypatch):
    monkeypatch.setattr("cinnet.solution.Solution.assess", None)
    result = invoke("solve", f"{places}/heat.py:Heat", *SMALL, "--output", tmp_path / "run", "--no-report")
    assert result.exit_code == 0, result.output
    names = {path.name for path in (tmp_path / "run").iterdir()}
    assert "result.json" in names
    assert not names & {"report.html", "diagnostics.npz", "solution.png"}


def test_extend_carries_a_run_on_beside_it(places):
    result = invoke("extend", places / "run", "--until", "2", "--problem", f"{places}/heat.py:Heat", "--json")
    assert result.exit_code == 0, result.output
    assert (places / "run-until-2" / "report.html").exists()
    assert json.loads(result.output)["num_times"] == 4


@pytest.mark.parametrize("suffix", [".csv", ".npz", None])
def test_evaluate_gives_the_values_of_the_solution(places, tmp_path, suffix):
    sys.path.insert(0, str(places))
    import heat  # pyright: ignore[reportMissingImports]

    solution = cinnet.load(places / "run", heat.Heat())
    t, x = np.array([0.0, 0.5]), np.linspace(0, 1, 3)
    expected = solution(t[:, None], x)
    output = None if suffix is None else tmp_path / f"values{suffix}"
    flags = [] if output is None else ["--output", output]
    own = ["--problem", f"{places}/heat.py:Heat"]
    result = invoke("evaluate", places / "run", "--t", "0, 0.5", "--x", "0:1:3", *own, *flags)
    assert result.exit_code == 0, result.output
    if suffix == ".npz":
        with np.load(output) as file:
            np.testing.assert_allclose(file["u"], expected)
        return
    text = result.output if output is None else output.read_text()
    header, *rows = text.splitlines()
    assert header == "t,x,u"
    np.testing.assert_allclose([float(row.split(",")[2]) for row in rows], expected.ravel(), rtol=1e-7)


def test_compare_shows_the_runs(places):
    assert "run" in invoke("compare", places / "run").output
    rows = json.loads(invoke("compare", places / "run", places / "damaged", "--json").output)
    assert [row["steps"] for row in rows] == [2, 2]


def test_report_and_animation_need_only_the_folder(places):
    result = invoke("report", places / "run", "--animation")
    assert result.exit_code == 0, result.output
    assert b"GIF8" in (places / "run" / "animation.gif").read_bytes()[:4]


def test_tensorboard_gets_every_record(places, tmp_path):
    problem = f"{places}/heat.py:Heat"
    result = invoke("solve", problem, *SMALL, "--output", tmp_path / "run", "--tensorboard", "--no-report")
    assert result.exit_code == 0, result.output
    events = next((tmp_path / "run" / "tensorboard").glob("events*")).read_bytes()
    assert b"held_out_residual" in events
    assert b"boundary_x_lower" in events


def test_tensorboard_that_is_missing_is_named(places, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    result = invoke("solve", f"{places}/heat.py:Heat", *SMALL, "--output", tmp_path / "run", "--tensorboard")
    assert result.exit_code == 2
    assert "pip install 'cinnet[tensorboard]'" in result.output
    assert not list(tmp_path.iterdir())


WRONG = {
    "unknown problem": (["solve", "alen-cahn"], "Did you mean 'allen-cahn'?"),
    "nothing like it": (["solve", "xyz"], "path/to/file.py:ClassName"),
    "unknown problem of reference": (["reference", "nothing"], "Choose one of"),
    "no problem": (["solve"], "Missing argument 'PROBLEM'"),
    "unknown command": (["slove"], "No such command"),
    "unknown flag": (["solve", "kdv", "--windws", "2"], "Did you mean '--windows'?"),
    "unknown method": (["solve", "kdv", "--method", "pin"], "'pin' is not one of"),
    "unknown preset": (["solve", "kdv", "--preset", "fats"], "'fats' is not one of"),
    "bad number": (["solve", "kdv", "--seed", "one"], "'one' is not a valid integer"),
    "negative budget": (["solve", "kdv", "--budget", "-3"], "-3"),
    "grid of one number": (["solve", "kdv", "--grid", "10"], "requires 2 arguments"),
    "grid of nothing": (["solve", "kdv", "--grid", "0", "8"], "0 is not in the range"),
    "bad setting": (["solve", "kdv", "--memory-gigabytes", "0"], "memory_gigabytes=0: give a positive number"),
    "unknown activation": (["solve", "kdv", "--activation", "relu", *SMALL], "activation='relu' is unknown"),
    "setting without effect": (["solve", "kdv", "--method", "pinn", "--gate", "fixed"], "gate='fixed' has no effect"),
    "windows that do not fit": (["solve", "kdv", "--windows", "21"], "windows=21: there are only num_times=20 levels"),
    "unknown quadrature": (["solve", "kdv", "--quadrature", "simpson", *SMALL], "quadrature='simpson' is unknown"),
    "unknown optimizer": (["solve", "kdv", "--optimizer", "adm"], "did you mean 'adam'"),
    "no such toml": (["solve", "kdv", "--config", "{root}/none.toml"], "cannot be read"),
    "not toml": (["solve", "kdv", "--config", "{root}/not.toml"], "is not TOML"),
    "unknown key in toml": (["solve", "kdv", "--config", "{root}/unknown.toml"], "unknown setting 'colour'"),
    "unknown optimizer in toml": (["solve", "kdv", "--config", "{root}/stages.toml"], "did you mean 'adam'"),
    "no such problem file": (["solve", "{root}/none.py:Heat"], "does not exist"),
    "no such class": (["solve", "{root}/heat.py:Cold"], "has no problem 'Cold'; it has Heat, "),
    "a file that raises": (["solve", "{root}/raises.py:Heat"], "raised ZeroDivisionError"),
    "a problem that raises": (["solve", "{root}/heat.py:Broken"], "never reads u.t"),
    "output below a file": (["solve", "kdv", *SMALL, "--output", "{root}/file/run"], "a file is in the way"),
    "another run's folder": (["solve", "kdv", *SMALL, "--output", "{root}/run"], "another configuration"),
    "no such run": (["resume", "{root}/nothing"], "is not a folder"),
    "not a run": (["evaluate", "{root}", "--t", "0"], "it has no config.json"),
    "unreadable configuration": (["resume", "{root}/unreadable"], "config.json cannot be read"),
    "foreign configuration": (["resume", "{root}/foreign"], "unknown setting 'colour'"),
    "own problem not named": (["resume", "{root}/run"], "is not built in"),
    "damaged checkpoint": (["evaluate", "{root}/damaged", "--t", "0", "--x", "0", "{own}"], "is damaged"),
    "time outside": (["evaluate", "{root}/run", "--t", "9", "--x", "0", "{own}"], "t=9.0 lies outside"),
    "coordinate left out": (["evaluate", "{root}/run", "--t", "0", "{own}"], "needs --t --x"),
    "not numbers": (["evaluate", "{root}/run", "--t", "0", "--x", "left", "{own}"], "give numbers"),
    "unknown derivative": (["evaluate", "{root}/run", "--t", "0", "--x", "0", "--derivative", "w", "{own}"], "'w'"),
    "unknown file type": (["evaluate", "{root}/run", "--t", "0", "--x", "0", "--output", "a.txt"], ".csv or .npz"),
    "report on an unfinished run": (["report", "{root}/unfinished"], "is not a finished run folder"),
    "report on damaged diagnostics": (["report", "{root}/undiagnosed"], "diagnostics.npz is damaged"),
    "report on a foreign configuration": (["report", "{root}/foreign"], "is not that of a run"),
    "report below a file": (["report", "{root}/run", "--output", "{root}/file/report.html"], "a file is in the way"),
    "extension into the past": (
        ["extend", "{root}/run", "--until", "0.5", "{own}"],
        "is not the end of a later window",
    ),
    "extension without an end": (["extend", "{root}/run"], "Missing option '--until'"),
    "extension of an unfinished run": (["extend", "{root}/unfinished", "--until", "2", "{own}"], "finished run folder"),
    "unfinished run": (["compare", "{root}/unfinished"], "cinnet resume"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_commands_exit_with_two_one_sentence_and_leave_nothing(places, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    own = f"--problem={places}/heat.py:Heat"
    result = invoke(*(text.format(root=places, own=own) for text in arguments))
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES])
def test_a_full_or_closed_disk_is_said_and_leaves_nothing_half_written(tmp_path, monkeypatch, code):
    def refuse(*_):
        raise OSError(code, os.strerror(code), "run/config.json")

    monkeypatch.setattr(os, "fsync", refuse)
    result = invoke("solve", "kdv", *SMALL, "--output", tmp_path / "run")
    assert result.exit_code == 2, result.output
    assert os.strerror(code) in result.output
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_doctor_knows_the_machine():
    facts = json.loads(invoke("doctor", "--json").output)
    assert facts["float64"] is True
    assert "GFLOP/s" in facts["GEMM 4096^3 float32"]


def test_the_reference_command_draws(tmp_path):
    flags = ["--tolerance", "1e-2", "--output", tmp_path, "--no-cache"]
    result = invoke("reference", "allen-cahn", *flags)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "allen-cahn.png").stat().st_size > 10_000
