import io
import json
import subprocess
import sys

import pytest
from cinnet_experiments import EXPERIMENTS, sweep, watch
from cinnet_experiments.engines import Event
from cinnet_experiments.watch import show_sweep
from click.testing import CliRunner
from rich.console import Console
from tiny import tiny_experiment

from cinnet.cli import main


def invoke(*arguments):
    return CliRunner().invoke(main, ["reproduce", *(str(argument) for argument in arguments)])


@pytest.fixture(autouse=True)
def place(tmp_path, tmp_path_factory, monkeypatch):
    """A directory of its own, a tiny experiment, and a machine whose speed is known."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CINNET_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
    monkeypatch.setitem(EXPERIMENTS, "tiny", tiny_experiment(("heavy",)))
    monkeypatch.setattr(sweep, "_unit_seconds", lambda: 1.0)
    return tmp_path


def test_list_names_every_experiment():
    text = invoke("list").output
    assert all(name in text for name in EXPERIMENTS)
    assert json.loads(invoke("list", "--json").output)["ac-grids"]["cells"] == 18


def test_help_and_list_do_not_wait_for_jax():
    code = "import sys; from cinnet.cli import main; main(['reproduce', 'list'], standalone_mode=False); "
    code += "sys.exit('jax' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=False).returncode == 0


WRONG = {
    "a name that is nearly right": (["ac-grid"], "Did you mean 'ac-grids'?"),
    "a name like no other": (["xyzzy"], "See `cinnet reproduce list`"),
    "nothing": ([], "Missing argument"),
    "run nothing": (["run"], "give experiments by name"),
    "a word among names": (["list", "kdv"], "one of list, page, all alone"),
    "unknown method": (["kdv", "--methods", "pinn,cipinn"], "'cipinn' is not one of"),
    "unknown engine": (["kdv", "--engine", "threads"], "'threads' is not one of"),
    "too many workers": (["kdv", "--engine", "processes", "--workers", "1000"], "cores; this machine has"),
    "serial workers": (["kdv", "--workers", "2"], "one run at a time"),
    "no such setting": (["kdv", "--set", "colour=3"], "unknown setting 'colour'"),
    "not a setting": (["kdv", "--set", "colour"], "give NAME=VALUE"),
    "no results": (["page"], "is not a folder"),
}


@pytest.mark.parametrize(("arguments", "message"), WRONG.values(), ids=WRONG.keys())
def test_wrong_commands_exit_with_two_and_one_sentence(place, arguments, message):
    result = invoke(*arguments)
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.split())
    assert not list(place.iterdir())


def test_dry_run_names_the_runs_and_trains_nothing(place):
    result = invoke("ac-metrics", "run", "--preset", "paper", "--seeds", 2, "--dry-run")
    assert result.exit_code == 0, result.output
    assert "6 runs, 0 finished" in result.output
    states = json.loads(invoke("ac-metrics", "--methods", "pinn,ci-pinn", "--seeds", 1, "--dry-run", "--json").output)
    assert set(states.values()) == {"to do"}
    assert len(states) == 2
    assert not list(place.iterdir())


def test_an_experiment_is_run_summarized_and_not_repeated(place):
    result = invoke("run", "tiny", "--seeds", 2)
    assert result.exit_code == 0, result.output
    assert "5.00e-01" in result.output
    path = place / "validation/results/reproduce/tiny-fast.json"
    content = json.loads(path.read_text())
    assert content["cells"][0]["seeds"] == [0, 1]
    assert content["command"].startswith("cinnet reproduce tiny --preset fast --seeds 2 --engine serial --workers 1")
    written = {file: file.stat().st_mtime_ns for file in place.glob("runs/sweep/*/result.json")}
    assert len(written) == 2

    again = invoke("tiny", "--seeds", 1, "--json")
    assert json.loads(again.output)[0]["cells"][0]["seeds"] == [0, 1]
    assert {file: file.stat().st_mtime_ns for file in place.glob("runs/sweep/*/result.json")} == written
    assert "finished     kdv-pinn-fast-2x8-s0" in invoke("tiny", "--seeds", 1, "--dry-run").output

    page = invoke("page")
    assert page.exit_code == 0, page.output
    assert "Not run yet" in (place / "docs/results.md").read_text()


def test_a_trial_does_not_touch_the_results(place):
    result = invoke("tiny", "--seeds", 1, "--steps", 1, "--set", "hidden=3")
    assert result.exit_code == 0, result.output
    assert not (place / "validation").exists()
    content = json.loads((place / "runs/sweep/trials/tiny-fast.json").read_text())
    assert content["cells"][0]["steps"] == [1]
    assert content["command"].endswith("--steps 1 --set 'hidden=(3,)'")


def test_a_failure_is_shown_and_the_exit_code_is_one(place):
    result = invoke("tiny", "--seeds", 1, "--set", "activation=relu")
    assert result.exit_code == 1, result.output
    assert "1 failed (ValueError)" in result.output
    again = invoke("tiny", "--seeds", 1, "--set", "activation=relu", "--dry-run")
    assert "failed       kdv-pinn" in again.output


def test_an_interrupted_sweep_says_how_to_go_on(monkeypatch):
    from cinnet_experiments import engines

    monkeypatch.setattr(engines, "perform", lambda run, root: {"name": run["name"], "state": "interrupted"})
    result = invoke("tiny", "--seeds", 2)
    assert result.exit_code == 130, result.output
    assert "the same command goes on" in result.output


def test_the_live_table_shows_done_running_left_and_failed(tmp_path):
    for name, file, content in (
        ("a", "result.json", {"status": "stalled", "relative_l2_error": 0.25, "wall_seconds": 3.0, "verdict": ""}),
        ("b", "progress.json", {"step": 7, "seconds": 1.0, "loss": 0.5, "held_out_residual": 0.1}),
    ):
        (tmp_path / name).mkdir()
        (tmp_path / name / file).write_text(json.dumps(content))
    console = Console(force_terminal=True, width=120, record=True, file=io.StringIO())
    with show_sweep(6, 1, tmp_path, console) as display:
        display.say("reference of kdv")
        for event in ("a", "started"), ("a", "finished"), ("b", "started"), ("c", "started"), ("d", "started"):
            display.show(Event(*event))
        display.show(Event("d", "failed", "ValueError: no"))
    text = console.export_text()
    console.file.close()
    assert "error 2.50e-01, 3 s" in text
    assert "step 7, loss 5.00e-01" in text
    assert "compiling" in text
    assert "ValueError: no" in text
    assert "2 done, 2 running, 1 left, 1 failed" in text


def test_the_live_table_says_how_long_it_will_take(tmp_path, monkeypatch):
    clock = iter(range(0, 10_000, 60))
    monkeypatch.setattr(watch.time, "monotonic", lambda: next(clock))
    board = watch._Board(6, 1, tmp_path)
    console = Console(width=120, record=True, file=io.StringIO())
    console.print(board)
    for event in ("a", "started"), ("b", "started"), ("a", "finished"), ("b", "failed"), ("c", "started"):
        board.take(Event(*event))
    console.print(board)
    first, second = [line for line in console.export_text().splitlines() if " done, " in line]
    assert "to go" not in first
    # Two runs took a minute together, three are unfinished.
    assert "about 0:01:30 to go" in second


def test_the_live_table_is_silent_where_nobody_looks(tmp_path, capsys):
    with show_sweep(2, 0, tmp_path) as display:
        display.show(Event("a", "started"))
        display.say("nothing")
    assert capsys.readouterr() == ("", "")
