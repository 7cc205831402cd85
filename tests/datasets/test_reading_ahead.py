"""Datasets read ahead by threads, of which only one at a time may use each: parallel interleaving."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import penstock as tf
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_value
from penstock.ops.datasets.blocks import Element
from penstock.ops.datasets.calls_ahead import CallsAhead
from penstock.ops.datasets.interleaving_ahead import _InterleaveAheadIterator, _Reader


class _Alone(ElementIterator):
    """Numbers below `count`, for one thread at a time; an error that is no OpError for `bad`."""

    def __init__(self, count: int, bad: int | None = None) -> None:
        self._at, self._count, self._bad = 0, count, bad
        self._in_use = threading.Lock()
        self.closed = False

    def _one(self) -> Element | None:
        assert self._in_use.acquire(blocking=False), "two threads at once"
        try:
            time.sleep(0)
            number = self._at
            self._at += 1
            if number == self._bad:
                raise OSError(f"number {number}")
            return (torch.tensor(number),) if number < self._count else None
        finally:
            self._in_use.release()

    def close(self) -> None:
        self.closed = True

    def _save(self) -> State:
        return {"at": self._at}

    def _restore(self, state: State) -> None:
        self._at = state["at"]


@pytest.fixture
def context() -> Iterator[IterationContext]:
    found = IterationContext()
    yield found
    found.close()


def _numbers(reader: ElementIterator) -> list[int]:
    found = []
    while (element := reader.next()) is not None:
        found.append(int(element[0]))
    return found


class _Yielding(threading.Condition):
    """Lets another thread run whenever it is released."""

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        time.sleep(1e-4)


def test_one_thread_at_a_time_reads(context: IterationContext) -> None:
    ahead = CallsAhead(context)
    ahead.changed = _Yielding()
    assert _numbers(_Reader(_Alone(300), ahead, 1, context)) == list(range(300))


def test_what_is_closed_before_its_thread_has_begun_is_closed_at_once(context: IterationContext) -> None:
    source, ahead = _Alone(5), CallsAhead(context)
    reader = _Reader(source, ahead, 2, context)
    with ahead.changed:  # so that the thread waits
        reader.read()
        context.closed = True
    begin = time.monotonic()
    reader.close()
    assert time.monotonic() - begin < 4.0
    assert source.closed


def test_any_error_that_was_read_ahead_is_saved(context: IterationContext) -> None:
    ahead = CallsAhead(context)
    reader = _Reader(_Alone(5, bad=1), ahead, 4, context)
    assert reader.next() is not None
    state = reader.save()
    again = _Reader(_Alone(5), ahead, 4, context)
    again.restore(state)
    with pytest.raises(tf.errors.UnknownError, match="number 1"):
        again.next()
    assert _numbers(again) == [2, 3, 4]


def test_an_error_of_a_later_slot_is_saved_until_its_turn(context: IterationContext) -> None:
    def iterator(source: ElementIterator) -> _InterleaveAheadIterator:
        """Each number as many times."""
        made = SimpleNamespace(iterate=lambda ctx: source)
        inner: Any = SimpleNamespace(
            source=made, cycle=2, block=1, buffer=2, sloppy=False, call=lambda number: (_dataset(2),)
        )
        return _InterleaveAheadIterator(inner, context)

    saved = iterator(_Alone(3, bad=1))
    assert saved.next() is not None
    state = saved.save()
    again = iterator(_Alone(3))
    again.restore(state)
    with pytest.raises(tf.errors.UnknownError, match="number 1"):
        again.next()


def _dataset(count: int) -> Any:
    class Made(DatasetState):
        def iterate(self, ctx: IterationContext) -> ElementIterator:
            return _Alone(count)

    return dataset_value(Made([], []))
