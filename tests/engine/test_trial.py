"""Which number of threads is chosen for a step, by the times that its steps take: no clock is asked."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Sequence

import pytest

from penstock.engine.trial import Times, TrialBlock, trial

Model = Callable[[int, float], float]
"""Seconds of a step with so many threads, at a time."""


class Simulated:
    """Runs the blocks that a trial asks for."""

    def __init__(self, model: Model, first: int = 2, options: Sequence[int] = (2, 1)) -> None:
        self.model, self.options, self.situation = model, options, 0
        self.now = 0.0
        self.steps: Counter[int] = Counter()
        self.trial = trial(first, lambda: self.options, lambda: self.situation)
        self.block: TrialBlock = next(self.trial)

    def run(self, seconds: float) -> None:
        """Let steps take so many seconds. StopIteration when the trial has ended for good."""
        end = self.now + seconds
        while self.now < end:
            steps, took = 0, 0.0
            for _ in range(self.block.skip):
                self._step()
            while took <= 0 or took < self.block.seconds:
                took += self._step()
                steps += 1
            self.block = self.trial.send(Times(steps, took))

    def _step(self) -> float:
        threads = self.block.threads
        seconds = self.model(threads, self.now)
        self.now += seconds
        self.steps[threads] += 1
        return seconds

    def share(self, threads: int, seconds: float) -> float:
        """The part of the steps that run with so many threads, from now on."""
        self.steps.clear()
        self.run(seconds)
        return self.steps[threads] / self.steps.total()


def takes(seconds: dict[int, float], noise: float = 0.0) -> Model:
    rng = random.Random(0)
    return lambda threads, now: seconds[threads] * (1 + noise * rng.random())


@pytest.mark.parametrize("unit", [50e-6, 0.003, 0.2])
@pytest.mark.parametrize("first", [1, 2])
@pytest.mark.parametrize(("best", "times"), [(1, {1: 1.0, 2: 5.0}), (1, {1: 1.0, 2: 1.3}), (2, {1: 1.7, 2: 1.0})])
def test_the_quicker_number_is_found_and_used(best: int, times: dict[int, float], first: int, unit: float) -> None:
    steps = Simulated(takes({threads: unit * time for threads, time in times.items()}, noise=0.1), first)
    steps.run(max(0.1, 12 * unit))
    assert steps.block.threads == best
    assert steps.share(best, 300 * unit + 30) > 0.97


def test_trying_costs_half_a_percent_where_nothing_changes() -> None:
    steps = Simulated(takes({1: 0.018, 2: 0.010}, noise=0.05))
    steps.run(20)
    assert steps.share(1, 200) * (18 / 10 - 1) < 0.006


@pytest.mark.parametrize("said", [False, True])
def test_neighbours_that_come_and_go_are_noticed(said: bool) -> None:
    """Whether they are heard of, or only make steps slower."""
    crowd = [False]
    alone, crowded = {1: 0.018, 2: 0.010}, {1: 0.020, 2: 0.080}
    steps = Simulated(lambda threads, now: (crowded if crowd[0] else alone)[threads])
    steps.run(5)
    assert steps.block.threads == 2
    crowd[0] = True
    steps.situation += said
    steps.run(1.0)
    assert steps.share(1, 20) > 0.9
    crowd[0] = False
    steps.situation += said
    steps.run(1.0 if said else 20.0)
    assert steps.share(2, 20) > 0.9


def test_noise_that_hits_all_alike_costs_little() -> None:
    """As where a neighbour takes a time slice now and then: neither number is worth a change."""
    rng = random.Random(1)
    steps = Simulated(lambda threads, now: 0.002 + (0.004 if rng.random() < 0.2 else 0.0) + 0.0005 * (threads == 1))
    steps.run(10)
    assert steps.share(2, 100) > 0.8


def test_of_many_processors_those_that_neighbours_leave_are_used() -> None:
    work = {16: 2.0, 15: 1.07, 8: 2.0, 1: 16.0}  # a thread that shares its processor keeps all others waiting
    steps = Simulated(takes({n: 0.01 * t for n, t in work.items()}), 16, (15, 16, 8, 1))
    steps.run(2)
    assert steps.share(15, 60) > 0.98


def test_a_tiny_step_is_tried_once() -> None:
    steps = Simulated(takes({1: 2e-6, 2: 1.8e-6}), first=1)
    with pytest.raises(StopIteration) as end:
        steps.run(1.0)
    assert end.value.value == 2
    assert steps.now < 0.2


def test_where_one_number_is_left_it_is_taken_without_trying() -> None:
    """As beside a compiler: a step with another number may take eight times as long."""
    compiling = [False]
    steps = Simulated(lambda threads, now: (0.8 if compiling[0] else 0.1) if threads == 2 else 0.12)
    steps.run(5)
    assert steps.block.threads == 2
    compiling[0], steps.options = True, (1,)
    steps.situation += 1
    steps.run(1.5)
    steps.steps.clear()
    steps.run(5)
    assert set(steps.steps) == {1}
    compiling[0], steps.options = False, (2, 1)
    steps.situation += 1
    steps.run(1.5)
    assert steps.share(2, 20) > 0.9


def test_with_one_number_there_is_nothing_to_try() -> None:
    steps = Simulated(takes({1: 0.01}), 1, (1,))
    steps.run(10)
    assert set(steps.steps) == {1}
