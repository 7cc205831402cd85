"""Where the values of a compiled step lie: buffers in one block of memory, which is planned when the step is written.

Each buffer is needed from the statement that writes it to the last one that reads it. Buffers that are not needed at
the same time share memory. Statements are numbered in the order of the text; what is read in a loop but written before
it is needed until the loop ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LINE = 64
"""Bytes of a cache line: where buffers begin."""


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory for one value: its C name, its size, and the first and the last statement that need it."""

    name: str
    nbytes: int
    first: int
    last: int
    offset: int = 0


_SPAN = 64
"""Statements that are looked up together."""


def assign_offsets(buffers: Iterable[Buffer], start: int = 0) -> int:
    """Give each buffer its `offset`, from `start` on; returns the bytes of the whole block.

    The largest first, each at the lowest place that is free as long as it is needed.
    """
    placed: dict[int, list[Buffer]] = {}
    end = start
    for buffer in sorted(buffers, key=lambda b: (-b.nbytes, b.first)):
        spans = range(buffer.first // _SPAN, buffer.last // _SPAN + 1)
        others = {other for span in spans for other in placed.get(span, ())}
        taken = sorted(
            (other.offset, other.offset + _rounded(other.nbytes))
            for other in others
            if other.first <= buffer.last and buffer.first <= other.last
        )
        offset = start
        for begin, stop in taken:
            if offset + _rounded(buffer.nbytes) <= begin:
                break
            offset = max(offset, stop)
        buffer.offset = offset
        for span in spans:
            placed.setdefault(span, []).append(buffer)
        end = max(end, offset + _rounded(buffer.nbytes))
    return end


def _rounded(size: int) -> int:
    return (size + LINE - 1) // LINE * LINE
