"""The attempts of operations on a queue: each, in its turn, proceeds as far as the queue allows."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import TYPE_CHECKING, Any

from penstock import errors
from penstock.ops.data_flow.queue_elements import Element, Piece, Slice

if TYPE_CHECKING:
    from penstock.ops.data_flow.queue_state import Queue

Done = Callable[[Any], None]


class Served(Enum):
    """The progress of an attempt."""

    NOT = 0
    PARTLY = 1
    DONE = 2


class Attempt:
    """An operation in progress on a queue."""

    __slots__ = ("done", "ended", "queue", "result")
    action = "Enqueue"

    def __init__(self, queue: Queue, done: Done) -> None:
        self.queue, self.done = queue, done
        self.ended = False
        self.result: Any = ()

    def serve(self) -> Served:
        """Proceed as far as the queue allows."""
        raise NotImplementedError

    def outcome(self) -> Any:
        """The argument of `done`, once the attempt has ended."""
        return self.result

    def give_back(self) -> None:
        """Undo what can be undone."""

    def withdraw(self) -> bool:
        """End it: nothing has been taken, and `done` is not called. Returns False if it is too late for that."""
        return self.queue.withdraw(self)

    def wants(self) -> str:
        """The thing that it waits for."""
        return "a place"

    def __str__(self) -> str:
        return f"waits for {self.wants()} in {self.queue}"


class Enqueue(Attempt):
    __slots__ = ("_element",)

    def __init__(self, queue: Queue, element: Element, done: Done) -> None:
        super().__init__(queue, done)
        self._element = element

    def serve(self) -> Served:
        queue = self.queue
        if queue.closed:
            self.result = queue.closed_error()
            return Served.DONE
        if len(queue.elements) >= queue.spec.capacity:
            return Served.NOT
        queue.elements.add(self._element)
        return Served.DONE


class EnqueueMany(Attempt):
    """Elements already added stay in the queue, as in TensorFlow: they may have been dequeued since."""

    __slots__ = ("_batch", "_next")

    def __init__(self, queue: Queue, batch: tuple[Any, ...], done: Done) -> None:
        super().__init__(queue, done)
        self._batch, self._next = batch, 0

    def serve(self) -> Served:
        queue = self.queue
        if queue.closed:
            self.result = queue.closed_error()
            return Served.DONE
        count = len(self._batch[0]) - self._next
        room = min(queue.spec.capacity - len(queue.elements), count)
        if room <= 0:
            return Served.NOT
        queue.elements.add_many(Slice(self._batch, self._next, self._next + room))
        self._next += room
        return Served.DONE if room == count else Served.PARTLY

    def wants(self) -> str:
        return f"{len(self._batch[0]) - self._next} places"


class Close(Attempt):
    """Closing waits for the enqueues before it."""

    __slots__ = ()

    def serve(self) -> Served:
        queue = self.queue
        if queue.closed:
            self.result = errors.CancelledError(None, None, f"Queue '{queue.name}' is already closed.{queue.built()}")
        queue.closed = True
        return Served.DONE

    def wants(self) -> str:
        return "the enqueues before it"


class Dequeue(Attempt):
    __slots__ = ()
    action = "Dequeue"

    def serve(self) -> Served:
        queue = self.queue
        size = len(queue.elements)
        if queue.closed and not size:
            kind = "FIFOQueue" if queue.spec.kind == "PaddingFIFOQueue" else queue.spec.kind
            self.result = queue.exhausted(kind, 1)
            return Served.DONE
        if size <= (0 if queue.closed else queue.spec.least):
            return Served.NOT
        self.result = queue.elements.take()
        return Served.DONE

    def wants(self) -> str:
        return "an element"


class DequeueMany(Attempt):
    """Takes elements as they arrive, so a batch may be larger than the queue's capacity."""

    __slots__ = ("_left", "_pieces", "_up_to")
    action = "Dequeue"

    def __init__(self, queue: Queue, count: int, up_to: bool, done: Done) -> None:
        super().__init__(queue, done)
        self._left, self._up_to = count, up_to
        self._pieces: list[Piece] = []

    def serve(self) -> Served:
        queue, wanted = self.queue, self._left
        size = len(queue.elements)
        if queue.closed and size < wanted:
            error = queue.exhausted(queue.spec.kind, wanted)
            self.give_back()
            size = wanted = len(queue.elements)
            if not (self._up_to and size):
                self.result = error
                return Served.DONE
        count = min(wanted, size - (0 if queue.closed else queue.spec.least))
        if count <= 0 or (count < wanted and queue.spec.kind == "PriorityQueue"):
            return Served.NOT  # the last element to arrive may be the first of a batch by priority
        self._pieces += queue.elements.take_many(count)
        self._left = wanted - count
        return Served.PARTLY if self._left else Served.DONE

    def outcome(self) -> Any:
        """Called without the lock, since joining takes time."""
        return self.queue.join(self._pieces) if self._pieces else self.result

    def give_back(self) -> None:
        self.queue.elements.put_back(self._pieces)
        self._pieces = []

    def wants(self) -> str:
        return f"{self._left} elements"
