"""Standard errors against closed forms, on equations whose sensitivities are known."""

import numpy as np
import pytest
from small_problems import Decay

import cinnet
from cinnet import Observations, Unknown
from cinnet.assess.inference import known_problem
from cinnet.config.settings import Stage
from cinnet.objective.constrained import refined


class LongDecay(Decay):
    time = (0.0, 2.0)


RATE, NOISE = 1.3, 0.01


@pytest.fixture(scope="module")
def solution(tmp_path_factory):
    random = np.random.default_rng(0)
    times = random.uniform(0, 2, 60)
    values = np.exp(-RATE * times) + NOISE * random.standard_normal(60)
    problem = LongDecay(rate=Unknown(0.5, lower=0.0), observations=Observations(times, None, values))
    folder = tmp_path_factory.mktemp("runs") / "decay"
    return cinnet.solve(problem, grid=(20, 1), hidden=(8, 8), dtype="float64", folder=folder), folder


def least_squares_rate(observed):
    rates = np.linspace(1.0, 1.6, 60001)
    return rates[np.argmin([np.sum((np.exp(-rate * observed.times) - observed.values) ** 2) for rate in rates])]


def test_estimate_and_standard_error_are_those_of_least_squares(solution):
    found = solution[0].estimates["rate"]
    observed = solution[0].problem.observations[0]
    best = least_squares_rate(observed)
    assert found.value == pytest.approx(best, abs=5e-4)
    fitted = np.exp(-best * observed.times)
    noise = np.sqrt(np.sum((fitted - observed.values) ** 2) / 59)
    assert found.standard_error == pytest.approx(noise / np.linalg.norm(observed.times * fitted), rel=0.02)
    assert found.lower < RATE < found.upper


def test_training_that_ends_early_gives_the_same_estimate(solution, monkeypatch):
    """After eight steps the rate is more than a standard error away; the linearised equation brings it back."""
    observed = solution[0].problem.observations
    problem = LongDecay(rate=Unknown(0.5, lower=0.0), observations=observed)
    options = {"grid": (20, 1), "hidden": (8, 8), "dtype": "float64", "reference": False}
    best = least_squares_rate(observed[0])
    error = solution[0].estimates["rate"].standard_error
    stages = (Stage("levenberg-marquardt", 8),)
    refined = cinnet.solve(problem, stages=stages, **options).estimates["rate"].value
    monkeypatch.setattr("cinnet.objective.constrained._REFINEMENTS", 0)
    trained = cinnet.solve(problem, stages=stages, **options).estimates["rate"].value
    assert abs(trained - best) > error
    assert abs(refined - best) < 0.1 * error


def test_unknowns_are_refined_after_every_stage_by_the_data_up_to_its_horizon(solution, monkeypatch):
    (observed,) = solution[0].problem.observations
    late, early = observed.between(1.2, 2.0), observed.between(0.0, 1.2)
    problem = LongDecay(rate=Unknown(0.5, lower=0.0), observations=(late, early))
    found = []

    def watched(problem, objective, network):
        better = refined(problem, objective, network)
        found.append((float(objective.residual_term.times[-1]), float(known_problem(problem, better).rate)))
        return better

    monkeypatch.setattr("cinnet.training.stepper.refined", watched)
    stages = (Stage("levenberg-marquardt", 30, horizon=0.5), Stage("levenberg-marquardt", 30))
    cinnet.solve(problem, grid=(20, 1), hidden=(8, 8), dtype="float64", reference=False, stages=stages)
    assert [end for end, _ in found] == [1.0, 2.0]
    assert found[0][1] == pytest.approx(least_squares_rate(early.between(0.0, 1.0)), abs=2e-3)
    assert found[1][1] == pytest.approx(least_squares_rate(observed), abs=5e-4)


def test_solution_is_compared_with_the_equation_that_was_found(solution):
    assert solution[0].relative_error() < 1e-3
    assert float(solution[0].known_problem.rate) == pytest.approx(solution[0].estimates["rate"].value)


def test_run_folder_gives_it_back(solution):
    loaded = cinnet.load(
        solution[1], LongDecay(rate=Unknown(0.5, lower=0.0), observations=solution[0].problem.observations)
    )
    assert loaded.estimates == solution[0].estimates
    np.testing.assert_array_equal(loaded(1.0), solution[0](1.0))


def test_without_data_there_is_no_standard_error():
    solution = cinnet.solve(LongDecay(rate=Unknown(0.5)), grid=(4, 1), hidden=(4,), reference=False)
    assert solution.estimates["rate"].standard_error is None


def test_unknowns_need_one_window():
    with pytest.raises(ValueError, match=r"windows=2: the unknowns \['rate'\] need windows=1"):
        cinnet.solve(LongDecay(rate=Unknown(0.5)), grid=(4, 1), hidden=(4,), windows=2, num_mesh_intervals=4)
