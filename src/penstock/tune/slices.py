"""What a Gaussian process believes about a study: along each parameter, with the others as in the best trial."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import optuna
import torch
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState

from penstock.tune.gaussian_process import GaussianProcess
from penstock.tune.hyperparameters import Evidence, sample_hyperparameters
from penstock.tune.kernels import KERNELS
from penstock.tune.space import Dimension, Space

_SAMPLES, _BURN_IN, _POINTS = 10, 20, 81
_MOST = 200
"""More trials than this do not change the picture, but take longer: the last and the best are taken."""

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Slice:
    """units: where the model was asked, from 0 (the least value) to 1. mean, deviation: of the objective there; None if
    there are too few trials. seen: where trials were, and their values."""

    name: str
    dimension: Dimension
    units: Array
    mean: Array | None
    deviation: Array | None
    seen: list[tuple[float, float]]
    best: tuple[float, float]


def slices_of(study: optuna.Study, names: Sequence[str]) -> list[Slice]:
    """One for each of the parameters that has more than one value, in this order."""
    sign = -1.0 if study.direction == optuna.study.StudyDirection.MAXIMIZE else 1.0
    trials = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    trials = sorted(trials, key=lambda trial: sign * _value(trial))
    distributions: dict[str, BaseDistribution] = {}
    for trial in sorted(trials, key=lambda trial: trial.number):
        distributions.update(trial.distributions)
    kept = {name: distributions[name] for name in names if name in distributions and not distributions[name].single()}
    if not kept:
        return []
    space = Space(kept)
    model = _Model(space, trials[: _MOST // 2] + sorted(trials[_MOST // 2 :], key=lambda t: t.number)[-_MOST // 2 :])
    found = []
    for index, (name, dimension) in enumerate(zip(space.names, space.dimensions, strict=True)):
        having = [trial for trial in trials if name in trial.params]
        units = np.linspace(0, 1, dimension.choices or _POINTS)
        if dimension.choices:
            units = np.array([dimension.encode(choice) for choice in dimension.distribution.choices])  # type: ignore[attr-defined]
        along = np.tile(space.encode(having[0].params), (len(units), 1))
        along[:, index] = units
        mean, deviation = model.at(along)
        seen = [(dimension.encode(trial.params[name]), _value(trial)) for trial in having]
        found.append(Slice(name, dimension, units, mean, deviation, seen, seen[0]))
    return found


class _Model:
    """Of the values themselves; the sampler's own is of failures and pending trials as well."""

    def __init__(self, space: Space, trials: Sequence[FrozenTrial]) -> None:
        self._space = space
        values = np.array([_value(trial) for trial in trials])
        self._middle, self._scale = float(values.mean()), float(values.std())
        self._posterior: GaussianProcess | None = None
        if len(trials) < 3 or not self._scale > 0:
            return
        random = np.random.default_rng(0)
        kernel = KERNELS["matern52"]
        x = space.features(torch.from_numpy(np.array([space.encode(trial.params) for trial in trials])))
        y = torch.from_numpy((values - self._middle) / self._scale)
        evidence = Evidence(kernel, x, y, space.groups)
        state = sample_hyperparameters(evidence, evidence.start(_SAMPLES, random), _BURN_IN, random)
        self._posterior = GaussianProcess(kernel, x, y, evidence.draw(state, random))

    def at(self, points: Array) -> tuple[Array | None, Array | None]:
        """Mean and standard deviation of the mixture of posteriors."""
        if self._posterior is None:
            return None, None
        with torch.no_grad():
            means, variances = self._posterior.predict(self._space.features(torch.from_numpy(points)))
        means = means[..., 0]
        mean = means.mean(0)
        variance = variances.mean(0) + means.square().mean(0) - mean.square()
        deviation = variance.clamp_min(0).sqrt()
        return (mean * self._scale + self._middle).numpy(), (deviation * self._scale).numpy()


def _value(trial: FrozenTrial) -> float:
    assert trial.value is not None
    return trial.value
