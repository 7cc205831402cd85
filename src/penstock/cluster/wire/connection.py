"""A connection: an authenticated socket on which messages are read by one thread at a time and written by any."""

from __future__ import annotations

import itertools
import socket
import time
from collections.abc import Callable, Sequence

from penstock.cluster.wire.frames import (
    DROPPED,
    PART_BYTES,
    RETURNED,
    Message,
    Reader,
    head,
    part_head,
    shared_head,
)
from penstock.cluster.wire.identity import WireOptions
from penstock.cluster.wire.shared import SHARED_BYTES, Borrower, Budget, Lender, Segment
from penstock.cluster.wire.threads import Threads
from penstock.cluster.wire.writing import Frame, Writer, is_reading

_EMPTY = memoryview(b"")


class Connection:
    """`free(connection, segment)` notes that `give_back` is due; it is called from anywhere."""

    def __init__(
        self,
        sock: socket.socket,
        threads: Threads,
        options: WireOptions,
        budget: Budget,
        free: Callable[[Connection, int], None],
    ) -> None:
        local = sock.family == socket.AF_UNIX
        self._borrower = Borrower(lambda number: free(self, number))
        self._lender = Lender(budget) if local and options.shared_bytes else None
        self._reader = Reader(sock, options.message_bytes, self._borrower)
        self._writer = Writer(sock, threads)
        self._streams = itertools.count(1)

    @property
    def heard(self) -> float:
        """When something came last (time.monotonic)."""
        return self._reader.heard

    def hear(self) -> None:
        """Count as heard: if nothing came, it was not the other side's fault."""
        self._reader.heard = time.monotonic()

    def read(self) -> Message:
        """The next message that concerns the peer. Raises EOFError or OSError at the connection's end."""
        while True:
            message = self._reader.next()
            if message.kind != RETURNED:
                return message
            if self._lender is not None:
                self._lender.returned(message.number)

    def write(
        self,
        kind: int,
        number: int = 0,
        method: bytes = b"",
        pickled: memoryview = _EMPTY,
        beside: Sequence[memoryview] = (),
        deadline: float | None = None,
    ) -> None:
        """Send a message (see `Writer.write`)."""
        if len(pickled) > PART_BYTES:
            beside = [*beside, pickled]
            pickled = _EMPTY
        size = sum(map(len, beside))
        if size >= SHARED_BYTES and self._lender is not None:
            segment = self._lender.lend(beside)
            if segment is not None:
                new = not segment.known
                frame = shared_head(kind, number, method, pickled, beside, segment.number, new)
                self._write_shared(Frame((frame,), segment.fd if new else None), segment, deadline)
                return
        if size <= PART_BYTES:
            frame = head(kind, number, method, pickled, beside, 0)
            self._writer.write(Frame((frame, *beside)), deadline)
            return
        stream = next(self._streams)
        frames = [Frame((head(kind, number, method, pickled, beside, stream),))]
        frames.extend(Frame((part_head(sum(map(len, part)), stream), *part)) for part in _parts(beside))
        if is_reading():
            self._writer.submit(self._write_parts, [frame.copied() for frame in frames], stream, None)
        else:
            self._write_parts(frames, stream, deadline)

    def _write_shared(self, frame: Frame, segment: Segment, deadline: float | None) -> None:
        lender, known = self._lender, segment.known
        assert lender is not None

        def unsent() -> None:
            segment.known = known
            lender.returned(segment.number)

        segment.known = True
        self._writer.write(frame, deadline, unsent)

    def _write_parts(self, frames: Sequence[Frame], stream: int, deadline: float | None) -> None:
        try:
            for frame in frames:
                self._writer.write(frame, deadline)
        except OSError:
            raise
        except BaseException:  # the deadline, or Ctrl-C: tell that no more parts come
            self._writer.submit(self._writer.write, Frame((part_head(0, stream),)), None)
            raise

    def give_back(self, segment: int) -> None:
        """Tell the lender that nothing uses its segment any more. Raises OSError if the connection has ended."""
        self.write(RETURNED, segment)

    def tidy(self) -> None:
        """End segments that were not used lately; from time to time. Raises OSError if the connection has ended."""
        if self._lender is not None:
            for number in self._lender.dropped():
                self.write(DROPPED, number)

    def end(self) -> None:
        """Wake whoever reads or writes: they see the end. Any thread, any number of times."""
        self._writer.end()

    def close(self) -> None:
        """After `end`, from the thread that read last."""
        self._writer.close()
        self._reader.close()
        self._borrower.close()
        if self._lender is not None:
            self._lender.close()

    def abandon(self) -> None:
        """In a forked process: the connection is the parent's."""
        self._writer.abandon()


def _parts(beside: Sequence[memoryview]) -> list[list[memoryview]]:
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
