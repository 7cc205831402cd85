"""Queues as resources: elements, and attempts that wait until they can be served (white paper section 4.6).

Enqueueing or dequeueing adds an attempt to one of two lines. The first in each line is served as far as possible, then
the next; an attempt for many elements proceeds as elements or space become available. This happens in the thread that
changed something, under the queue's lock; `done` is called afterwards. So no thread waits for an attempt.
"""

from __future__ import annotations

import itertools
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock import errors
from penstock.ops.data_flow.queue_attempts import (
    Attempt,
    Close,
    Dequeue,
    DequeueMany,
    Done,
    Enqueue,
    EnqueueMany,
    Served,
)
from penstock.ops.data_flow.queue_elements import Element, Elements, Piece, join
from penstock.runtime.failures import invalid
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

UNBOUNDED = 2**31 - 1
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class QueueSpec:
    """The properties that a queue op requests. `shapes` is empty if elements may have any shape."""

    kind: str
    dtypes: tuple[DType, ...]
    shapes: tuple[TensorShape, ...]
    capacity: int
    least: int = 0
    """`min_after_dequeue`."""
    seeds: tuple[int, int] = (0, 0)

    def check_same(self, name: str, asked: QueueSpec, op: str) -> None:
        """Raises InvalidArgumentError if a queue with this name and spec does not match another op's spec."""
        if self.kind != asked.kind:
            raise invalid(f"Shared queue '{name}': Expected {self.kind}, found {op}")
        have, want = ("[" + ", ".join(map(str, s.shapes)) + "]" for s in (self, asked))
        types, others = (", ".join(d.name for d in s.dtypes) for s in (self, asked))
        for what, asks, mine, its in (
            ("capacity", "capacity was", self.capacity, asked.capacity),
            ("component types", "component types were", types, others),
            ("component shapes", "component shapes were", have, want),
            ("min_after_dequeue", "min_after_dequeue was", self.least, asked.least),
            ("random seeds", "seeds are", self.seeds, asked.seeds),
        ):
            if mine != its and (what != "random seeds" or any(asked.seeds)):
                raise invalid(f"Shared queue '{name}' has {what} {mine} but requested {asks} {its}")


