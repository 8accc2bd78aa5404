import json
import shlex

import pytest
from click.testing import CliRunner

from cinnet.cli import main
from cinnet.config.presets import resolve_settings
from cinnet.config.reproduction import reproduction
from cinnet.config.settings import Settings, Stage
from cinnet.problems import AllenCahn, KortewegDeVries

CASES = [
    {},
    {"preset": "accurate", "seed": 3},
    {"grid": (10, 64), "hidden": (8,), "causality": "auto", "windows": 1, "exact_initial": True},
    {"method": "pinn", "stages": (Stage("soap", 7),), "dtype": "float64"},
    {"stages": (Stage("levenberg-marquardt", 11),), "resample_every": 5},
]


@pytest.mark.parametrize("changes", CASES, ids=str)
def test_the_command_gives_the_same_settings(changes):
    settings = resolve_settings(KortewegDeVries(), **changes)
    command, *arguments = shlex.split(reproduction(KortewegDeVries(), settings))
    assert command == "cinnet"
    output = CliRunner().invoke(main, [*arguments, "--dry-run", "--json"]).output
    assert Settings.from_json(json.loads(output)["settings"]) == settings


def test_what_no_command_can_say_is_a_python_call():
    stages = (Stage("adam", 5, {"learning_rate": 0.1}), Stage("l-bfgs", 5))
    problem = AllenCahn(diffusivity=0.5)
    settings = resolve_settings(problem, grid=(10, 64), stages=stages)
    text = reproduction(problem, settings)
    assert text.startswith("cinnet.solve(AllenCahn(diffusivity=0.5), 'ci-pinn', 'fast', seed=0, grid=(10, 64)")
    assert repr(stages) in text
