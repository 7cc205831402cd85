"""How searches for hyperparameters are compared."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import FrozenTrial, TrialState

from bench import tune, tune_botorch
from bench.tune_objectives import OBJECTIVES, LogisticRegressions, Objective, branin, hartmann
from bench.tune_report import Group, losses_table, workers_table
from bench.tune_searches import BoTorch, Course, search

LINE = Objective("line", {"x": FloatDistribution(0, 1)}, lambda parameters: parameters["x"], 0.1)


def test_the_test_functions_have_the_minima_that_are_published() -> None:
    for x, y in ((-math.pi, 12.275), (math.pi, 2.275), (9.42478, 2.475)):
        assert branin({"x1": x, "x2": y}) == pytest.approx(0.397887, abs=1e-6)
    best = (0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573)
    assert hartmann({f"x{i + 1}": x for i, x in enumerate(best)}) == pytest.approx(-3.32237, abs=1e-5)


def test_models_trained_side_by_side_are_those_trained_alone() -> None:
    rates, l2 = np.array([0.5, 0.01], np.float32), np.array([0, 0.1], np.float32)
    both = LogisticRegressions(2).validation_losses(rates, l2, 100, [1, 3])
    loss = OBJECTIVES["Logistic regression"].loss
    alone = [
        [loss({"learning_rate": r, "l2": w, "batch": 100, "epochs": epochs}) for r, w in zip(rates, l2, strict=True)]
        for epochs in (1, 3)
    ]
    np.testing.assert_allclose(both, alone, rtol=1e-4)
    assert both.shape == (2, 2) and both[1, 0] < both[0, 0] < math.log(10)


def test_a_course_says_when_a_loss_was_reached_and_what_that_cost() -> None:
    course = Course(losses=[3.0, math.nan, 1.0, 2.0], costs=[1.0, 2.0, 4.0, 8.0])
    assert course.best().tolist() == [3, 3, 1, 1]
    assert (course.trials_to(1.5), course.cost_to(1.5)) == (3, 7)
    assert (course.trials_to(0.5), course.cost_to(0.5)) == (math.inf, math.inf)
    assert (course.best_at_cost(0.5), course.best_at_cost(6.9), course.best_at_cost(7)) == (math.inf, 3, 1)


@pytest.mark.parametrize("workers", [1, 4])
def test_so_many_trials_run_at_a_time(workers: int) -> None:
    running: list[int] = []

    class Watching(RandomSampler):
        def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
            running.append(sum(t.state is TrialState.RUNNING for t in study.get_trials(deepcopy=False)))

    course = search(LINE, Watching(seed=0), 20, workers, 0)
    assert len(course.losses) == len(course.parameters) == len(running) == 20
    assert max(running) == workers and running[workers - 1 :] == [workers] * (21 - workers)


def test_botorch_is_told_of_the_trials_that_ended_and_of_those_that_run() -> None:
    asked: list[dict[str, list[list[float]]]] = []

    def suggestions(known: dict[str, list[list[float]]]) -> list[float]:
        asked.append(known)
        return [0.25]

    study = optuna.create_study(sampler=BoTorch(suggestions, seed=0))
    for _ in range(10):
        trial = study.ask(LINE.space)
        study.tell(trial, trial.params["x"])
    assert not asked
    assert [study.ask(LINE.space).params for _ in range(2)] == [{"x": 0.25}] * 2
    assert [(len(each["x"]), len(each["y"]), each["pending"]) for each in asked] == [(10, 10, []), (10, 10, [[0.25]])]


@pytest.mark.parametrize(
    ("distribution", "values"),
    [
        (FloatDistribution(-5, 10), {-5: 0, 10: 1, 2.5: 0.5}),
        (FloatDistribution(1e-4, 1, log=True), {1e-4: 0, 1: 1, 1e-2: 0.5}),
        (IntDistribution(20, 500), {20: 0, 500: 1, 260: 0.5}),
    ],
    ids=str,
)
def test_values_have_places_in_the_unit_cube(distribution: object, values: dict[float, float]) -> None:
    for value, place in values.items():
        assert tune_botorch.in_cube(value, distribution) == pytest.approx(place)
        assert tune_botorch.from_cube(place, distribution) == pytest.approx(value)


def test_tables_have_medians_and_quartiles_over_the_seeds() -> None:
    courses = {seed: Course(losses=[1.0, 0.5, 0.1 * seed, 0.1 * seed, 0.1 * seed]) for seed in range(5)}
    results = {Group("line", "Some search", 1): courses}
    table = losses_table(LINE, results, 5, [0.5, 0.4, 0.3, 0.2, 0.05])
    assert "| Some search | 0.5000 [0.5000..0.5000] | 0.2000 [0.1000..0.3000] | 0.2000 [0.1000..0.3000] |" in table
    assert "| over 5 [3..over 5] | 5 |" in table
    assert "the whole |  |  | 0.0500 | 1 of them reach the target" in table


def test_pairs_of_seeds_say_how_many_more_trials_are_needed_at_a_time() -> None:
    branin_hoo = OBJECTIVES["Branin-Hoo"].name
    alone, four = ([9.0] * n + [0.4] * (30 - n) for n in (9, 11))
    results = {
        Group(branin_hoo, "Some search", 1): {0: Course(alone), 1: Course(alone)},
        Group(branin_hoo, "Some search", 4): {0: Course(four)},
    }
    assert "| Branin-Hoo | Some search | 10 [10..10] | 12 [12..12] | +20% | 1 |" in workers_table(results, 4)


def test_what_was_measured_before_is_not_measured_again(tmp_path: Path) -> None:
    path = tmp_path / "results"
    tune.Kept(path).add({"objective": "line", "search": "x", "workers": 1, "seed": 3, **vars(Course([1.0]))})
    tune.Kept(path).add({"grid": [1.0, 2.0]})
    kept = tune.Kept(path)
    assert kept.courses == {Group("line", "x", 1): {3: Course([1.0])}} and kept.grid == [1.0, 2.0]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 2
