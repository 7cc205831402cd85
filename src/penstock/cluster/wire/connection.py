"""A connection's writing side and its end. Any number of threads write; messages go out in the order of their calls."""

from __future__ import annotations

import contextlib
import itertools
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.cluster.wire.frames import PART_BYTES, Message, Reader, head, part_head
from penstock.cluster.wire.threads import Threads
from penstock.cluster.wire.turns import Turns

_MAX_VECTORS = 512
"""Pieces of memory in one system call (Linux takes 1024)."""

_reading = threading.local()


def now_reading(reads: bool) -> None:
    """Say whether this thread reads some connection now. Then it never waits until it can write.

    Two processes whose reading threads wait until the other reads would wait for ever. So what cannot be written at
    once is written by another thread.
    """
    _reading.now = reads


def is_reading() -> bool:
    return getattr(_reading, "now", False)


class TooLate(Exception):
    """The deadline passed before the message was written (another thread writes the rest)."""


class _Rest:
    """What is left to write of some bytes."""

    def __init__(self, pieces: Sequence[memoryview | bytes]) -> None:
        self._pieces = [memoryview(piece) for piece in pieces]

    def write(self, sock: socket.socket, wait: bool, deadline: float | None) -> bool:
        """Write all of it; False if that was not possible without waiting (or until the deadline)."""
        pieces = self._pieces
        nonblocking = not wait or deadline is not None
        flags = socket.MSG_NOSIGNAL | (socket.MSG_DONTWAIT if nonblocking else 0)
        counts: list[int] = []
        while pieces:
            try:
                # Ctrl-C can arrive here. `extend` keeps the count even if the signal is handled just after the call.
                counts.extend(map(sock.sendmsg, (pieces[:_MAX_VECTORS],), ((),), (flags,)))
            except BlockingIOError:
                if not wait or not _writable(sock, deadline):
                    return False
            finally:
                if counts:
                    self._written(counts.pop())
        return True

    def _written(self, count: int) -> None:
        pieces = self._pieces
        done = 0
        while done < len(pieces) and count >= pieces[done].nbytes:
            count -= pieces[done].nbytes
            done += 1
        del pieces[:done]
        if count:
            pieces[0] = pieces[0][count:]

    def copied(self) -> _Rest:
        """Not changed by what the caller does next."""
        return _Rest([bytes(piece) for piece in self._pieces])


def _writable(sock: socket.socket, deadline: float | None) -> bool:
    left = None if deadline is None else deadline - time.monotonic()
    if left is not None and left <= 0:
        return False
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    return bool(poll.poll(None if left is None else left * 1000 + 1))


class Connection:
    """An authenticated socket, from which messages are read by one thread at a time and written by any."""

    def __init__(self, sock: socket.socket, threads: Threads, limit: int) -> None:
        self._socket = sock
        self._threads = threads
        self._turns = Turns()
        self._closing = threading.Lock()
        self._closed = False
        self._streams = itertools.count(1)
        self._reader = Reader(sock, limit)

    @property
    def heard(self) -> float:
        """When something came last (time.monotonic)."""
        return self._reader.heard

    @heard.setter
    def heard(self, when: float) -> None:
        self._reader.heard = when

    def read(self) -> Message:
        """See `Reader.next`; at the connection's end EOFError or OSError."""
        return self._reader.next()

    def write(
        self,
        kind: int,
        number: int,
        method: bytes,
        pickled: memoryview,
        beside: Sequence[memoryview],
        deadline: float | None = None,
    ) -> None:
        """Send a message; after that its memory may change.

        Waits until the other side reads, if its buffers are full (not in threads that read). Raises OSError if the
        connection has ended, TooLate.
        """
        wait = not is_reading()
        if len(pickled) > PART_BYTES:
            beside = [*beside, pickled]
            pickled = memoryview(b"")
        if sum(view.nbytes for view in beside) <= PART_BYTES:
            self._write_frame([head(kind, number, method, pickled, beside, 0), *beside], wait, deadline)
            return
        stream = next(self._streams)
        parts: list[list[memoryview | bytes]] = [[head(kind, number, method, pickled, beside, stream)]]
        for part in _parts(beside):
            parts.append([part_head(sum(view.nbytes for view in part), stream), *part])
        if not wait:
            copied = [[bytes(piece) for piece in part] for part in parts]
            self._submit(self._write_parts, copied, stream, None)
        else:
            self._write_parts(parts, stream, deadline)

    def _write_parts(self, frames: Sequence[Sequence[memoryview | bytes]], stream: int, deadline: float | None) -> None:
        try:
            for frame in frames:
                self._write_frame(frame, True, deadline)
        except OSError:
            raise
        except BaseException:  # the deadline, or Ctrl-C
            self._submit(self._write_parts, [[part_head(0, stream)]], stream, None)
            raise

    def _write_frame(self, frame: Sequence[memoryview | bytes], wait: bool, deadline: float | None) -> None:
        """Write what must not be interrupted by other frames."""
        gate = self._turns.take()
        rest = _Rest(frame)
        if gate is not None:
            if not wait:
                self._submit(self._finish, rest.copied(), gate)
                return
            try:
                came = gate.acquire(timeout=-1 if deadline is None else max(0.0, deadline - time.monotonic()))
            except BaseException:
                self._turns.give_up(gate)
                raise
            if not came:
                self._turns.give_up(gate)
                raise TooLate
        self._write_now(rest, wait, deadline)

    def _write_now(self, rest: _Rest, wait: bool, deadline: float | None) -> None:
        """It is our turn, which ends here or in another thread."""
        try:
            done = rest.write(self._socket, wait, deadline)
        except OSError:
            self._turns.end()
            raise
        except BaseException:  # Ctrl-C: the frame must be completed
            self._submit(self._finish, rest.copied(), None)
            raise
        if done:
            self._turns.end()
            return
        self._submit(self._finish, rest.copied(), None)
        if wait:
            raise TooLate

    def _finish(self, rest: _Rest, gate: threading.Lock | None) -> None:
        """Write what another thread could not wait for."""
        if gate is not None:
            gate.acquire()
        try:
            rest.write(self._socket, True, None)
        finally:
            self._turns.end()

    def _submit(self, write: Callable[..., None], *args: Any) -> None:
        """Let another thread write. Without one, what comes next would follow half a frame: the connection ends."""

        def run() -> None:
            with contextlib.suppress(OSError):  # the reading side sees it, too
                write(*args)

        try:
            self._threads.submit(run)
        except RuntimeError:
            self.end()
            run()  # fails at once, and frees the turn

    def end(self) -> None:
        """Wake whoever reads or writes: they see the end. Any thread, any number of times."""
        with self._closing:
            if not self._closed:
                with contextlib.suppress(OSError):  # the other side was faster
                    self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the socket, after `end`, from the thread that read last: nobody uses its number any more."""
        gate = self._turns.take()
        if gate is not None:
            gate.acquire()
        with self._closing:
            self._closed = True
            self._socket.close()
        self._turns.end()

    def abandon(self) -> None:
        """In a forked process: close this process's copy of the socket, which leaves the parent's connection alone."""
        self._closed = True
        self._socket.close()


def _parts(beside: Sequence[memoryview]) -> Sequence[list[memoryview]]:
    """The memory in pieces of PART_BYTES."""
    parts: list[list[memoryview]] = [[]]
    room = PART_BYTES
    for view in beside:
        while len(view):
            if not room:
                parts.append([])
                room = PART_BYTES
            piece, view = view[:room], view[room:]
            parts[-1].append(piece)
            room -= len(piece)
    return parts
