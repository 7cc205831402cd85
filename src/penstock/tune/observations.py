"""What a model is told about the trials of a study.

No trial is lost, and no trial spoils the study, whatever became of it:

- complete: its value; an infinite one counts as the worst (or best) finite one.
- pruned: its last intermediate value, within the range of the complete ones: the pruner found it worse than others,
  but not how bad it would have become.
- failed (an exception, NaN): the worst complete value. Objectives fail mostly because of their parameters (they
  diverge, or need too much memory). A model that is not told would suggest the same point again and again. Left out are
  those that only lost their process (attribute LOST).
- running or waiting: pending, integrated out by fantasies (section 3.3).

Values far worse than most (a loss of 1e10 where training diverged) count by their logarithm. Otherwise the unit of the
model would be theirs, and all others the same to it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from optuna.trial import FrozenTrial, TrialState

from penstock.tune.space import Space

Array = NDArray[np.float64]

LOST = "penstock:lost"  # user attribute of failed trials: they say nothing about their parameters
FENCE = 3.0
COST = "cost"  # user attribute: what a trial cost, if that is not the seconds that it took


@dataclass(frozen=True)
class Observations:
    points: Array  # [n, parameters]
    values: Array  # [n], smaller is better; zero mean, unit variance
    costly: Array  # [k, parameters]: where the cost is known
    log_costs: Array  # [k]
    pending: Array  # [p, parameters]


def observe(
    trials: Sequence[FrozenTrial], space: Space, maximise: bool, suggested: dict[int, dict[str, Any]]
) -> Observations:
    """`suggested`: parameters of running trials (by number) that have not asked for all of theirs yet."""
    sign = -1.0 if maximise else 1.0
    complete = [
        sign * trial.value for trial in trials if trial.state is TrialState.COMPLETE and trial.value is not None
    ]
    finite = [value for value in complete if math.isfinite(value)]
    best, worst = (min(finite), max(finite)) if finite else (0.0, 0.0)
    points, values, pending, costly, log_costs = [], [], [], [], []
    for trial in trials:
        params = suggested.get(trial.number, {}) | _asked(trial)
        point = space.encode({name: value for name, value in params.items() if name in space.names})
        if np.isnan(point).all():
            continue
        if not trial.state.is_finished():
            pending.append(point)
        elif finite and (value := _value(trial, sign, worst)) is not None:
            points.append(point)
            values.append(min(max(value, best), worst))
        if trial.state is TrialState.COMPLETE and 0 < (cost := _cost(trial)) < math.inf:
            costly.append(point)
            log_costs.append(math.log(cost))
    return Observations(
        _rows(points, space),
        _standard(_compressed(np.array(values))),
        _rows(costly, space),
        np.array(log_costs),
        _rows(pending, space),
    )


def _asked(trial: FrozenTrial) -> dict[str, Any]:
    """Its parameters, those of an enqueued one included: it will be given them."""
    return trial.params or dict(trial.system_attrs.get("fixed_params", {}))


def _value(trial: FrozenTrial, sign: float, worst: float) -> float | None:
    if trial.state is TrialState.COMPLETE:
        return sign * trial.value if trial.value is not None else None
    if trial.state is TrialState.PRUNED:
        last = trial.intermediate_values[max(trial.intermediate_values)] if trial.intermediate_values else math.nan
        return worst if math.isnan(last) else sign * last
    if trial.state is TrialState.FAIL:
        return None if trial.user_attrs.get(LOST) else worst
    return None


def _cost(trial: FrozenTrial) -> float:
    said = trial.user_attrs.get(COST)
    if isinstance(said, float | int):  # a user may have meant something else by it
        return float(said)
    return trial.duration.total_seconds() if trial.duration is not None else 0.0


def _rows(points: list[Array], space: Space) -> Array:
    return np.array(points).reshape(-1, len(space))


def _compressed(values: Array) -> Array:
    """From a fence on, FENCE times as far from the best as the median is, values grow by their logarithm: smoothly."""
    if not len(values):
        return values
    best = values.min()
    fence = FENCE * (np.median(values) - best)
    if fence <= 0:  # most are the best
        return values
    beyond = np.maximum(values - best - fence, 0)
    return np.asarray(np.minimum(values - best, fence) + fence * np.log1p(beyond / fence))


def _standard(values: Array) -> Array:
    if not len(values):
        return values
    spread = values.std()
    return np.asarray((values - values.mean()) / (spread if spread > 0 else 1.0))
