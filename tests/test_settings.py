import json

import pytest

from cinnet.problems import PROBLEMS, AllenCahn, AllenCahn2D, CahnHilliard
from cinnet.settings import METHODS, PRESETS, Settings, Stage, resolve_settings


def test_the_paper_preset_is_the_papers_recipe():
    settings = resolve_settings(CahnHilliard(), "ci-pinn", "paper")
    assert (settings.num_times, settings.num_points, settings.num_mesh_intervals) == (40, 256, 160)
    assert (settings.hidden, settings.activation, settings.harmonics) == ((128,) * 4, "tanh", (5,))
    assert (settings.quadrature, settings.temporal_weight, settings.gate) == ("left-rectangle", 2.0, "learnable")
    assert (settings.residual_weight, settings.initial_weight, settings.causality) == (1.0, 100.0, None)
    assert settings.stages == (Stage("adam", 300_000),)
    plane = resolve_settings(AllenCahn2D(), "ci-pinn", "paper")
    assert (plane.harmonics, plane.tensor, plane.sampling) == ((2, 2), "paper", "latin-hypercube")
    assert (plane.num_times, plane.num_points) == (20, 1024)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", PROBLEMS)
def test_settings_survive_json(method, preset, name):
    settings = resolve_settings(PROBLEMS[name](), method, preset, seed=3)
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "cipinn"}, "method='cipinn' is unknown; did you mean 'ci-pinn'"),
        ({"preset": "fats"}, "preset='fats'.*'fast'"),
        ({"hiden": (3,)}, "unknown setting 'hiden'; did you mean 'hidden'"),
        ({"method": "pinn", "gate": "fixed"}, "gate='fixed' has no effect"),
        ({"sampling": "sobol"}, "sampling='sobol'"),
        ({"causality": "always"}, "causality='always'"),
        ({"grid": (0, 5)}, "num_times=0"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        resolve_settings(AllenCahn(), **options)


def test_negative_steps_are_refused():
    with pytest.raises(ValueError, match="steps=-1"):
        Stage("adam", -1)


def test_an_unknown_setting_in_a_file_is_named():
    content = resolve_settings(AllenCahn()).to_json() | {"optimiser": "adam"}
    with pytest.raises(ValueError, match="unknown setting 'optimiser'"):
        Settings.from_json(content)
