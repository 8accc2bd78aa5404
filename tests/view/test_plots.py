import itertools

import matplotlib

matplotlib.use("Agg")
import jax.numpy as jnp
import matplotlib.pyplot as plt
import numpy as np
import pytest

import cinnet
from cinnet.assess.diagnostics import Diagnostics, Fields, OverTime
from cinnet.config.settings import Stage
from cinnet.view.animation import animate
from cinnet.view.plots import (
    all_figures,
    plot_cross_section,
    plot_snapshots,
    plot_solution,
    plot_training,
    save_figures,
)


def diagnostics_of(dimension, components=("u",), with_reference=True):
    rng = np.random.default_rng(0)
    shape = (5, *(9, 7)[:dimension], len(components))
    values = rng.normal(size=shape).astype(np.float32)
    return Diagnostics(
        fields=Fields(
            components=components,
            axes=("x", "y")[:dimension],
            times=np.linspace(0, 2, 5),
            coordinates=tuple(np.linspace(-1, 1, n) for n in (9, 7)[:dimension]),
            values=values,
            reference=values + np.float32(0.5) if with_reference else None,
        ),
        residual=np.ones(5),
        error=np.ones(5) if with_reference else None,
        invariants={"mass": OverTime(np.ones(5), None, True)},
        gates=(np.full((2, 3), 0.5),),
    )


RECORDS = [
    {"step": step, "window": step // 2, "loss": 1.0 / step, "residual": 0.5, "damping": 2.0, "weight initial": 3.0}
    for step in (1, 2, 3)
]


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


@pytest.mark.parametrize("dimension", [0, 1, 2])
@pytest.mark.parametrize("components", [("u",), ("u", "v")])
@pytest.mark.parametrize("with_reference", [True, False])
def test_every_run_gives_figures_that_are_saved(tmp_path, dimension, components, with_reference):
    figures = all_figures(diagnostics_of(dimension, components, with_reference), RECORDS, "title")
    expected = {"solution", "training", "over_time", "invariants", "gates"}
    expected |= {"snapshots"} if dimension else set()
    expected |= {"cross_section"} if dimension == 2 else set()
    assert set(figures) == expected
    paths = save_figures({"solution": figures["solution"]}, tmp_path)
    assert [path.name for path in paths] == ["solution.png", "solution.pdf"]
    assert all(path.stat().st_size > 1000 for path in paths)


def test_the_error_panel_shows_the_error():
    figure = plot_solution(diagnostics_of(1).fields)
    by_title = {axis.get_title(): axis for axis in figure.axes}
    image = by_title["u, absolute error"].collections[0]
    np.testing.assert_allclose(image.get_array(), 0.5, rtol=1e-6)


def test_snapshots_are_taken_at_the_chosen_times():
    fields = diagnostics_of(1).fields
    figure = plot_snapshots(fields, times=[0.5, 2.0])
    assert [axis.get_title() for axis in figure.axes] == ["t = 0.5", "t = 2"]
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    np.testing.assert_array_equal(drawn["prediction"], fields.values[1, :, 0])
    np.testing.assert_array_equal(drawn["reference"], fields.reference[1, :, 0])
    with pytest.raises(ValueError, match=r"3\.0 is outside \[0, 2\]"):
        plot_snapshots(fields, times=[3.0])


def test_the_cross_section_is_that_through_the_middle():
    fields = diagnostics_of(2).fields
    figure = plot_cross_section(fields, times=[2.0], title="plane")
    drawn = {line.get_label(): line.get_ydata() for line in figure.axes[0].lines}
    np.testing.assert_array_equal(drawn["prediction"], fields.values[-1, :, 3, 0])
    assert "y = 0" in figure.get_suptitle()
    with pytest.raises(ValueError, match="two axes"):
        plot_cross_section(diagnostics_of(1).fields)


def test_training_curves_are_cut_where_a_window_begins():
    losses = plot_training(RECORDS).axes[0].lines[0].get_ydata()
    np.testing.assert_array_equal(losses, [1.0, np.nan, 1 / 2, 1 / 3])
    labels = {line.get_label() for axis in plot_training(RECORDS).axes for line in axis.lines}
    assert {"training loss", "residual", "damping", "weight initial"} <= labels


@pytest.mark.parametrize("dimension", [1, 2])
def test_an_animation_has_a_frame_for_every_time(tmp_path, dimension):
    from PIL import Image

    path = animate(diagnostics_of(dimension).fields, tmp_path / "a.gif", "title")
    with Image.open(path) as image:
        assert getattr(image, "n_frames", 1) == 5


def test_an_animation_names_what_it_cannot_do(tmp_path):
    with pytest.raises(ValueError, match=r"must end with \.gif"):
        animate(diagnostics_of(1).fields, tmp_path / "a.mp3")
    with pytest.raises(ValueError, match="ODE"):
        animate(diagnostics_of(0).fields, tmp_path / "a.gif")


class Decay(cinnet.EvolutionProblem):
    """u_t = u_xx, whose solution exp(-pi^2 t) cos(pi x) the network must not be needed to know."""

    time = (0.0, 0.1)
    space = cinnet.Periodic(-1.0, 1.0)

    def residual(self, u, t, x):
        return u.t - u.xx

    def initial(self, x):
        return jnp.cos(jnp.pi * x)

    def invariants(self):
        return {"mass": cinnet.Invariant(lambda u, t, x: u)}


def test_a_solution_draws_itself_in_a_notebook(tmp_path, monkeypatch):
    monkeypatch.setenv("CINNET_CACHE", str(tmp_path / "cache"))
    stages = (Stage("adam", 2),)
    solution = cinnet.solve(Decay(), grid=(4, 8), hidden=(4,), windows=2, stages=stages)
    assert solution.diagnostics.fields.reference is None
    solution.error_over_time()
    names = ["plot", "plot_snapshots", "plot_training", "plot_over_time", "plot_invariants", "plot_gates"]
    figures = [getattr(solution, name)() for name in names]
    assert len(set(map(id, figures))) == len(names)
    fields = solution.diagnostics.fields
    exact = np.exp(-(np.pi**2) * fields.times)[:, None] * np.cos(np.pi * fields.coordinates[0])
    np.testing.assert_allclose(fields.reference[..., 0], exact, atol=1e-5)
    np.testing.assert_allclose(
        fields.values[3, ::64, 0], solution(fields.times[3], fields.coordinates[0][::64]), rtol=1e-5
    )
    pairs = itertools.pairwise(solution.diagnostics.gates)
    assert all(a.shape[0] == b.shape[0] == 2 for a, b in pairs)