class Queue:
    """The state of a queue. `line`: the line of the program that built it."""

    def __init__(self, name: str, spec: QueueSpec, make: Callable[[], Elements], line: str = "") -> None:
        self.name, self.spec, self.line = name, spec, line
        self.lock = threading.Lock()
        self.closed = False
        self.dims = tuple([shape.tuple for shape in spec.shapes])
        self._make = make
        self.elements = make()
        self._enqueues: OrderedDict[Attempt, None] = OrderedDict()
        self._dequeues: OrderedDict[Attempt, None] = OrderedDict()

    # --- what ops do ------------------------------------------------------------------------------------

    def enqueue(self, element: Element, done: Done) -> Attempt | None:
        """Add `element`, whose memory is not shared; calls `done(())`, or `done` with an exception, when it has been
        added.

        Like all of these methods, returns None if `done` has already been called, otherwise the waiting attempt.
        """
        return self._submit(self._enqueues, Enqueue(self, element, done))

    def enqueue_many(self, batch: tuple[Any, ...], done: Done) -> Attempt | None:
        """Like `enqueue`, for the rows of `batch`."""
        if not len(batch[0]):
            done(())
            return None
        return self._submit(self._enqueues, EnqueueMany(self, batch, done))

    def dequeue(self, done: Done) -> Attempt | None:
        """Call `done` with an element."""
        return self._submit(self._dequeues, Dequeue(self, done))

    def dequeue_many(self, count: int, up_to: bool, done: Done) -> Attempt | None:
        """Call `done` with a batch of `count` elements; `up_to`: of what is left in a closed queue."""
        if count < 0:
            raise invalid(f"DequeueManyOp requested {count} < 0 elements")
        if not self.spec.shapes:
            raise invalid(
                f"{self.spec.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes."
            )
        if not count:
            done(join([], self.spec.dtypes, self._shapes()))
            return None
        return self._submit(self._dequeues, DequeueMany(self, count, up_to, done))

    def close(self, cancel: bool, done: Done) -> Attempt | None:
        """Close the queue to new elements, after waiting enqueues, or cancelling them."""
        if not cancel:
            return self._submit(self._enqueues, Close(self, done))
        with self.lock:
            self.closed = True
            ended = self._end(self._enqueues) + self._serve()
        _tell(ended)
        done(())
        return None

    def size(self) -> int:
        with self.lock:
            return len(self.elements)

    def clear(self) -> None:
        """Start over; waiting attempts are cancelled."""
        with self.lock:
            ended = self._end(self._enqueues) + self._end(self._dequeues)
            self.elements, self.closed = self._make(), False
        _tell(ended)

    # --- serving ----------------------------------------------------------------------------------------

    def _submit(self, line: OrderedDict[Attempt, None], attempt: Attempt) -> Attempt | None:
        with self.lock:
            line[attempt] = None
            ended = self._serve()
        _tell(ended)
        return None if attempt.ended else attempt

    def _serve(self) -> list[Attempt]:
        """Serve both lines as far as possible; returns the attempts that have ended."""
        ended: list[Attempt] = []
        moved = True
        while moved:
            moved = False
            for line in (self._enqueues, self._dequeues):
                while line:
                    attempt = next(iter(line))
                    served = attempt.serve()
                    moved = moved or served is not Served.NOT
                    if served is not Served.DONE:
                        break
                    del line[attempt]
                    attempt.ended = True
                    ended.append(attempt)
        return ended

    def _end(self, line: OrderedDict[Attempt, None]) -> list[Attempt]:
        ended = list(line)
        line.clear()
        for attempt in ended:
            attempt.ended = True
            attempt.give_back()
            attempt.result = errors.CancelledError(None, None, f"{attempt.action} operation was cancelled")
        return ended

    def withdraw(self, attempt: Attempt) -> bool:
        """See `Attempt.withdraw`."""
        with self.lock:
            if attempt.ended:
                return False
            attempt.ended = True
            self._enqueues.pop(attempt, None)
            self._dequeues.pop(attempt, None)
            attempt.give_back()
            ended = self._serve()
        _tell(ended)
        return True

    # --- words ------------------------------------------------------------------------------------------

    def _shapes(self) -> list[tuple[int | None, ...]]:
        return [dims or () for dims in self.dims]

    def join(self, pieces: list[Piece]) -> tuple[Any, ...]:
        return join(pieces, self.spec.dtypes, self._shapes())

    def closed_error(self) -> errors.CancelledError:
        kind = "FIFOQueue" if self.spec.kind == "PaddingFIFOQueue" else self.spec.kind
        return errors.CancelledError(None, None, f"{kind} '{self.name}' is closed.{self.built()}")

    def exhausted(self, kind: str, wanted: int) -> errors.OutOfRangeError:
        return errors.OutOfRangeError(
            None,
            None,
            f"{kind} '{self.name}' is closed and has insufficient elements (requested {wanted}, current size "
            f"{len(self.elements)}){self.built()}",
        )

    def built(self) -> str:
        return f"\n  the queue was built at {self.line}" if self.line else ""

    def __str__(self) -> str:
        capacity = "no end" if self.spec.capacity == UNBOUNDED else str(self.spec.capacity)
        least = f", min_after_dequeue {self.spec.least}" if self.spec.least else ""
        built = f", built at {self.line}" if self.line else ""
        return f"{self.spec.kind} '{self.name}' (size {len(self.elements)}, capacity {capacity}{least}{built})"


def _tell(ended: Sequence[Attempt]) -> None:
    for attempt in ended:
        try:
            result = attempt.outcome()
        except Exception as error:
            result = error
        attempt.done(result)


def unique_name(node: str) -> str:
    """A name for a queue that is not shared."""
    return f"_{next(_numbers)}_{node}"
