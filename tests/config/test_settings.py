import dataclasses
import itertools
import json

import pytest

from cinnet.config.presets import resolve_settings, written_out
from cinnet.config.settings import MEMORY_SETTINGS, METHODS, PRESETS, Settings, Stage, check_type
from cinnet.problems import PROBLEMS, AllenCahn, AllenCahn2D, CahnHilliard
from cinnet.training.windows import nearly_equal


def test_the_paper_preset_is_the_papers_recipe():
    settings = resolve_settings(CahnHilliard(), "ci-pinn", "paper")
    assert (settings.num_times, settings.num_points, settings.num_mesh_intervals) == (40, 256, 160)
    assert (settings.hidden, settings.activation, settings.harmonics) == ((128,) * 4, "tanh", (5,))
    assert (settings.quadrature, settings.temporal_weight, settings.gate) == ("left-rectangle", 2.0, "learnable")
    assert (settings.residual_weight, settings.initial_weight, settings.causality) == (1.0, 100.0, None)
    assert settings.stages == (Stage("adam", 300_000),)
    assert not settings.stop_when_stalled
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
        ({"grid": (0, 5)}, r"grid=\(0, 5\): give two whole numbers"),
        ({"num_times": 0}, "num_times=0"),
        ({"num_times": "many"}, "num_times=.many. is not of the type int"),
        ({"grid": (40, 64), "num_times": 20}, r"grid=\(40, 64\) and num_times=20 contradict each other"),
        ({"network": "cinet"}, "network='cinet' is unknown; did you mean 'cinnet'"),
        ({"network": "cinnet", "gate": None}, "gate=None: the network 'cinnet' needs it"),
        ({"network": lambda problem, interval, *, key: None, "hidden": (3,)}, "hidden=.* has no effect"),
        ({"seed": -1}, "seed=-1"),
        ({"windows": True}, "windows=True is not of the type int"),
        ({"stages": ()}, "at least one stage"),
        ({"stages": (Stage("adm", 1),)}, "optimizer='adm' is unknown; did you mean 'adam'"),
        ({"stages": (Stage("adam", 1, {"learning_rat": 1}),)}, "adam has no option 'learning_rat'.*'learning_rate'"),
    ],
)
def test_mistakes_are_named(options, message):
    with pytest.raises(ValueError, match=message):
        resolve_settings(AllenCahn(), **options)


@pytest.mark.parametrize("grid", [7, (4, 8, 9), (4.0, 8), (True, 8)])
def test_a_grid_is_two_whole_numbers(grid):
    with pytest.raises(ValueError, match="give two whole numbers"):
        written_out({"grid": grid})


@pytest.mark.parametrize("steps", [-1, True])
def test_steps_are_whole_numbers(steps):
    with pytest.raises(ValueError, match=f"steps={steps}"):
        Stage("adam", steps)


def test_an_unknown_setting_in_a_file_is_named():
    content = resolve_settings(AllenCahn()).to_json() | {"optimiser": "adam"}
    with pytest.raises(ValueError, match="unknown setting 'optimiser'"):
        Settings.from_json(content)


LEVELS = {1: (1,), 9: (9,), 10: (5, 5), 19: (7, 6, 6), 20: (5,) * 4, 23: (6, 6, 6, 5), 29: (6, 6, 6, 6, 5)}


@pytest.mark.parametrize("num_times", LEVELS)
def test_any_number_of_levels_gets_windows_of_at_least_five(num_times):
    """19, 23 and 29 levels once had one window."""
    settings = resolve_settings(AllenCahn(), grid=(num_times, 64))
    assert nearly_equal(num_times, settings.windows) == LEVELS[num_times]


def test_both_ways_of_asking_for_a_grid_give_the_same_run():
    """40 levels once had 8 windows as `grid` and 4 as `num_times`."""
    for method, preset in itertools.product(METHODS, PRESETS):
        by_grid = resolve_settings(AllenCahn(), method, preset, grid=(40, 64))
        assert resolve_settings(AllenCahn(), method, preset, num_times=40, num_points=64) == by_grid
    by_times = resolve_settings(AllenCahn(), num_times=40)
    assert (by_times.windows, by_times.num_mesh_intervals) == (8, 40)


def test_a_network_by_name_gets_the_memory_it_needs():
    assert resolve_settings(AllenCahn(), "pinn", network="cinnet").quadrature == "product-linear"
    assert resolve_settings(AllenCahn(), "ci-pinn", network="mlp").quadrature is None


def test_optimizer_and_steps_change_the_last_stage():
    first, last = Stage("soap", 4), Stage("l-bfgs", 5)
    assert resolve_settings(AllenCahn(), stages=(first, last), steps=7).stages == (first, Stage("l-bfgs", 7))
    assert resolve_settings(AllenCahn(), optimizer="adam").stages == (Stage("adam", 150),)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"windows": 21}, r"windows=21: there are only num_times=20 levels"),
        ({"windows": 0}, r"windows=0: at least 1"),
        ({"resample_every": 0}, r"resample_every=0: at least 1"),
        ({"exact_initial": True}, r"exact_initial=True needs windows=1, not 4"),
        ({"memory_gigabytes": 0}, r"memory_gigabytes=0: give a positive"),
        ({"initial_gain": -1.0}, r"initial_gain=-1.0: give a positive"),
        ({"initial_gain": float("inf")}, r"initial_gain=inf: give a positive"),
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
