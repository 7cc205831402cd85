"""Queues as resources: elements, and attempts that wait until they can be served (white paper section 4.6).

Enqueues and closes stand in one line, dequeues in another. An attempt for many elements proceeds as elements or space
become available.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock import errors
from penstock.ops.data_flow.lines import NOT_YET, Attempt, Done, Shared
from penstock.ops.data_flow.queue_elements import Element, Elements, Piece, Slice, join
from penstock.runtime.failures import invalid
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

UNBOUNDED = 2**31 - 1
ENQUEUES, DEQUEUES = "enqueues", "dequeues"


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


class Queue(Shared):
    """The state of a queue. `line`: the line of the program that built it."""

    def __init__(self, name: str, spec: QueueSpec, make: Callable[[], Elements], line: str = "") -> None:
        super().__init__(name, line)
        self.spec = spec
        self.dims = tuple([shape.tuple for shape in spec.shapes])
        self._make = make
        self.forget()

    def forget(self) -> None:
        self.elements, self.closed = self._make(), False

    def enqueue(self, element: Element, done: Done) -> Attempt | None:
        """Add `element`, whose memory is not shared; calls `done(())`, or `done` with an exception, when it has been
        added.

        Like all of these methods, returns None if `done` has already been called, otherwise the waiting attempt.
        """

        def attempt() -> Any:
            if self.closed:
                raise self._closed_error()
            if len(self.elements) >= self.spec.capacity:
                return NOT_YET
            self.elements.add(element)
            self.wake(DEQUEUES)
            return ()

        return self.submit(ENQUEUES, "Enqueue", "a place", attempt, done)

    def enqueue_many(self, batch: tuple[Any, ...], done: Done) -> Attempt | None:
        """Like `enqueue`, for the rows of `batch`.

        Rows already added stay in the queue if it fails, as in TensorFlow: they may have been dequeued since.
        """
        start, count = 0, len(batch[0])

        def attempt() -> Any:
            nonlocal start
            if self.closed:
                raise self._closed_error()
            room = min(self.spec.capacity - len(self.elements), count - start)
            if room <= 0:
                return NOT_YET
            self.elements.add_many(Slice(batch, start, start + room))
            start += room
            self.wake(DEQUEUES)
            return () if start == count else NOT_YET

        if not count:
            done(())
            return None
        return self.submit(ENQUEUES, "Enqueue", lambda: f"{count - start} places", attempt, done)

    def dequeue(self, done: Done) -> Attempt | None:
        """Call `done` with an element."""

        def attempt() -> Any:
            size = len(self.elements)
            if self.closed and not size:
                raise self._exhausted(self._family(), 1)
            if size <= (0 if self.closed else self.spec.least):
                return NOT_YET
            self.wake(ENQUEUES)
            return self.elements.take()

        return self.submit(DEQUEUES, "Dequeue", "an element", attempt, done)

    def dequeue_many(self, count: int, up_to: bool, done: Done) -> Attempt | None:
        """Call `done` with a batch of `count` elements; `up_to`: of what is left in a closed queue.

        Takes elements as they arrive, so a batch may be larger than the queue's capacity.
        """
        pieces: list[Piece] = []
        left = count

        def attempt() -> Any:
            nonlocal left
            size = len(self.elements)
            if self.closed and size < left:
                error = self._exhausted(self.spec.kind, left)
                undo()
                size = left = len(self.elements)
                if not (up_to and size):
                    raise error
            taken = min(left, size - (0 if self.closed else self.spec.least))
            if taken <= 0 or (taken < left and self.spec.kind == "PriorityQueue"):
                return NOT_YET  # the last element to arrive may be the first of a batch by priority
            pieces.extend(self.elements.take_many(taken))
            left -= taken
            self.wake(ENQUEUES)
            return NOT_YET if left else pieces

        def undo() -> None:
            self.elements.put_back(pieces)
            pieces.clear()

        def join_pieces(result: Any) -> None:
            """Called without the lock, since joining takes time."""
            try:
                result = result if isinstance(result, Exception) else self._join(result)
            except Exception as error:
                result = error
            done(result)

        if count < 0:
            raise invalid(f"DequeueManyOp requested {count} < 0 elements")
        if not self.spec.shapes:
            raise invalid(
                f"{self.spec.kind}'s DequeueMany and DequeueUpTo require the components to have specified shapes."
            )
        if not count:
            done(self._join([]))
            return None
        return self.submit(DEQUEUES, "Dequeue", lambda: f"{left} elements", attempt, join_pieces, undo)

    def close(self, cancel: bool, done: Done) -> Attempt | None:
        """Close the queue to new elements, after waiting enqueues, or cancelling them."""

        def attempt() -> Any:
            if self.closed:
                raise errors.CancelledError(None, None, f"Queue '{self.name}' is already closed.{self._built()}")
            self.closed = True
            self.wake(DEQUEUES)
            return ()

        def change() -> None:
            self.closed = True
            self.cancel(ENQUEUES)
            self.wake(DEQUEUES)

        if not cancel:
            return self.submit(ENQUEUES, "Enqueue", "the enqueues before it", attempt, done)
        self.change(change)
        done(())
        return None

    def size(self) -> int:
        with self.lock:
            return len(self.elements)

    # --- words ------------------------------------------------------------------------------------------

    def _join(self, pieces: list[Piece]) -> tuple[Any, ...]:
        return join(pieces, self.spec.dtypes, [dims or () for dims in self.dims])

    def _family(self) -> str:
        return "FIFOQueue" if self.spec.kind == "PaddingFIFOQueue" else self.spec.kind

    def _closed_error(self) -> errors.CancelledError:
        return errors.CancelledError(None, None, f"{self._family()} '{self.name}' is closed.{self._built()}")

    def _exhausted(self, kind: str, wanted: int) -> errors.OutOfRangeError:
        return errors.OutOfRangeError(
            None,
            None,
            f"{kind} '{self.name}' is closed and has insufficient elements (requested {wanted}, current size "
            f"{len(self.elements)}){self._built()}",
        )

    def _built(self) -> str:
        return f"\n  the queue was built at {self.line}" if self.line else ""

    def __str__(self) -> str:
        capacity = "no end" if self.spec.capacity == UNBOUNDED else str(self.spec.capacity)
        least = f", min_after_dequeue {self.spec.least}" if self.spec.least else ""
        built = f", built at {self.line}" if self.line else ""
        return f"{self.spec.kind} '{self.name}' (size {len(self.elements)}, capacity {capacity}{least}{built})"
