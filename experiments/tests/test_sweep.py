import dataclasses
import json
import shutil
import threading

import pytest
from cinnet_experiments import EXPERIMENTS
from cinnet_experiments.sweep import (
    FAILURE_FILE,
    Changes,
    content_hash,
    distinct_runs,
    expand,
    perform,
    read_failure,
    read_result,
    runs_to_do,
)
from filelock import FileLock
from tiny import numbers, tiny_experiment, tiny_runs

from cinnet.config.presets import resolve_settings
from cinnet.config.settings import Settings, Stage
from cinnet.problems import AllenCahn, KortewegDeVries
from cinnet.storage import run_folder as folders

OTHER_VALUES = {
    "method": "other",
    "preset": "other",
    "sampling": "latin-hypercube",
    "network": "mlp",
    "hidden": (3,),
    "activation": "sin",
    "harmonics": (3,),
    "tensor": "paper",
    "dtype": "float64",
    "causality": 3.0,
    "stages": (Stage("levenberg-marquardt", 100, {"max_tries": 3}),),
    "resample_every": 5,
    "strategies": [{"kind": "GrowingHorizon", "options": {}}],
    "extra_terms": [{"kind": "ExtraTerm", "options": {"name": "mass"}}],
    "balance_every": 5,
    "quadrature": "left-rectangle",
    "gate": "fixed",
}


@pytest.mark.parametrize("preset", ["fast", "paper"])
def test_expansion_is_deterministic_and_complete(preset):
    for experiment in EXPERIMENTS.values():
        # Two cells of each are enough: making a problem checks it, which takes a while.
        short = dataclasses.replace(experiment, cells=experiment.cells[:1] + experiment.cells[1:][-1:])
        first, again = expand(short, preset, range(3)), expand(short, preset, range(3))
        assert first == again
        assert len(first) == 3 * len(short.cells)
        assert len({one.run.name for one in first}) == len(first)
        assert json.loads(json.dumps(first[0].run.to_json())) == first[0].run.to_json()


def test_every_cell_of_an_experiment_is_another_run():
    grids = expand(EXPERIMENTS["ac-grids"], "fast", range(2))
    assert len({one.run.name for one in grids}) == 36
    only = expand(EXPERIMENTS["ac-grids"], "fast", range(2), methods=["pinn"])
    assert [one.run for one in only] == [one.run for one in grids if one.cell.method == "pinn"]


def test_experiments_share_runs():
    planned = [
        one for name in ("ac-grids", "ac-metrics", "ac-weights") for one in expand(EXPERIMENTS[name], "paper", range(1))
    ]
    assert len(planned) == 18 + 3 + 15
    assert len(distinct_runs(planned)) == 18 + 12


@pytest.mark.parametrize("name", [one.name for one in dataclasses.fields(Settings)])
def test_a_hash_depends_on_every_setting(name):
    settings = resolve_settings(AllenCahn(), "ci-pinn", "fast", 0, (10, 64)).to_json()
    value = settings[name]
    other = OTHER_VALUES[name] if name in OTHER_VALUES else not value if isinstance(value, bool) else value + 1
    assert other != value
    changed = json.loads(json.dumps(settings | {name: other}, default=dataclasses.asdict))
    problem = folders.describe(AllenCahn())
    same = content_hash(problem, json.loads(json.dumps(settings)), None)
    assert content_hash(problem, settings, None) == same
    assert content_hash(problem, changed, None) != same


def test_a_hash_depends_on_the_problem_and_the_budget():
    settings = resolve_settings(AllenCahn(), "ci-pinn", "fast", 0, (10, 64)).to_json()
    contents = [(AllenCahn(), None), (AllenCahn(diffusivity=2e-4), None), (AllenCahn(), 3.0), (AllenCahn(), 4.0)]
    assert len({content_hash(folders.describe(p), settings, budget) for p, budget in contents}) == 4


