"""Messages as frames on a stream: a header, the lengths of what goes beside the pickle, the method's name, the pickle,
and then the memory itself. A large pickle is the last piece of that memory.

If the memory is large, it follows in frames of its own (`PART`), between which other messages go, so that a large value
holds up nobody for long. Between processes of one host it is in shared memory instead (`shared.py`).
"""

from __future__ import annotations

import array
import os
import socket
import struct
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.cluster.wire.shared import Borrower
from penstock.cluster.wire.values import fresh_memory

CALL, TELL, REPLY, FAILURE, PING, PONG, PART, RETURNED, DROPPED = range(1, 10)
_KINDS = frozenset(range(1, 10))

_HEADER = struct.Struct("<BBHIQQQ")
"""kind, flags, size of the method's name, how many pieces of memory, number of the call, size of the pickle, stream"""
_IN_PARTS, _SHARED, _NEW = 1, 2, 4
"""The memory follows in parts of that stream; it is in the segment of that number; whose descriptor came with it."""

PART_BYTES = 1 << 18
"""A few of these are under way at a time: it takes some 100 us to write one."""

_BUFFER_BYTES = 1 << 16
_MAX_PIECES = 1 << 20
_CLOSE_ON_EXEC = getattr(socket, "MSG_CMSG_CLOEXEC", 0)  # not everywhere
_DESCRIPTORS = socket.CMSG_SPACE(8 * array.array("i").itemsize)


class FrameError(Exception):
    """What came is not what this module writes."""


@dataclass(slots=True)
class Message:
    """A message as it came: `memory` owns what goes beside the pickle `pickled`, which lasts until the next is read."""

    kind: int
    number: int
    method: str = ""
    pickled: memoryview | bytes = b""
    memory: list[Any] = field(default_factory=list)
    lacks: int = 0
    """So many bytes came for which there was no memory: they were dropped, and the pieces of `memory` are None. A
    pickle that was among them is empty."""

    def keep(self) -> None:
        """Outlive the next message."""
        if isinstance(self.pickled, memoryview):
            self.pickled = bytes(self.pickled)

    def clear(self) -> None:
        """Keep no memory alive: it is decoded."""
        self.pickled, self.memory = b"", []

    def complete(self) -> Message:
        """All memory is there."""
        if not self.pickled and self.memory:
            pickled = self.memory.pop()
            self.pickled = b"" if pickled is None else pickled
        return self


def head(
    kind: int, number: int, method: bytes, pickled: memoryview, beside: Sequence[memoryview], stream: int
) -> bytes:
    """What comes before the memory; with a `stream` (not 0), the memory follows in parts of that number."""
    parts = _IN_PARTS if stream else 0
    header = _HEADER.pack(kind, parts, len(method), len(beside), number, len(pickled), stream)
    if beside:
        lengths = struct.pack(f"<{len(beside)}Q", *[view.nbytes for view in beside])
        return b"".join((header, lengths, method, pickled))
    return b"".join((header, method, pickled))


def shared_head(
    kind: int,
    number: int,
    method: bytes,
    pickled: memoryview,
    beside: Sequence[memoryview],
    segment: int,
    new: bool,
) -> bytes:
    """The whole message, whose memory is in a segment; if that is `new`, its descriptor must go with it."""
    flags = _SHARED | (_NEW if new else 0)
    header = _HEADER.pack(kind, flags, len(method), len(beside), number, len(pickled), segment)
    return b"".join((header, struct.pack(f"<{len(beside)}Q", *[view.nbytes for view in beside]), method, pickled))


def part_head(size: int, stream: int) -> bytes:
    return _HEADER.pack(PART, 0, 0, 0, 0, size, stream)


@dataclass(slots=True)
class _Coming:
    """A message whose parts are on their way."""

    message: Message
    left: int
    piece: int = 0  # of `message.memory`, the one that is filled now
    at: int = 0  # so much of it is filled


