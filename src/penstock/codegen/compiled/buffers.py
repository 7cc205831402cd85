"""Memory planning for C functions: each value has a buffer in one block of memory.

The live range of a buffer is from the statement that writes it to the last one that reads it. Buffers whose live ranges
do not overlap share memory. Statements are numbered in the order of the text. A buffer that is written before a loop
and read in it is live until the loop ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

LINE = 64
"""Bytes of a cache line; buffers start on one."""


@dataclass(eq=False, slots=True)
class Buffer:
    """Memory for one value: its C name, its size, and the first and last statement of its live range."""

    name: str
    nbytes: int
    first: int
    last: int
    offset: int = 0


_SPAN = 64
"""Statements that are indexed together."""


def assign_offsets(buffers: Iterable[Buffer], start: int = 0) -> int:
    """Sets the `offset` of each buffer, at least `start`; returns the size of the whole block in bytes.

    Buffers are placed in order of size, the largest first, each at the lowest offset that is free in its live range.
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
