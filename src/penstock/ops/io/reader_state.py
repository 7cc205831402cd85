"""A reader as a resource: returns the records of work items, which it takes from a queue (section 4.5).

Reads wait in a line, and the first is served by the thread at hand: that of the reading step, or, if the queue was
empty, of the step that enqueued something. So no thread waits. No lock is held while foreign code runs.
"""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.ops.io.reader_work import Begin, Pairs, Work
from penstock.ops.kernel_tools import invalid
from penstock.records import Position
from penstock.tensor.messages import add_message, message_classes, new_file

Done = Callable[[Any], None]

_FILE = new_file("penstock/reader_base.proto", "tensorflow")
add_message(
    _FILE,
    "ReaderBaseState",
    "int64 work_started",
    "int64 work_finished",
    "int64 num_records_produced",
    "bytes current_work",
    "int64 offset",  # Penstock's own from here on: the position in the current work
    "int64 skipped",
    "int64 number",
)
_State: Any = message_classes(_FILE)["tensorflow.ReaderBaseState"]


class Reader:
    """The state of a reader. `kind` and `name` are for messages; `whole`: an item of work is one record."""

    def __init__(self, kind: str, name: str, begin: Begin, whole: bool = False) -> None:
        self.kind, self.name = kind, name
        self._begin, self._whole = begin, whole
        self._lock = threading.Lock()  # of the line
        self._line: deque[Read] = deque()
        self._busy = False  # a thread serves the first of the line, or waits for the queue to do so
        self._work_lock = threading.Lock()  # of what follows
        self._work: Work | None = None
        self._name_of_work = b""
        self._place: Position | None = None  # in work that a restored state had begun
        self._started = self._finished = self._produced = 0

    # --- what ops do ------------------------------------------------------------------------------------

    def read(self, queue: Any, count: int | None, done: Done) -> Read | None:
        """Call `done` with the next record, (key, value), with up to `count` of them, or with an exception.

        Returns None if it has already been called, otherwise the waiting read.
        """
        read = Read(self, queue, count, done)
        with self._lock:
            self._line.append(read)
        self._serve()
        return None if read.ended else read

    def numbers(self) -> tuple[int, int]:
        """The numbers of records produced and of work items completed."""
        with self._work_lock:
            return self._produced, self._finished

    def clear(self) -> None:
        """Start over with the next work item."""
        with self._work_lock:
            self._forget()

    def _forget(self) -> None:
        if self._work is not None:
            self._work.close()
        self._work, self._name_of_work, self._place = None, b"", None
        self._started = self._finished = self._produced = 0

    def state(self) -> bytes:
        """Everything that `restore` needs."""
        with self._work_lock:
            state = _State(
                work_started=self._started,
                work_finished=self._finished,
                num_records_produced=self._produced,
                current_work=self._name_of_work,
            )
            place = self._work.position if self._work is not None else self._place
            if place is not None:
                state.offset, state.skipped, state.number = place
            return bytes(state.SerializeToString())

    def restore(self, data: bytes) -> None:
        """Continue at the position of another reader of this kind, whose `state` was `data`."""
        try:
            state = _State.FromString(data)
        except Exception as error:  # of protobuf's own classes, which differ between its implementations
            raise invalid(f"Could not parse state for {self.kind} '{self.name}': {data!r}") from error
        under_way = state.work_started - state.work_finished
        if under_way not in ((0,) if self._whole else (0, 1)):
            raise invalid(
                f"Inconsistent work started vs. finished when restoring in {self.kind} '{self.name}': "
                f"{state.work_started} and {state.work_finished}"
            )
        if min(state.work_finished, state.num_records_produced, state.offset, state.skipped, state.number) < 0:
            raise invalid(f"A negative number when restoring in {self.kind} '{self.name}': {state}")
        with self._work_lock:
            self._forget()
            self._started, self._finished = state.work_started, state.work_finished
            self._produced = state.num_records_produced
            self._name_of_work = state.current_work
            self._place = Position(state.offset, state.skipped, state.number) if under_way else None

    # --- serving ----------------------------------------------------------------------------------------

    def _serve(self) -> None:
        """Serve the line as far as possible, unless another thread does."""
        while True:
            with self._lock:
                while self._line and self._line[0].ended:
                    self._line.popleft()
                if self._busy or not self._line:
                    return
                self._busy = True
                read = self._line[0]
            if not self._serve_first(read):
                return

    def _serve_first(self, read: Read, arrived: Any = None) -> bool:
        """Serve the first of the line; returns False if it waits for its queue, which later continues with what has
        `arrived`."""
        try:
            if arrived is not None:
                self._start(arrived)
            while (found := self._records(read.count)) is None:
                item = _Item(self, read)
                if not item.is_there():
                    return False
                self._start(item.result)
            result: Any = _as_values(found, read.count)
        except Exception as error:
            result = error
        with self._lock:
            self._line.popleft()
            read.ended, self._busy = True, False
        read.done(result)
        return True

    def _go_on(self, read: Read, arrived: Any) -> None:
        """Called by the queue that a read has waited for. The work is started even if nothing waits any longer."""
        with self._lock:
            withdrawn = read.ended
            if withdrawn:
                self._line.popleft()
        if withdrawn:
            with contextlib.suppress(Exception):  # for those that still wait, the queue will report it again
                self._start(arrived)
            with self._lock:
                self._busy = False
            self._serve()
        elif self._serve_first(read, arrived):
            self._serve()

    def withdraw(self, read: Read) -> bool:
        """See `Read.withdraw`."""
        with self._lock:
            first = self._line[0] is read and self._busy if self._line else False
            if read.ended or (first and read.waits is None):
                return False
            read.ended = True
        if first and read.waits.withdraw():
            with self._lock:
                self._line.popleft()
                self._busy = False
            self._serve()
        return True

    # --- work -------------------------------------------------------------------------------------------

    def _start(self, item: Any) -> None:
        """Start the work that a queue has returned: an element, or an exception, which is raised."""
        if isinstance(item, BaseException):
            raise item
        name = item[0].item()
        with self._work_lock:
            self._name_of_work = name
            self._work = self._begin(name)
            self._started += 1

    def _records(self, count: int | None) -> Pairs | None:
        """Records of the current work; None if it is finished, or there is none."""
        with self._work_lock:
            if count == 0:
                return [], []
            if self._place is not None:
                place, self._place = self._place, None
                self._work = self._begin(self._name_of_work)
                self._work.seek(place)
            if self._work is None:
                return None
            found, ended = self._work.read(1 if count is None else count)
            if ended:
                self._work.close()
                self._work = None
                self._finished += 1
            self._produced += len(found[0])
            return found if found[0] else None


