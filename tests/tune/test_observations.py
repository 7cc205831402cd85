"""What becomes of a study's trials in the model, whatever became of them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from typing import Any

import numpy as np
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from penstock.tune.observations import COST, LOST, Observations, observe
from penstock.tune.space import Space

X = {"x": FloatDistribution(0, 1)}


def trials(*kinds: dict[str, Any]) -> list[FrozenTrial]:
    """Number n has x = n / 10."""
    made = []
    for number, kind in enumerate(kinds):
        seconds = kind.pop("seconds", 1.0)
        params = kind.pop("params", {"x": number / 10})
        distributions = dict.fromkeys(params, X["x"])
        trial = create_trial(params=params, distributions=distributions, **{"state": TrialState.COMPLETE} | kind)
        trial.number = number
        trial.datetime_start = datetime(2020, 1, 1)
        trial.datetime_complete = trial.datetime_start + timedelta(seconds=seconds)
        made.append(trial)
    return made


def seen(
    *kinds: dict[str, Any], maximise: bool = False, suggested: dict[int, dict[str, Any]] | None = None
) -> Observations:
    return observe(trials(*kinds), Space(X), maximise, suggested or {})


def raw(found: Observations) -> dict[float, float]:
    """Values by x, on a scale on which the best and worst are 0 and 1."""
    values = (found.values - found.values.min()) / (found.values.max() - found.values.min())
    return dict(zip(found.points[:, 0].round(3).tolist(), values.round(9).tolist(), strict=True))


def test_values_have_zero_mean_and_unit_variance() -> None:
    found = seen({"value": 3.0}, {"value": 7.0}, {"value": 5.0})
    assert found.values.mean() == pytest.approx(0)
    assert found.values.std() == pytest.approx(1)
    assert raw(found) == {0.0: 0, 0.1: 1, 0.2: 0.5}


def test_what_is_maximised_is_negated() -> None:
    assert raw(seen({"value": 3.0}, {"value": 7.0}, {"value": 5.0}, maximise=True)) == {0.0: 1, 0.1: 0, 0.2: 0.5}


def test_values_that_are_all_alike_are_zero() -> None:
    assert seen({"value": 3.0}, {"value": 3.0}).values.tolist() == [0, 0]


@pytest.mark.parametrize("maximise", [False, True])
def test_infinite_values_are_the_worst_or_best_finite_one(maximise: bool) -> None:
    sign = -1 if maximise else 1
    found = seen(*({"value": sign * value} for value in (1.0, math.inf, 3.0, -math.inf)), maximise=maximise)
    assert raw(found) == {0.0: 0, 0.1: 1, 0.2: 1, 0.3: 0}


def test_a_failed_trial_is_as_bad_as_the_worst_unless_only_its_process_was_lost() -> None:
    failed = {"state": TrialState.FAIL}
    found = seen({"value": 1.0}, dict(failed), {"value": 3.0}, {**failed, "user_attrs": {LOST: True}})
    assert raw(found) == {0.0: 0, 0.1: 1, 0.2: 1}


def test_a_pruned_trial_has_its_last_value_within_the_range_of_complete_ones() -> None:
    pruned = {"state": TrialState.PRUNED}
    found = seen(
        {"value": 1.0},
        {"value": 5.0},
        {**pruned, "intermediate_values": {0: 9.0, 3: 2.0}},
        {**pruned, "intermediate_values": {0: 90.0}},
        {**pruned, "intermediate_values": {0: -2.0}},
        dict(pruned),
        {**pruned, "intermediate_values": {0: math.nan}},
    )
    assert raw(found) == {0.0: 0, 0.1: 1, 0.2: 0.25, 0.3: 1, 0.4: 0, 0.5: 1, 0.6: 1}


def test_values_far_worse_than_most_count_by_their_logarithm() -> None:
    """Three times as far from the best as the median is, they begin to; their order stays."""
    values = [0.0, 0.5, 1.0, 1.0, 1.0, 3.0, 3.001, 1e5, 1e10]
    found = seen(*({"value": value} for value in values))
    scaled = (found.values - found.values[0]) / (found.values[2] - found.values[0])
    np.testing.assert_allclose(scaled[:6], values[:6])
    assert scaled[6] == pytest.approx(3.001, abs=1e-5)
    np.testing.assert_allclose(scaled[7:], [3 + 3 * math.log(1e5 / 3), 3 + 3 * math.log(1e10 / 3)], rtol=1e-4)
    assert list(seen({"value": 1.0}, {"value": 1.0}, {"value": 2.0}).values) == pytest.approx(
        [-math.sqrt(0.5), -math.sqrt(0.5), math.sqrt(2)]
    )


def test_running_and_enqueued_trials_are_pending_where_they_were_told_to_be() -> None:
    running = {"state": TrialState.RUNNING}
    found = seen(
        {"value": 1.0},
        dict(running),
        {**running, "params": {}},
        {**running, "params": {}},
        {"state": TrialState.WAITING, "params": {}, "system_attrs": {"fixed_params": {"x": 0.9}}},
        suggested={3: {"x": 0.77}},
    )
    np.testing.assert_allclose(found.pending, [[0.1], [0.77], [0.9]])
    assert found.points.tolist() == [[0.0]]


def test_a_trial_that_asked_for_none_of_the_parameters_says_nothing() -> None:
    found = seen({"value": 1.0}, {"value": 1.0, "params": {}}, {"value": 2.0, "params": {"other": 0.5}})
    assert found.points.tolist() == [[0.0]]


def test_before_any_trial_is_complete_there_are_no_values() -> None:
    found = seen({"state": TrialState.FAIL}, {"value": math.inf}, {"state": TrialState.PRUNED})
    assert found.values.shape == (0,)
    assert found.points.shape == (0, 1)


def test_costs_are_those_of_complete_trials_in_seconds_or_as_they_say() -> None:
    found = seen(
        {"value": 1.0, "seconds": 4.0},
        {"value": 1.0, "seconds": 4.0, "user_attrs": {COST: 20}},
        {"state": TrialState.PRUNED},
        {"state": TrialState.FAIL},
        {"value": 1.0, "seconds": 0.0},
        {"value": math.inf, "seconds": 2.0},
        {"value": 1.0, "seconds": 3.0, "user_attrs": {COST: "much"}},
        {"value": 1.0, "user_attrs": {COST: math.inf}},
        {"value": 1.0, "user_attrs": {COST: math.nan}},
        {"value": 1.0, "user_attrs": {COST: -1}},
    )
    np.testing.assert_allclose(found.costly[:, 0], [0, 0.1, 0.5, 0.6])
    np.testing.assert_allclose(np.exp(found.log_costs), [4, 20, 2, 3])
