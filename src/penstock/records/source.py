"""What all record files share: they are read in blocks, and any number of records is returned at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import NamedTuple, Self

from penstock import errors
from penstock.records.streams import ByteStream


class Position(NamedTuple):
    """A position between two records, in numbers that can be saved: `RecordSource.seek` returns to it."""

    offset: int
    """The offset of a block in the stream of bytes..."""
    skipped: int
    """... the number of its records before the position..."""
    number: int
    """... and the number of the file's."""


class RecordSource(ABC):
    """The records of one file, in order. Closed by `close`, `with`, or when it is garbage-collected.

    A damaged record raises DataLossError if its turn comes, after the records before it, and each further read raises
    it again. Not for several threads at once.
    """

    def __init__(self, stream: ByteStream) -> None:
        self._stream = stream
        self.path = stream.path
        self._block: list[bytes] = []
        self._taken = 0  # of the block
        self._begin = self._end = 0  # the block's offset in the stream
        self._rest = b""  # bytes after the block that have been read: the beginning of a record
        self._error: errors.OpError | None = None  # the offset after the block
        self.number = 0
        """The number of records that have been read."""

    @abstractmethod
    def _parse(self) -> tuple[list[bytes], int]:
        """The next records, at least one unless the file has ended, and the number of bytes that they take in the
        stream.

        It continues reading after `_rest`, and leaves the remainder there. An error in a record that comes after others
        is stored in `_error`.
        """

    def _refill(self) -> bool:
        """Parse the next block; returns whether there is one."""
        if self._error is not None:
            raise self._error
        self._begin, self._block, self._taken = self._end, [], 0
        try:
            self._block, size = self._parse()
            self._end = self._begin + size
        except errors.OpError as error:
            self._error = error
            raise
        return bool(self._block)

    def read(self, count: int) -> list[bytes]:
        """The next `count` records, or those that are left before the end or an error; none at the end."""
        found: list[bytes] = []
        while len(found) < count:
            if self._taken == len(self._block):
                try:
                    if not self._refill():
                        break
                except errors.OpError:
                    if not found:
                        raise
                    break
            some = self._block[self._taken : self._taken + count - len(found)]
            self._taken += len(some)
            found += some
        self.number += len(found)
        return found

    def read_block(self) -> list[bytes]:
        """Records that were read together (a few hundred kilobytes); none at the end."""
        if self._taken == len(self._block) and not self._refill():
            return []
        some = self._block[self._taken :] if self._taken else self._block
        self._taken = len(self._block)
        self.number += len(some)
        return some

    def __iter__(self) -> Iterator[bytes]:
        while block := self.read_block():
            yield from block

    @property
    def position(self) -> Position:
        """Before the next record."""
        return Position(self._begin, self._taken, self.number)

    def seek(self, position: Position) -> None:
        """Continue at a `position` of this source or of another for the same file."""
        self._stream.seek(position.offset)
        self._block, self._taken, self._rest, self._error = [], 0, b"", None
        self._begin = self._end = position.offset
        left = position.skipped
        while left:  # in blocks that may be shorter than before
            if not self._refill():
                raise errors.DataLossError(None, None, f"{self.path} ends before record {position.number}")
            self._taken = min(len(self._block), left)
            left -= self._taken
        self.number = position.number

    @property
    def failed(self) -> bool:
        """Whether an error comes next."""
        return self._error is not None

    def close(self) -> None:
        self._stream.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
