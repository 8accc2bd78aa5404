"""The preset `paper` against an implementation of the paper's formulas that shares no code with the library."""

import numpy as np
from plain_cipinn import parameters_of, train

from cinnet.config.presets import resolve_settings
from cinnet.config.settings import Stage
from cinnet.optimizers import Adam
from cinnet.problems import AllenCahn
from cinnet.training import Trainer
from cinnet.training.build import build_network


def test_the_loss_curve_is_that_of_the_plain_implementation(monkeypatch):
    monkeypatch.setattr(Adam, "record_every", 1)
    problem, steps, grid = AllenCahn(), 20, (10, 64)
    choices = {"hidden": (16, 16, 16, 16), "stages": (Stage("adam", steps),), "dtype": "float64"}
    settings = resolve_settings(problem, "ci-pinn", "paper", 0, grid, **choices)
    untouched = resolve_settings(problem, "ci-pinn", "paper", 0, grid)
    before, after = untouched.to_json(), settings.to_json()
    assert {name for name in before if before[name] != after[name]} == set(choices)
    assert (untouched.hidden, untouched.stages) == ((128, 128, 128, 128), (Stage("adam", 300_000),))

    records = Trainer(problem, settings).run().records
    plain = train(parameters_of(build_network(problem, settings).layers), *grid, steps)
    assert [record["step"] for record in records] == list(range(1, steps + 1))
    assert plain[-1] < 0.95 * plain[0]
    np.testing.assert_allclose([record["loss"] for record in records], plain[1:], rtol=1e-12)