def _as_values(found: Pairs, count: int | None) -> tuple[np.ndarray, ...]:
    if count is None:
        return tuple([np.array(part[0], object) for part in found])
    arrays = tuple([np.empty(len(part), object) for part in found])
    for array, part in zip(arrays, found, strict=True):
        array[:] = part
    return arrays


class _Item:
    """The next work item, from the queue of a read: whichever comes second, the queue or the reader, continues with
    it."""

    def __init__(self, reader: Reader, read: Read) -> None:
        self._reader, self._read = reader, read
        self.result: Any = None
        self._awaited = False

    def is_there(self) -> bool:
        """Request it; returns whether it arrived at once."""
        waits = self._read.queue.dequeue(self._arrived)
        with self._reader._lock:
            self._awaited = self.result is None
            self._read.waits = waits if self._awaited else None
            return not self._awaited

    def _arrived(self, result: Any) -> None:
        with self._reader._lock:
            self.result = result
            self._read.waits = None
            if not self._awaited:
                return
        self._reader._go_on(self._read, result)


class Read:
    """A running read."""

    action = "Dequeue"  # as named in TensorFlow's errors

    __slots__ = ("count", "done", "ended", "queue", "reader", "waits")

    def __init__(self, reader: Reader, queue: Any, count: int | None, done: Done) -> None:
        self.reader, self.queue, self.count, self.done = reader, queue, count, done
        self.ended = False
        self.waits: Any = None
        """The attempt to take a work item from the queue, if it waits for one."""

    def withdraw(self) -> bool:
        """Cancel it: nothing has been read, and `done` is not called. Returns False if `done` has been or will be
        called."""
        return self.reader.withdraw(self)

    def __str__(self) -> str:
        return f"waits for an item of work in {self.queue}"
