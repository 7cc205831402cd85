"""Calls of a parallel map: what they share, and what is waited for at once."""

from __future__ import annotations

import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

import penstock as tf
from penstock.ops.datasets import calls_ahead
from penstock.ops.datasets.base import ElementIterator, IterationContext, State
from penstock.ops.datasets.blocks import Block, Element, of_elements
from penstock.ops.datasets.calls_ahead import CallsAhead
from penstock.ops.datasets.mapping import _ParallelMapIterator
from penstock.ops.datasets.pace import Pace
from penstock.ops.datasets.shuffling import _Pool
from penstock.runtime.workers import Workers
from tests.codegen import steps


class _Numbers(ElementIterator):
    """Those below `count`; DataLossError for `bad`."""

    def __init__(self, count: int, bad: int | None = None) -> None:
        self._numbers, self._bad = iter(range(count)), bad

    def _one(self) -> Element | None:
        number = next(self._numbers, None)
        if number is not None and number == self._bad:
            raise tf.errors.DataLossError(None, None, f"number {number}")
        return None if number is None else (torch.tensor(number),)

    def _save(self) -> State:
        return {}

    def _restore(self, state: State) -> None: ...


@pytest.fixture
def context() -> Iterator[IterationContext]:
    found = IterationContext()
    yield found
    found.close()


def _measured(parallel: int, alone: float) -> Pace:
    pace = Pace(parallel)
    for _ in range(3):
        pace.note(alone)
    return pace


def _sleeping(
    context: IterationContext, seconds: Any, source: ElementIterator, parallel: int = 2
) -> _ParallelMapIterator:
    """A map whose call of a number takes `seconds(number)`."""

    def call(number: torch.Tensor) -> Element:
        time.sleep(seconds(int(number)))
        return (number,)

    pace = _measured(parallel, 1.0)
    dataset: Any = SimpleNamespace(call=call, parallel=parallel, may_end=True, pace=pace)
    return _ParallelMapIterator(source, dataset, context)


def _numbers(block: Block | None) -> list[int]:
    assert block is not None
    return [int(row[0]) for row in block.rows()]


def test_short_calls_that_are_wanted_together_come_together(context: IterationContext) -> None:
    mapped = _sleeping(context, lambda number: 1e-4, _Numbers(64), parallel=8)
    sizes = [len(_numbers(mapped.next_many(8))) for _ in range(6)]
    assert max(sizes) == 8  # a thread may be late, though hardly six times


def test_a_long_call_keeps_only_those_behind_it_waiting(context: IterationContext) -> None:
    mapped = _sleeping(context, lambda number: 0.5 if number == 3 else 0.0, _Numbers(64), parallel=4)
    found = _numbers(mapped.next_many(8))
    assert found == list(range(len(found))), "in order"
    assert 1 <= len(found) <= 3
    rest: list[int] = []
    while len(rest) + len(found) < 64:
        rest += _numbers(mapped.next_many(8))
    assert found + rest == list(range(64))
    assert mapped.next_many(8) is None


def test_closing_wakes_who_waits_for_a_call(context: IterationContext) -> None:
    mapped = _sleeping(context, lambda number: 0.3, _Numbers(64))
    mapped._fill()
    context.close()
    with pytest.raises(tf.errors.CancelledError):
        mapped.next_many(2)


@pytest.mark.parametrize(("together", "workers"), [(1e-3, 2), (1.8e-3, 2), (2.1e-3, 1), (4e-3, 1)])
def test_calls_that_take_turns_anyway_are_made_one_at_a_time(together: float, workers: int) -> None:
    pace = _measured(2, 1e-3)
    for _ in range(200):
        pace.note_together(together)
    assert pace.workers == workers


def test_several_calls_at_once_are_tried_again_less_and_less_often() -> None:
    pace, rests = _measured(4, 1e-3), []
    for _ in range(3):
        while pace.workers == 4:
            pace.note_together(4e-3)
        rests.append(0)
        while pace.workers == 1:
            pace.note(1e-3)
            rests[-1] += 1
    assert rests[0] < rests[1] < rests[2]
    for _ in range(64):
        pace.note_together(1e-3)
    assert pace.workers == 4


def test_an_error_of_the_input_that_calls_are_ahead_of_is_saved(context: IterationContext) -> None:
    mapped = _sleeping(context, lambda number: 0.01, _Numbers(5, bad=3), parallel=4)
    assert _numbers(mapped.next_many(1)) == [0]
    state = mapped.save()
    again = _sleeping(context, lambda number: 0.01, _Numbers(0), parallel=4)
    again.restore(state)
    rest: list[int] = []
    with pytest.raises(tf.errors.DataLossError, match="number 3"):
        while True:
            rest += _numbers(again.next_many(4))
    assert rest == [1, 2]


@pytest.mark.parametrize(("parallel", "each"), [(2, 4), (3, 2), (8, 1), (20, 1)])
def test_calls_share_the_threads_of_kernels(
    context: IterationContext, parallel: int, each: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls_ahead, "_workers", Workers())  # threads keep the number that they began with
    with steps.threads(8):
        ahead = CallsAhead(context, parallel)
        assert ahead.wait(ahead.run(torch.get_num_threads)).result() == each


def test_values_of_their_own_memory_are_shuffled_without_copying_them() -> None:
    values = [torch.full((1000,), float(i)) for i in range(6)]
    pool = _Pool(of_elements([(value,) for value in values[:3]]))
    drawn = pool.exchange(np.array([1, 1, 0]), of_elements([(value,) for value in values[3:]]))
    assert [row[0].data_ptr() for row in drawn.rows()] == [values[i].data_ptr() for i in (1, 3, 0)]
