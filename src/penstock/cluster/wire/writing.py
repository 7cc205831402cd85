"""Writing to a socket from any number of threads: frames stay whole, and go out in the order in which they came."""

from __future__ import annotations

import array
import contextlib
import select
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from penstock.cluster.wire.threads import Threads
from penstock.cluster.wire.turns import Turns

_MAX_VECTORS = 512
"""Pieces of memory in one system call (Linux takes 1024)."""

_NO_SIGNAL = getattr(socket, "MSG_NOSIGNAL", 0)  # not everywhere

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
    """The deadline passed before the message was written. Of a frame that was begun, another thread writes the rest."""


class Frame:
    """Bytes that must not be interrupted by others, or what is left of them. A descriptor goes with the first byte."""

    __slots__ = ("_descriptor", "_pieces")

    def __init__(self, pieces: Sequence[memoryview | bytes], descriptor: int | None = None) -> None:
        self._pieces = list(pieces)
        self._descriptor = descriptor

    def write(self, sock: socket.socket, wait: bool, deadline: float | None) -> bool:
        """Write all of it; False if that was not possible without waiting (or until the deadline)."""
        pieces = self._pieces
        nonblocking = not wait or deadline is not None
        flags = _NO_SIGNAL | (socket.MSG_DONTWAIT if nonblocking else 0)
        counts: list[int] = []
        while pieces:
            extra = () if self._descriptor is None else (_rights(self._descriptor),)
            try:
                # Ctrl-C can arrive here. `extend` keeps the count even if the signal is handled just after the call.
                counts.extend(map(sock.sendmsg, (pieces[:_MAX_VECTORS],), (extra,), (flags,)))
            except BlockingIOError:
                if not wait or not _writable(sock, deadline):
                    return False
            finally:
                if counts:
                    self._written(counts.pop())
        return True

    def _written(self, count: int) -> None:
        pieces = self._pieces
        self._descriptor = None
        done = 0
        while done < len(pieces) and count >= len(pieces[done]):
            count -= len(pieces[done])
            done += 1
        del pieces[:done]
        if count:
            pieces[0] = memoryview(pieces[0])[count:]

    def copied(self) -> Frame:
        """Not changed by what the caller does next."""
        return Frame([bytes(piece) for piece in self._pieces], self._descriptor)


def _rights(descriptor: int) -> tuple[int, int, bytes]:
    return socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", (descriptor,)).tobytes()


def _writable(sock: socket.socket, deadline: float | None) -> bool:
    left = None if deadline is None else deadline - time.monotonic()
    if left is not None and left <= 0:
        return False
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    return bool(poll.poll(None if left is None else left * 1000 + 1))


def _nothing() -> None:
    pass


class Writer:
    """The writing side of a socket."""

    def __init__(self, sock: socket.socket, threads: Threads) -> None:
        self._socket = sock
        self._threads = threads
        self._turns = Turns()
        self._closing = threading.Lock()
        self._closed = False

    def write(self, frame: Frame, deadline: float | None, unsent: Callable[[], None] = _nothing) -> None:
        """Write a frame, after which its memory may change.

        Waits until the other side reads, if the buffers are full (not in threads that read). Raises OSError if the
        connection has ended, TooLate; `unsent` is called if nothing of the frame is or will be written.
        """
        wait = not is_reading()
        gate = self._turns.take()
        if gate is not None:
            if not wait:
                self.submit(self._finish, frame.copied(), gate)
                return
            try:
                came = gate.acquire(timeout=-1 if deadline is None else max(0.0, deadline - time.monotonic()))
            except BaseException:
                self._turns.give_up(gate)
                unsent()
                raise
            if not came:
                self._turns.give_up(gate)
                unsent()
                raise TooLate
        try:
            done = frame.write(self._socket, wait, deadline)
        except OSError:
            self._turns.end()
            raise
        except BaseException:  # Ctrl-C: the frame must be completed
            self.submit(self._finish, frame.copied(), None)
            raise
        if done:
            self._turns.end()
            return
        self.submit(self._finish, frame.copied(), None)
        if wait:
            raise TooLate

    def _finish(self, frame: Frame, gate: threading.Lock | None) -> None:
        """Write what another thread could not wait for."""
        if gate is not None:
            gate.acquire()
        try:
            frame.write(self._socket, True, None)
        finally:
            self._turns.end()

    def submit(self, write: Callable[..., None], *args: Any) -> None:
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