class Reader:
    """Reads messages from a socket. The memory of values is filled by the kernel, without a copy in between."""

    def __init__(self, sock: socket.socket, limit: int, borrower: Borrower) -> None:
        self._socket = sock
        self._limit = limit
        self._borrower = borrower
        self._with_descriptors = sock.family == socket.AF_UNIX
        self._descriptors: list[int] = []
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._start = self._end = 0  # what of the buffer has been received and not read yet
        self._coming: dict[int, _Coming] = {}
        self.heard = time.monotonic()
        """When something came last."""

    def next(self) -> Message:
        """Wait for a message. Raises EOFError at the end of the stream, FrameError, OSError."""
        while True:
            header = self._take(_HEADER.size)
            kind, flags, method_size, pieces, number, size, stream = _HEADER.unpack(header)
            if kind not in _KINDS or pieces > _MAX_PIECES or size > self._limit:
                raise FrameError(f"a header with kind {kind}, {pieces} pieces of memory and {size} bytes")
            if kind == PART:
                message = self._read_part(size, stream)
                if message is not None:
                    return message
                continue
            lengths = struct.unpack(f"<{pieces}Q", self._take(8 * pieces)) if pieces else ()
            if sum(lengths) > self._limit or 0 in lengths:
                raise FrameError(f"memory of {sum(lengths)} bytes beside a message")
            method = str(self._take(method_size), "utf-8") if method_size else ""
            pickled = self._take(size)
            if flags & _SHARED:
                if flags & _NEW:
                    self._borrower.add(stream, self._descriptors.pop(0))
                return Message(kind, number, method, pickled, self._borrower.borrow(stream, lengths)).complete()
            if kind == DROPPED:
                self._borrower.drop(number)
                continue
            message = Message(kind, number, method, pickled, [])
            try:
                message.memory = [fresh_memory(length) for length in lengths]
            except (MemoryError, RuntimeError):
                message.lacks, message.memory = sum(lengths), [None] * len(lengths)
            if flags & _IN_PARTS or message.lacks:
                message.keep()
            if flags & _IN_PARTS:
                if stream in self._coming or not lengths:
                    raise FrameError("two messages with the same number of parts")
                self._coming[stream] = _Coming(message, sum(lengths))
                continue
            self._discard(message.lacks)
            for memory in message.memory if not message.lacks else ():
                self._read_into(memoryview(memory))
            return message.complete()

    def _read_part(self, size: int, stream: int) -> Message | None:
        """The message, if this was its last part. An empty part says that no more will come."""
        if not size:
            self._coming.pop(stream, None)
            return None
        coming = self._coming.get(stream)
        if coming is None or size > coming.left:
            raise FrameError("a part of no message")
        coming.left -= size
        if coming.message.lacks:
            self._discard(size)
            size = 0
        while size:
            memory = coming.message.memory[coming.piece]
            count = min(size, memory.nbytes - coming.at)
            self._read_into(memoryview(memory)[coming.at : coming.at + count])
            size -= count
            coming.at += count
            if coming.at == memory.nbytes:
                coming.piece, coming.at = coming.piece + 1, 0
        if coming.left:
            return None
        del self._coming[stream]
        return coming.message.complete()

    def _take(self, size: int) -> memoryview:
        """The next bytes: a view that lasts until the next are taken, of the buffer if they fit in there."""
        if size > len(self._buffer):
            view = memoryview(bytearray(size))
            self._read_into(view)
            return view
        if self._end - self._start < size:
            if self._start + size > len(self._buffer):
                left = bytes(self._buffer[self._start : self._end])
                self._buffer[: len(left)] = left
                self._start, self._end = 0, len(left)
            elif self._start == self._end:
                self._start = self._end = 0
            while (missing := size - (self._end - self._start)) > 0:
                # Between the parts of a message no more than a header is read ahead: the rest would be copied twice.
                self._fill(missing if self._coming else _BUFFER_BYTES)
        view = self._buffer[self._start : self._start + size]
        self._start += size
        return view

    def _read_into(self, target: memoryview) -> None:
        have = min(self._end - self._start, len(target))
        target[:have] = self._buffer[self._start : self._start + have]
        self._start += have
        while have < len(target):
            have += self._receive(target[have:])

    def _discard(self, size: int) -> None:
        while size:
            size -= len(self._take(min(size, len(self._buffer))))

    def _fill(self, most: int) -> None:
        """Receive into the buffer, and the descriptors that come along: always with the start of a message."""
        target = self._buffer[self._end : self._end + most]
        if not self._with_descriptors:
            self._end += self._receive(target)
            return
        count, extra, _, _ = self._socket.recvmsg_into((target,), _DESCRIPTORS, _CLOSE_ON_EXEC)
        for level, kind, data in extra:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self._descriptors.extend(array.array("i", data[: len(data) // 4 * 4]))
        if not count:
            raise EOFError("it closed the connection")
        self.heard = time.monotonic()
        self._end += count

    def close(self) -> None:
        """Close descriptors of a message that did not come whole."""
        while self._descriptors:
            os.close(self._descriptors.pop())

    def _receive(self, target: memoryview) -> int:
        count = self._socket.recv_into(target)
        if not count:
            raise EOFError("it closed the connection")
        self.heard = time.monotonic()
        return count
