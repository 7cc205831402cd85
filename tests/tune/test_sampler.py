"""GPEIMCMC in Optuna's studies."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState, create_trial

import penstock as tf

optuna.logging.set_verbosity(optuna.logging.ERROR)

GPEIMCMC = tf.tune.GPEIMCMC
X = {"x": FloatDistribution(0, 1)}
XY = {"x": FloatDistribution(-5, 10), "y": FloatDistribution(0, 15)}


def quick(**arguments: object) -> optuna.samplers.BaseSampler:
    return GPEIMCMC(**{"samples": 4, "burn_in": 5, "seed": 1} | arguments)


def branin(trial: Trial) -> float:
    x, y = trial.suggest_float("x", -5, 10), trial.suggest_float("y", 0, 15)
    valley = y - 5.1 / (4 * math.pi**2) * x * x + 5 / math.pi * x - 6
    return valley**2 + 10 * (1 - 1 / (8 * math.pi)) * math.cos(x) + 10


def searched(
    objective: Callable[[Trial], float], trials: int, study: optuna.Study | None = None, **arguments: object
) -> optuna.Study:
    study = study or optuna.create_study(sampler=quick(**arguments))
    study.optimize(objective, n_trials=trials, catch=(ZeroDivisionError,))
    return study


def test_it_finds_the_least_value_of_branin_and_hoo() -> None:
    found = searched(branin, 40, samples=10, burn_in=20)
    assert found.best_value == pytest.approx(0.397887, abs=0.01)


@pytest.mark.parametrize(
    "arguments", [{"acquisition": "pi"}, {"acquisition": "lcb"}, {"kernel": "squared_exponential"}]
)
def test_other_acquisitions_and_kernels_find_it_too(arguments: dict[str, str]) -> None:
    found = searched(lambda trial: (trial.suggest_float("x", 0, 1) - 0.3) ** 2, 14, **arguments)
    assert found.best_value < 1e-3


def test_a_study_is_maximised() -> None:
    study = optuna.create_study(direction="maximize", sampler=quick())
    found = searched(lambda trial: 5 - (trial.suggest_float("x", 0, 1) - 0.3) ** 2, 14, study)
    assert found.best_value > 5 - 1e-3


def test_logarithmic_integer_and_categorical_parameters_are_searched_together() -> None:
    def objective(trial: Trial) -> float:
        rate = trial.suggest_float("rate", 1e-6, 1, log=True)
        layers, kind = trial.suggest_int("layers", 1, 8), trial.suggest_categorical("kind", ["a", "b", "c"])
        trial.suggest_categorical("only", [7])
        return abs(math.log10(rate) + 3) + 0.3 * abs(layers - 6) + {"a": 1, "b": 0, "c": 1}[kind]

    best = searched(objective, 35).best_params
    assert best["layers"] == 6
    assert best["kind"] == "b"
    assert abs(math.log10(best["rate"]) + 3) < 0.3


def points(study: optuna.Study) -> list[dict[str, object]]:
    return [trial.params for trial in study.trials]


def test_a_seed_says_what_is_suggested_even_if_the_study_is_resumed(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    whole = points(searched(branin, 12))
    optuna.create_study(study_name="cut", storage=storage)
    for trials in (3, 5, 4):
        study = optuna.load_study(study_name="cut", storage=storage, sampler=quick())
        searched(branin, trials, study)
    assert points(study) == whole
    assert points(searched(branin, 3, seed=2)) != whole[:3]


def test_chains_of_many_parameters_fit_into_every_storage(tmp_path: Path) -> None:
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/study.db", sampler=quick(samples=20))
    searched(lambda trial: sum(trial.suggest_float(f"parameter{n}", 0, 1) for n in range(20)), 7, study)
    assert all(trial.state is TrialState.COMPLETE for trial in study.trials)


def test_trials_that_run_at_the_same_time_look_elsewhere() -> None:
    study = optuna.create_study(sampler=quick())
    searched(branin, 12, study)
    asked = [study.ask(XY).params for _ in range(4)]
    apart = [math.dist(a.values(), b.values()) for n, a in enumerate(asked) for b in asked[:n]]
    assert min(apart) > 0.05


def test_what_another_process_was_told_is_pending_before_it_has_asked_for_it(tmp_path: Path) -> None:
    storage = f"sqlite:///{tmp_path}/study.db"
    study = optuna.create_study(study_name="shared", storage=storage, sampler=quick())
    searched(branin, 8, study)
    trial = study.ask()
    told = study.sampler.sample_relative(study, study.get_trials()[trial.number], XY)
    other = optuna.load_study(study_name="shared", storage=storage, sampler=quick())
    assert math.dist(other.ask(XY).params.values(), told.values()) > 0.05


def test_failing_infinite_and_pruned_trials_do_not_end_a_study_nor_spoil_it() -> None:
    def objective(trial: Trial) -> float:
        x = trial.suggest_float("x", 0, 1)
        if x > 0.8:
            return 1 / 0
        if x > 0.6:
            return math.nan
        if x < 0.05:
            return math.inf
        trial.report(x, 0)
        if x < 0.1:
            raise optuna.TrialPruned
        return (x - 0.45) ** 2

    study = searched(objective, 30, seed=3)
    assert len(study.trials) == 30
    states = [trial.state for trial in study.trials]
    assert states.count(TrialState.FAIL) > 0
    assert states[10:].count(TrialState.FAIL) < 6  # it has seen where they fail
    assert study.best_value < 1e-3


def test_a_study_whose_trials_all_fail_goes_on() -> None:
    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 1) / 0

    study = searched(objective, 10)
    assert len({trial.params["x"] for trial in study.trials}) == 10


def test_without_noise_no_point_is_evaluated_twice() -> None:
    def objective(trial: Trial) -> float:
        return (trial.suggest_int("n", 0, 3) - 2) ** 2 + (trial.suggest_categorical("kind", "abc") != "b")

    study = searched(objective, 12, deterministic=True, n_startup_trials=0)
    asked = [tuple(trial.params.values()) for trial in study.trials]
    assert len(set(asked)) >= 11  # the second trial, with nothing to learn from, may repeat the first


def test_conditional_parameters_are_searched_where_they_are_asked_for() -> None:
    """The forest is best, at a depth that only forests have; the support vectors' parameter says nothing about it."""

    def objective(trial: Trial) -> float:
        if trial.suggest_categorical("model", ["svm", "forest"]) == "svm":
            return 1 + (trial.suggest_float("c", 0, 1) - 0.5) ** 2
        return (trial.suggest_float("depth", 0, 1) - 0.8) ** 2

    study = searched(objective, 25)
    assert study.best_value < 1e-3
    late = study.trials[12:]
    assert sum(trial.params["model"] == "forest" for trial in late) > 8
    for trial in late:  # what was suggested is what was asked for
        assert set(trial.params) == {"model", "c" if trial.params["model"] == "svm" else "depth"}
    asked = [trial.params["depth"] for trial in late if "depth" in trial.params]
    assert np.median(np.abs(np.array(asked) - 0.8)) < 0.1


