import dataclasses
import json

import pytest

from cinnet.config.presets import default_windows, resolve_settings
from cinnet.config.settings import MEMORY_SETTINGS, METHODS, PRESETS, Settings, Stage, check_type
from cinnet.problems import PROBLEMS, AllenCahn, AllenCahn2D, CahnHilliard


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


def test_preset_whole_is_one_network_for_the_interval_and_methods_differ_only_as_in_the_paper():
    by_method = {method: resolve_settings(AllenCahn(), method, "whole", grid=(20, 256)) for method in METHODS}
    assert all(one.windows == 1 and one.hidden == (64, 64, 64) for one in by_method.values())
    assert len({str(one.stages) for one in by_method.values()}) == 1
    assert {stage.optimizer for stage in by_method["pinn"].stages} == {"soap"}
    plain = dataclasses.replace(by_method["causal-pinn"], method="pinn", causality=None)
    assert plain == by_method["pinn"]
    memory = dict.fromkeys(MEMORY_SETTINGS)
    assert dataclasses.replace(by_method["ci-pinn"], method="pinn", network="mlp", **memory) == by_method["pinn"]


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
        ({"windows": True}, "windows=True is not of the type int"),
        ({"stages": ()}, "at least one stage"),
        ({"stages": (Stage("adm", 1),)}, "optimizer='adm' is unknown; did you mean 'adam'"),
        ({"stages": (Stage("adam", 1, {"learning_rat": 1}),)}, "adam has no option 'learning_rat'.*'learning_rate'"),
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


@pytest.mark.parametrize(("num_times", "windows"), [(1, 1), (5, 1), (7, 1), (9, 1), (10, 2), (12, 2), (20, 4), (40, 8)])
def test_windows_have_at_least_five_time_levels(num_times, windows):
    assert default_windows(num_times) == windows


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"windows": 3}, r"num_times=20 cannot be split over windows=3"),
        ({"windows": 4, "num_mesh_intervals": 6}, r"num_mesh_intervals=6 cannot be split over windows=4"),
        ({"windows": 0}, r"windows=0: at least 1"),
        ({"resample_every": 0}, r"resample_every=0: at least 1"),
        ({"exact_initial": True}, r"exact_initial=True needs windows=1, not 4"),
        ({"memory_gigabytes": 0}, r"memory_gigabytes=0: give a positive"),
        ({"initial_gain": -1.0}, r"initial_gain=-1.0: give a positive"),
    ],
)
def test_strategies_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        resolve_settings(AllenCahn(), **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [({"horizon": 0.0}, r"horizon=0.0"), ({"horizon": 1.5}, r"horizon=1.5"), ({"columns": 0}, r"columns=0")],
)
def test_stages_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        Stage("adam", 1, **options)


@pytest.mark.parametrize(
    ("value", "expected", "right"),
    [
        (24, tuple[int, ...], False),
        ((2.5,), tuple[int, ...], False),
        ((2, 3), tuple[int, ...], True),
        ("often", int | None, False),
        (None, int | None, True),
        (3, float, True),
        (True, float, False),
        ("auto", float | str | None, True),
    ],
)
def test_types_are_checked(value, expected, right):
    if right:
        check_type("setting", value, expected)
        return
    with pytest.raises(ValueError, match=r"setting=.* is not of the type"):
        check_type("setting", value, expected)