def test_an_edited_equation_is_another_run(monkeypatch):
    before = tiny_runs(1)
    residual = KortewegDeVries.residual
    assert tiny_runs(1) == before
    monkeypatch.setattr(KortewegDeVries, "residual", lambda self, u, t, x: residual(self, u, t, x) + 1e-6 * u)
    after = tiny_runs(1)
    assert not {run.name for run in before} & {run.name for run in after}


def test_a_trial_is_another_run_with_its_changes():
    changes = Changes(steps=7, settings={"hidden": (5,)})
    changed = expand(tiny_experiment(), "fast", range(1), changes=changes)[0].run
    assert changed.settings["stages"][-1]["steps"] == 7
    assert changed.settings["hidden"] == [5]
    assert changed.name != expand(tiny_experiment(), "fast", range(1))[0].run.name
    assert changes.any
    assert not Changes().any


def test_runs_that_differ_in_arrays_alone_have_one_shape():
    first, second = (one.run for one in expand(EXPERIMENTS["ac-epsilon"], "fast", range(1))[:2])
    assert first.shape == second.shape
    shapes = {one.run.shape for one in expand(EXPERIMENTS["ac-grids"], "fast", range(2))}
    assert len(shapes) == 18


def test_a_finished_run_is_not_repeated_and_an_interrupted_one_goes_on(tmp_path):
    (run,) = tiny_runs(1, ("heavy",))
    assert perform(run.to_json(), str(tmp_path)) == {"name": run.name, "state": "finished"}
    folder = tmp_path / run.name
    content = (folder / "result.json").read_bytes()
    written = (folder / "result.json").stat().st_mtime_ns
    assert runs_to_do([run], tmp_path) == []
    perform(run.to_json(), str(tmp_path))
    assert (folder / "result.json").stat().st_mtime_ns == written
    assert not (folder / "progress.json").exists()

    before = numbers([run], tmp_path)
    (folder / "result.json").write_bytes(content.replace(b'"status": "completed"', b'"status": "interrupted"'))
    assert runs_to_do([run], tmp_path) == [run]
    perform(run.to_json(), str(tmp_path))
    assert numbers([run], tmp_path) == before


def test_a_failure_is_recorded_and_tried_again_only_when_asked(tmp_path):
    (good,) = tiny_runs(1, ("heavy",))
    settings = {**good.settings, "activation": "relu"}
    bad = dataclasses.replace(good, name="bad", settings=settings)
    outcome = perform(bad.to_json(), str(tmp_path))
    assert outcome["state"] == "failed"
    assert outcome["error"].startswith("ValueError: activation='relu'")
    failure = read_failure(tmp_path / "bad")
    assert failure is not None
    assert failure["type"] == "ValueError"
    assert "activation='relu'" in failure["message"]
    assert runs_to_do([good, bad], tmp_path) == [good]
    assert runs_to_do([good, bad], tmp_path, retry_failed=True) == [good, bad]

    mended = dataclasses.replace(good, name="bad")
    assert perform(mended.to_json(), str(tmp_path))["state"] == "finished"
    assert read_failure(tmp_path / "bad") is None
    assert not (tmp_path / "bad" / FAILURE_FILE).exists()
    assert read_result(tmp_path / "bad") is not None


def test_a_run_of_another_sweep_is_waited_for_and_not_repeated(tmp_path):
    (run,) = tiny_runs(1, ("heavy",))
    mine, others = tmp_path / "mine", tmp_path / "others"
    perform(run.to_json(), str(others))
    (mine / run.name).mkdir(parents=True)
    said: list[dict[str, str]] = []
    waiting = threading.Thread(target=lambda: said.append(perform(run.to_json(), str(mine))))
    with FileLock(mine / run.name / folders.LOCK_FILE):
        waiting.start()
        waiting.join(0.5)
        assert waiting.is_alive()
        shutil.copy(others / run.name / folders.RESULT_FILE, mine / run.name)
    waiting.join(60)
    assert said == [{"name": run.name, "state": "finished"}]
    assert not (mine / run.name / folders.CONFIG_FILE).exists()
