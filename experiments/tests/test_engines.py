import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cinnet_experiments import engines
from cinnet_experiments.engines import ENGINES, Event, run_in_processes, run_on_ray, run_serially
from cinnet_experiments.sweep import Changes, expand, read_failure, read_result
from cinnet_experiments.workers import ENGINE_NAMES, EngineError, Workers
from tiny import numbers, tiny_experiment, tiny_runs


def start_sweep(num_seeds: int, root: Path, engine: str, workers: int = 2) -> subprocess.Popen:
    """A sweep in a process of its own, which has one thread for each run from its start."""
    code = f"from tiny import sweep; sweep({num_seeds}, {str(root)!r}, {engine!r}, {workers})"
    paths = [str(Path(__file__).parent), *filter(None, sys.path)]
    # Ray gives its workers the lowest priority, and beside a busy machine they would hardly get on.
    priority = {"RAY_worker_niceness": "0"}
    own = {"PYTHONPATH": os.pathsep.join(paths), **priority, **Workers(workers, 1).environment(root)}
    command = [sys.executable, "-c", code]
    environment = {**os.environ, **own}
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(sweep: subprocess.Popen) -> str:
    """What the sweep says until it ends well; one that hangs does not outlive the test."""
    with sweep:
        try:
            output, _ = sweep.communicate(timeout=300)
        except subprocess.TimeoutExpired:
            sweep.kill()
            raise
    assert sweep.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    """Runs, what was said of them, and their numbers, done one after the other in one process."""
    root, runs = tmp_path_factory.mktemp("serial"), tiny_runs(3, ("heavy",))
    output = finish(start_sweep(3, root, "serial", 1))
    return runs, output, numbers(runs, root)


def test_serial_reports_every_run_in_order(serial):
    runs, output, _ = serial
    lines = [line.split() for line in output.splitlines()]
    assert lines == [[state, run.name] for run in runs for state in ("started", "finished")]


def test_processes_give_the_same_numbers(serial, tmp_path):
    runs, _, expected = serial
    events = list(run_in_processes(runs, tmp_path, Workers(2, 1)))
    assert {event.name for event in events if event.state == "finished"} == {run.name for run in runs}
    assert numbers(runs, tmp_path) == expected
    assert any((tmp_path / ".compiled").iterdir())
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_fails_its_run_and_no_other(tmp_path):
    runs = tiny_runs(2, ("heavy",))
    states = {}
    for event in run_in_processes(runs, tmp_path, Workers(1, 1)):
        if event == Event(runs[0].name, "started"):
            for child in multiprocessing.active_children():
                assert child.pid is not None
                os.kill(child.pid, signal.SIGKILL)
        states[event.name] = event.state
    assert states == {runs[0].name: "failed", runs[1].name: "finished"}
    failure = read_failure(tmp_path / runs[0].name)
    assert failure is not None
    assert failure["type"] == "WorkerDied"


def test_a_killed_sweep_loses_no_run_and_repeats_none(serial, tmp_path):
    runs = tiny_runs(5, ("heavy",))

    def finished() -> dict[str, int]:
        paths = {run.name: tmp_path / run.name / "result.json" for run in runs}
        return {name: path.stat().st_mtime_ns for name, path in paths.items() if read_result(path.parent) is not None}

    sweep = start_sweep(5, tmp_path, "processes")
    deadline = time.monotonic() + 300
    while not finished() and sweep.poll() is None and time.monotonic() < deadline:
        time.sleep(0.01)
    sweep.kill()
    # The workers hold the other end of this pipe: it ends when the last of them has noticed and gone.
    output, _ = sweep.communicate(timeout=60)
    before = finished()
    assert 1 <= len(before) < 5, output

    output = finish(start_sweep(5, tmp_path, "processes"))
    after = finished()
    assert len(after) == 5
    assert {name: after[name] for name in before} == before
    assert output.count("started") == output.count("finished") == 5 - len(before)
    assert numbers(runs, tmp_path)[:3] == serial[2]


def test_ray_gives_the_same_numbers(serial, tmp_path):
    pytest.importorskip("ray")
    finish(start_sweep(3, tmp_path, "ray"))
    assert numbers(serial[0], tmp_path) == serial[2]


def test_ray_that_is_missing_is_said(serial, tmp_path, monkeypatch):
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(EngineError, match=r"pip install 'cinnet\[ray\]'"):
        run_on_ray(serial[0], tmp_path, Workers(1, 1))


def test_an_interrupted_run_ends_a_serial_sweep(serial, tmp_path, monkeypatch):
    runs = serial[0]
    monkeypatch.setattr(engines, "perform", lambda run, root: {"name": run["name"], "state": "interrupted"})
    events = list(run_serially(runs, tmp_path, Workers(1, 1)))
    assert [event.state for event in events] == ["started", "interrupted"]
    assert read_result(tmp_path / runs[0].name) is None


def test_workers_keep_to_a_shape_and_out_of_each_others_way():
    wider = expand(tiny_experiment(), "fast", range(1), changes=Changes(settings={"hidden": (5,)}))
    runs = [*tiny_runs(1), *(one.run for one in wider)]
    first, second = runs[0].shape, runs[2].shape
    assert runs[1].shape == first != second
    assert engines._choose(runs, second, set()) is runs[2]
    assert engines._choose(runs, None, {first}) is runs[2]
    assert engines._choose(runs[:2], second, {first}) is runs[0]


def test_workers_fit_the_cores(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert Workers.fitting("serial") == Workers(1, 4)
    assert Workers.fitting("serial", threads=2) == Workers(1, 2)
    assert Workers.fitting("processes") == Workers(4, 1)
    assert Workers.fitting("processes", count=2) == Workers(2, 2)
    assert Workers.fitting("processes", threads=2) == Workers(2, 2)
    assert Workers.fitting("ray", count=16, threads=8) == Workers(16, 8)
    with pytest.raises(EngineError, match="need 6 cores; this machine has 4"):
        Workers.fitting("processes", count=3, threads=2)
    with pytest.raises(EngineError, match="one run at a time"):
        Workers.fitting("serial", count=2)


def test_engine_names_are_those_of_the_engines():
    assert tuple(ENGINES) == ENGINE_NAMES
