"""Terms of the loss: names, weights, flags, and those of a user's own."""

from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from cinnet import (
    MLP,
    AllenCahn,
    CinNet,
    ExtraTerm,
    KortewegDeVries,
    LossWeights,
    Objective,
    Observations,
    Penalty,
    TrainingPoints,
    uniform_grid,
)

PROBLEM = AllenCahn()
POINTS = uniform_grid(PROBLEM.interval, PROBLEM.box, 4, 6)
NETWORK = MLP(PROBLEM.box, PROBLEM.interval, hidden=(5,), harmonics=2, dtype="float64", key=jax.random.key(1))


def above(u, t, x):
    return u - 0.5 * t


class SmallWeights(Penalty):
    """The squares of all parameters."""

    name: str = eqx.field(static=True, default="small weights")
    weight: float = eqx.field(static=True, default=0.25)  # pyright: ignore
    count: int = eqx.field(static=True, default=int(ravel_pytree(eqx.filter(NETWORK, eqx.is_array))[0].size))

    @property
    def num_rows(self):
        return self.count

    @property
    def dtype(self) -> Any:
        return np.dtype("float64")

    def penalties(self, network):
        return ravel_pytree(eqx.filter(network, eqx.is_inexact_array))[0]


def values_at(times, points):
    return np.array([[NETWORK(t, x)[0] for x in points] for t in times])


def test_an_extra_term_is_a_weighted_mean_square_on_the_training_points():
    plain = Objective(PROBLEM, NETWORK, POINTS)
    objective = Objective(PROBLEM, NETWORK, POINTS, extra_terms=(ExtraTerm("above", above, weight=3.0),))
    by_hand = np.mean((values_at(POINTS.times, POINTS.points) - 0.5 * POINTS.times[:, None]) ** 2)
    value = objective.loss(NETWORK)
    np.testing.assert_allclose(value.parts["above"], by_hand, rtol=1e-12)
    np.testing.assert_allclose(value.total, plain.loss(NETWORK).total + 3 * by_hand, rtol=1e-12)
    assert objective.weight("above") == 3.0
    assert not objective.term("above").enforced


def test_an_extra_term_may_have_points_of_its_own():
    own = TrainingPoints(np.array([0.25, 0.9]), np.array([[0.1], [0.7], [-0.3]]))
    objective = Objective(PROBLEM, NETWORK, POINTS, extra_terms=(ExtraTerm("above", above, points=own),))
    by_hand = np.mean((values_at(own.times, own.points) - 0.5 * own.times[:, None]) ** 2)
    np.testing.assert_allclose(objective.loss(NETWORK).parts["above"], by_hand, rtol=1e-12)


@pytest.mark.parametrize("causal", [True, False])
def test_a_causal_term_counts_in_the_causal_order_and_others_do_not(causal):
    term = ExtraTerm("above", above, weight=2.0, causal=causal)
    objective = Objective(PROBLEM, NETWORK, POINTS, causality=0.1, extra_terms=(term,))
    by_level = ((values_at(POINTS.times, POINTS.points) - 0.5 * POINTS.times[:, None]) ** 2).mean(axis=1)
    residual = np.asarray(objective.term("residual").levels(NETWORK))
    level_losses = residual + (2.0 * by_level if causal else 0.0)
    level_losses[0] += 100 * float(objective.term("initial").levels(NETWORK)[0])
    weights = np.exp(-0.1 * np.concatenate([[0.0], np.cumsum(level_losses)[:-1]]))
    np.testing.assert_allclose(objective.causal_weights(NETWORK), weights, rtol=1e-10)
    own = objective.row_weights(NETWORK)[-1]
    np.testing.assert_allclose(own, 2.0 * weights / 5 if causal else np.full(5, 2.0 / 5), rtol=1e-10)


def test_a_penalty_has_rows_gradient_and_jacobian():
    objective = Objective(PROBLEM, NETWORK, POINTS, extra_terms=(SmallWeights(),))
    flat, _ = ravel_pytree(eqx.filter(NETWORK, eqx.is_array))
    plain = Objective(PROBLEM, NETWORK, POINTS)
    np.testing.assert_allclose(
        objective.loss(NETWORK).total, plain.loss(NETWORK).total + 0.25 * jnp.sum(flat**2), rtol=1e-12
    )
    gradients = [ravel_pytree(one.loss_and_gradient(NETWORK)[1])[0] for one in (objective, plain)]
    np.testing.assert_allclose(gradients[0] - gradients[1], 0.5 * flat, atol=1e-9)
    residuals, jacobian = objective.linearize(NETWORK, objective.row_weights(NETWORK))
    np.testing.assert_allclose(residuals[-flat.size :], 0.5 * flat, rtol=1e-12)
    np.testing.assert_allclose(jacobian[-flat.size :], 0.5 * np.eye(flat.size), atol=1e-12)


def test_weights_are_read_and_changed_by_name():
    objective = Objective(PROBLEM, NETWORK, POINTS, weights=LossWeights(residual=2.0, initial=7.0))
    assert (objective.weight("initial"), objective.weight("residual")) == (7.0, 2.0)
    changed = objective.with_weights({"residual": 5.0})
    np.testing.assert_array_equal(changed.weights, [7.0, 5.0])
    both = Objective(PROBLEM, NETWORK, POINTS, extra_terms=(ExtraTerm("above", above),))
    np.testing.assert_array_equal(both.with_weights_of(changed).weights, [7.0, 5.0, 1.0])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Objective(PROBLEM, NETWORK, POINTS).weight("boundary"), r"no term 'boundary', only \['initial'"),
        (lambda: ExtraTerm("above", above, weight=-1.0), r"weight=-1\.0"),
        (lambda: ExtraTerm("above", above, causal=True, points=POINTS), "lives on the training points"),
        (
            lambda: Objective(PROBLEM, NETWORK, POINTS, extra_terms=(ExtraTerm("residual", above),)),
            "the name 'residual' is taken",
        ),
    ],
)
def test_mistakes_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_the_memory_of_observations_counts_the_history_of_every_column():
    """A column of scattered data needs all nodes of the mesh; once it was counted as one row, and chunks were huge."""
    rng = np.random.default_rng(0)
    data = Observations(rng.uniform(0, 1, 400), rng.uniform(-1, 1, 400), np.zeros(400))
    problem = KortewegDeVries(observations=data)
    options: dict[str, Any] = {"hidden": (8,), "harmonics": 2, "dtype": "float64", "key": jax.random.key(0)}
    network = CinNet(problem.box, problem.interval, num_mesh_intervals=20, **options)
    points = uniform_grid(problem.interval, problem.box, 4, 8)
    rows, held = 21, 8 * sum(network.widths) * 8 * 2  # bytes of one row: all layers, values, one derivative
    objective = Objective(problem, network, points, memory_limit=60 * rows * held)
    observed = objective.term("observations")
    assert observed.chunks.shape[1] * rows * held <= 60 * rows * held
    assert observed.chunks.shape[1] > 30