def test_more_is_gained_a_second_where_trials_cost_less() -> None:
    """Two equal valleys, of which one costs 50 times as much."""

    def cost(**arguments: object) -> float:
        def objective(trial: Trial) -> float:
            x = trial.suggest_float("x", 0, 1)
            trial.set_user_attr("cost", 50.0 if x > 0.5 else 1.0)
            return math.cos(4 * math.pi * x)

        study = searched(objective, 16, **arguments)
        assert study.best_value < -0.99
        return sum(trial.user_attrs["cost"] for trial in study.trials[5:])

    assert cost(per_second=True) < 0.6 * cost()


def test_parameters_that_no_trial_had_are_drawn_at_random() -> None:
    study = optuna.create_study(sampler=quick())
    for number in range(8):
        study.add_trial(create_trial(params={"x": number / 8}, distributions=X, value=number))
    trial = study.ask()
    names = [trial.suggest_float("x", 0, 1), trial.suggest_float("new", 0, 1), trial.suggest_float("newer", 0, 1)]
    assert len(set(names)) == 3
    assert trial.suggest_int("count", 3, 5) in (3, 4, 5)


def test_a_range_may_change_within_a_study() -> None:
    study = optuna.create_study(sampler=quick())
    searched(lambda trial: trial.suggest_float("x", 0, 1), 8, study)
    searched(lambda trial: abs(trial.suggest_float("x", -1, 0.5) + 0.5), 12, study)
    assert study.trials[-1].params["x"] < 0
    assert study.best_value < 0.05


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel": "linear"}, "kernel is 'linear'; there are matern52, squared_exponential"),
        ({"acquisition": "ucb"}, "acquisition is 'ucb'; there are ei, pi, lcb"),
        ({"acquisition": "lcb", "per_second": True}, "no gain a second"),
        ({"samples": 0}, "samples must be at least 1"),
    ],
)
def test_arguments_that_cannot_be_are_refused(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        GPEIMCMC(**arguments)


def test_several_objectives_are_refused() -> None:
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=quick())
    with pytest.raises(ValueError, match="one objective"):
        study.ask(X)


def test_two_processes_that_draw_at_the_same_time_draw_different_points() -> None:
    """Their samplers are copies with one seed; trials have numbers of their own."""
    study = optuna.create_study(sampler=quick())
    other = optuna.create_study(sampler=quick())
    space = {"n": IntDistribution(0, 10**6), "kind": CategoricalDistribution("abcdefgh")}
    study.ask(space)
    assert study.ask(space).params != other.ask(space).params
