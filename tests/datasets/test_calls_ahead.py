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
from penstock.ops.datasets.base import ElementIterator, IterationContext
from penstock.ops.datasets.blocks import Block, Element, of_elements
from penstock.ops.datasets.calls_ahead import CallsAhead
from penstock.ops.datasets.mapping import _Pace, _ParallelMapIterator
from penstock.ops.datasets.shuffling import _Pool
from penstock.runtime.workers import Workers
from tests.codegen import steps


class _Numbers(ElementIterator):
    def __init__(self, count: int) -> None:
        self._numbers = iter(range(count))

    def _one(self) -> Element | None:
        number = next(self._numbers, None)
        return None if number is None else (torch.tensor(number),)


@pytest.fixture
def context() -> Iterator[IterationContext]:
    found = IterationContext()
    yield found
    found.close()


def _sleeping(context: IterationContext, seconds: Any, count: int = 64, parallel: int = 2) -> _ParallelMapIterator:
    """Numbers whose call takes `seconds(number)`."""

    def call(number: torch.Tensor) -> Element:
        time.sleep(seconds(int(number)))
        return (number,)

    pace = _Pace()
    for _ in range(3):
        pace.note(1.0)
    dataset: Any = SimpleNamespace(call=call, parallel=parallel, may_end=True, pace=pace)
    return _ParallelMapIterator(_Numbers(count), dataset, context)


def _numbers(block: Block | None) -> list[int]:
    assert block is not None
    return [int(row[0]) for row in block.rows()]


def test_short_calls_that_are_wanted_together_come_together(context: IterationContext) -> None:
    mapped = _sleeping(context, lambda number: 1e-4, parallel=8)
    sizes = [len(_numbers(mapped.next_many(8))) for _ in range(6)]
    assert max(sizes) == 8  # a thread may be late, though hardly six times


def test_a_long_call_keeps_only_those_behind_it_waiting(context: IterationContext) -> None:
    mapped = _sleeping(context, lambda number: 0.5 if number == 3 else 0.0, parallel=4)
    found = _numbers(mapped.next_many(8))
    assert found == list(range(len(found))), "in order"
    assert 1 <= len(found) <= 3
    rest: list[int] = []
    while len(rest) + len(found) < 64:
        rest += _numbers(mapped.next_many(8))
    assert found + rest == list(range(64))
    assert mapped.next_many(8) is None


def test_closing_wakes_who_waits_for_a_call(context: IterationContext) -> None:
    mapped = _sleeping(context, lambda number: 0.3)
    mapped._fill()
    context.close()
    with pytest.raises(tf.errors.CancelledError):
        mapped.next_many(2)


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
