"""The settings that flags and files ask for, as `cinnet solve --dry-run` shows them."""

import json

import pytest
from click.testing import CliRunner

from cinnet.cli import main
from cinnet.config.presets import resolve_settings
from cinnet.problems import KortewegDeVries


def invoke(*arguments):
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_dry_run_shows_settings_sizes_and_time_and_writes_nothing(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    flags = ["--hidden", "8,8", "--causality", "auto", "--exact-initial", "true", "--windows", "1", "--dry-run"]
    result = invoke("solve", "allen-cahn", *flags, "--json")
    assert result.exit_code == 0, result.output
    content = json.loads(result.output)
    assert content["settings"]["hidden"] == [8, 8]
    assert (content["settings"]["causality"], content["settings"]["exact_initial"]) == ("auto", True)
    assert content["estimate"]["rows"] == 129 * 22
    assert content["estimate"]["estimated seconds"] > 0
    assert "estimated seconds" in invoke("solve", "allen-cahn", *flags).output
    assert not list(tmp_path.iterdir())


def test_a_toml_file_sets_what_flags_do_not(tmp_path):
    (tmp_path / "s.toml").write_text(
        'method = "pinn"\ngrid = [4, 16]\nseed = 3\nhidden = [5]\nsteps = 9\n'
        '[[stages]]\noptimizer = "soap"\nsteps = 7\n'
    )
    flags = ["--config", tmp_path / "s.toml", "--seed", "4", "--windows", "1", "--dry-run", "--json"]
    settings = json.loads(invoke("solve", "kdv", *flags).output)["settings"]
    assert (settings["method"], settings["num_times"], settings["seed"], settings["hidden"]) == ("pinn", 4, 4, [5])
    assert (settings["stages"][0]["optimizer"], settings["stages"][0]["steps"]) == ("soap", 9)


@pytest.mark.parametrize(
    ("stated", "flags"),
    [
        ("", ["--grid", "40", "16"]),
        ("", ["--num-times", "40", "--num-points", "16"]),
        ("grid = [40, 16]", []),
        ("num_times = 40\nnum_points = 16", []),
        ("num_times = 8", ["--grid", "40", "16"]),
        ("grid = [8, 16]", ["--num-times", "40"]),
    ],
)
def test_every_way_of_asking_for_a_grid_gives_the_same_run(tmp_path, monkeypatch, stated, flags):
    monkeypatch.setattr("cinnet.training.forecast.forecast", lambda *_: {})
    (tmp_path / "s.toml").write_text(stated)
    result = invoke("solve", "kdv", "--config", tmp_path / "s.toml", *flags, "--dry-run", "--json")
    assert result.exit_code == 0, result.output
    expected = resolve_settings(KortewegDeVries(), grid=(40, 16))
    assert json.loads(result.output)["settings"] == json.loads(json.dumps(expected.to_json()))
    assert expected.windows == 8
