"""The searches that bench/tune.py compares, all Optuna samplers, and the loop that runs one on a simulated clock."""

from __future__ import annotations

import dataclasses
import functools
import heapq
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, GPSampler, RandomSampler, TPESampler
from optuna.search_space import intersection_search_space
from optuna.trial import FrozenTrial, Trial, TrialState
from torch import Tensor

from bench.tune_botorch import Suggestions, from_cube, in_cube
from bench.tune_objectives import Objective
from penstock.tune import GPEIMCMC
from penstock.tune.gaussian_process import Hyperparameters
from penstock.tune.hyperparameters import Evidence
from penstock.tune.space import Space

COST = "cost"  # the attribute of a trial that says what it took
EI, PER_SECOND = "GP EI MCMC", "GP EI per second MCMC"
STARTUP = 10  # random trials before BoTorch's first suggestion, as Optuna's samplers have


class BoTorch(RandomSampler):
    """Random trials, and then what BoTorch suggests."""

    def __init__(self, suggestions: Callable[[dict[str, Any]], list[float]], seed: int) -> None:
        super().__init__(seed)
        self._suggestions, self._seed = suggestions, seed

    def infer_relative_search_space(self, study: optuna.Study, trial: FrozenTrial) -> dict[str, BaseDistribution]:
        trials = study.get_trials(deepcopy=False)
        done = sum(t.state is TrialState.COMPLETE for t in trials)
        return intersection_search_space(trials) if done >= STARTUP else {}

    def sample_relative(
        self, study: optuna.Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        if not search_space:
            return {}
        trials = [t for t in study.get_trials(deepcopy=False) if t.number != trial.number]
        points = [[in_cube(t.params[name], of) for name, of in search_space.items()] for t in trials]
        told = [t.state is TrialState.COMPLETE for t in trials]
        known = {
            "x": [x for x, done in zip(points, told, strict=True) if done],
            "y": [t.value for t in trials if t.state is TrialState.COMPLETE],
            "pending": [x for x, done in zip(points, told, strict=True) if not done],
            "seed": 1000 * self._seed + trial.number,
        }
        point = self._suggestions(known)
        return {name: from_cube(x, of) for x, (name, of) in zip(point, search_space.items(), strict=True)}


class PointEstimate(GPEIMCMC):
    """The paper's GP EI Opt: the most probable hyperparameters, instead of samples of them."""

    def _sample(
        self,
        space: Space,
        x: Tensor,
        y: Tensor,
        chains: dict[str, list[float]],
        random: np.random.Generator,
        exact: bool,
    ) -> tuple[Hyperparameters, dict[str, list[float]]]:
        """A random climb from several points at once; mean and amplitude are the medians of draws given the rest."""
        evidence = Evidence(self._kernel, x, y, space.groups, exact)
        points = evidence.start(100, random)
        for width in np.geomspace(1, 0.01, 40):
            best = points[np.argsort(-evidence.log_density(points))[:10]]
            steps = width * random.standard_normal((40, best.shape[1]))
            points = np.concatenate([best, best.repeat(4, axis=0) + steps])
        most_probable = points[[np.argmax(evidence.log_density(points))]]
        drawn = evidence.draw(most_probable.repeat(101, axis=0), random)
        middle = (value.median(0).values[None] for value in dataclasses.astuple(drawn))
        return Hyperparameters(*middle), {}


@functools.cache
def _suggestions(python: str) -> Suggestions:
    return Suggestions(python)


def searches(botorch: str | None) -> dict[str, Callable[[int], BaseSampler]]:
    """What makes a sampler from a seed, by the name in the tables; with a Python that has BoTorch, BoTorch's too."""
    made: dict[str, Callable[[int], BaseSampler]] = {
        EI: lambda seed: GPEIMCMC(seed=seed),
        "GP EI point estimate": lambda seed: PointEstimate(seed=seed),
        "GP EI MCMC squared exponential": lambda seed: GPEIMCMC(seed=seed, kernel="squared_exponential"),
        "GP PI MCMC": lambda seed: GPEIMCMC(seed=seed, acquisition="pi"),
        "GP LCB MCMC": lambda seed: GPEIMCMC(seed=seed, acquisition="lcb"),
        PER_SECOND: lambda seed: GPEIMCMC(seed=seed, per_second=True),
        "Optuna GPSampler": lambda seed: GPSampler(seed=seed),
        "Optuna TPESampler": lambda seed: TPESampler(seed=seed),
        "Random": lambda seed: RandomSampler(seed=seed),
    }
    if botorch:
        made["BoTorch qLogEI"] = lambda seed: BoTorch(_suggestions(botorch), seed)
    return made


@dataclasses.dataclass
class Course:
    """How one search went, with an element for each trial in the order in which they ended."""

    losses: list[float] = dataclasses.field(default_factory=list)
    costs: list[float] = dataclasses.field(default_factory=list)
    asked: list[float] = dataclasses.field(default_factory=list)  # the seconds that the suggestion took
    parameters: list[dict[str, float]] = dataclasses.field(default_factory=list)

    def best(self) -> np.ndarray:
        return np.fmin.accumulate(np.array(self.losses))

    def trials_to(self, target: float) -> float:
        """How many trials had ended when the target was reached; infinite if it was not."""
        reached = np.flatnonzero(self.best() <= target)
        return float(reached[0] + 1) if len(reached) else np.inf

    def cost_to(self, target: float) -> float:
        reached = np.flatnonzero(self.best() <= target)
        return float(np.cumsum(self.costs)[reached[0]]) if len(reached) else np.inf

    def best_at_cost(self, budget: float) -> float:
        """The best loss of the trials that had ended when so much was spent."""
        ended = int((np.cumsum(self.costs) <= budget).sum())
        return float(self.best()[ended - 1]) if ended else np.inf


def search(objective: Objective, sampler: BaseSampler, trials: int, workers: int, seed: int) -> Course:
    """So many trials, `workers` of them at a time; when one ends, by the simulated clock, the next one starts.

    Several workers take between half a second and one and a half for a trial, so that they do not keep step.
    """
    study = optuna.create_study(sampler=sampler)
    durations = np.random.default_rng(seed).uniform(0.5, 1.5, trials)
    course = Course()
    running: list[tuple[float, int, Trial, float]] = []
    now = 0.0
    for number in range(trials + workers):
        if number >= workers and running:
            now, _, trial, seconds = heapq.heappop(running)
            loss, cost = objective.loss(trial.params), objective.cost(trial.params)
            trial.set_user_attr(COST, cost)
            study.tell(trial, loss)
            course.losses.append(loss)
            course.costs.append(cost)
            course.asked.append(seconds)
            course.parameters.append(trial.params)
        if number < trials:
            start = time.perf_counter()
            trial = study.ask(objective.space)
            seconds = time.perf_counter() - start
            heapq.heappush(running, (now + durations[number], number, trial, seconds))
    return course


def suggestion_seconds(objective: Objective, sampler: BaseSampler, known: int, count: int = 6) -> list[float]:
    """How long suggestions take, one after the other, in a study of `known` random trials."""
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for _ in range(known):
        trial = study.ask(objective.space)
        study.tell(trial, objective.loss(trial.params))
    study.sampler = sampler
    found = []
    for _ in range(count):
        start = time.perf_counter()
        trial = study.ask(objective.space)
        found.append(time.perf_counter() - start)
        study.tell(trial, objective.loss(trial.params))
    return found
