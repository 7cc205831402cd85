"""The features of a batch of Examples, found in all records at once.

The records are concatenated, and each has a cursor. A turn takes the entry at the cursor of the first unfinished
record, and compares the bytes there with those at the other cursors: all records with the same key and a known layout
advance. So typical data, with the same features in about the same order, takes as many turns, in NumPy, as a record has
features. Records that would need separate turns are left to `read_example` and protobuf.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from penstock.ops.parsing_wire import ABSENT, SHORT, Entry, joined, layouts, read_entry

_FEW = 8
"""The number of records that can be read one by one in the time of a turn."""
_PATIENCE = 6
"""The number of turns that may advance only a few records."""
_BEHIND = 512
"""Zero bytes after the records: a header at the end can be read whole."""


class Places(NamedTuple):
    """The spans of one key in each record (see `Span`); records without it have kind NOTHING."""

    kind: np.ndarray
    whole: np.ndarray
    start: np.ndarray
    size: np.ndarray

    @staticmethod
    def of(count: int) -> Places:
        none = [np.zeros(count, dtype) for dtype in (np.uint8, np.bool_, np.int64, np.int64)]
        return Places(*none)


Rows = np.ndarray | slice


class Walk:
    """`places` has the found ones among the `wanted` keys; `odd` are the records that could not be parsed."""

    def __init__(self, records: list[bytes], wanted: frozenset[bytes]) -> None:
        self.places: dict[bytes, Places] = {}
        self.odd: list[int] = []
        self._wanted, self._count = wanted, len(records)
        sizes = np.fromiter(map(len, records), np.int64, len(records))
        self.data = b"".join([*records, bytes(_BEHIND)])
        self._words = np.ndarray((len(self.data) - 3,), "<u4", self.data, strides=(1,))  # the four bytes from there on
        self._stop = np.cumsum(sizes)
        self._at = self._stop - sizes
        self._enter(sizes)
        self._walk()

    def _enter(self, sizes: np.ndarray) -> None:
        """Advances to the first entry of each record, behind a tag and the total length."""
        width = _width(int(sizes.min()))
        if width < 4 and width == _width(int(sizes.max())):
            wanted = 0x0A | _varint(sizes - 1 - width, width) << 8
            good = (self._words[self._at] & (1 << 8 * (width + 1)) - 1) == wanted
            self._at += 1 + width
        else:
            tags = self._words[self._at] & 0xFF
            length, widths = _varints(self._words[self._at + 1])
            some = sizes > 0
            good = ~some | (tags == 0x0A) & (length == sizes - 1 - widths)
            self._at += (1 + widths) * some
        if np.count_nonzero(good) < self._count:
            self._give_up(np.flatnonzero(~good))

    def _walk(self) -> None:
        few = 0
        while True:
            before = self._at < self._stop
            left = np.count_nonzero(before)
            if not left:
                break
            rows: Rows = slice(None) if left == self._count else np.flatnonzero(before)
            first = int(before.argmax())
            entry = read_entry(self.data, int(self._at[first]))
            moved = 0 if entry is None else self._turn(rows, entry)
            if not moved:
                self._give_up(np.array([first]))
            if moved < _FEW:
                few += 1
                if few > _PATIENCE:
                    self._give_up(np.flatnonzero(self._at < self._stop))
        self._give_up(np.flatnonzero(self._at > self._stop))

    def _give_up(self, rows: np.ndarray) -> None:
        if rows.size:
            self.odd += rows.tolist()
            self._at[rows] = self._stop[rows]

    def _window(self, at: np.ndarray, width: int) -> np.ndarray:
        """The bytes from there on."""
        return np.ndarray((len(self.data) - width + 1,), f"V{width}", self.data, strides=(1,))[at]

    def _alike(self, at: np.ndarray, width: int) -> np.ndarray:
        """Where `width` bytes are the same as at the first place."""
        count = -(-width // 8)
        windows = self._window(at, 8 * count).view(np.uint64).reshape(-1, count)
        cover = np.frombuffer((b"\xff" * width).ljust(8 * count, b"\0"), np.uint64)
        return ~_any((windows ^ windows[0]) & cover)

    def _turn(self, rows: Rows, entry: Entry) -> int:
        """Advances the records that are at an entry like the first one's; returns their number."""
        at, width = self._at[rows], entry.header
        headers = self._window(at, width).tobytes()
        if headers == headers[:width] * len(at):
            self._move(rows, entry.key, entry.kind, entry.whole, at + width, entry.size)
            return len(at)
        same = self._alike(at, width)
        alike = np.count_nonzero(same)
        if 4 * alike >= len(at):
            self._move(
                np.arange(self._count)[rows][same], entry.key, entry.kind, entry.whole, at[same] + width, entry.size
            )
            return int(alike)
        known = layouts(entry.key, entry.kind)
        lengths, size_bytes = _varints(self._words[at + 1])
        which = known.entry.searchsorted(lengths, "right") - 1
        chosen = int(which[0])
        layout = known.of([chosen] if np.count_nonzero(which == chosen) == len(which) else which)
        width = known.mask.shape[1]
        windows = self._window(at, 8 * width).view(np.uint64).reshape(-1, width)
        stop, start = at + 1 + size_bytes + lengths, at + layout.header
        if lengths.max() < SHORT:
            wanted = layout.least + (lengths - layout.entry).astype(np.uint64)[:, None] * layout.step
            if not _any((windows ^ wanted) & layout.cover).any():
                self._move(rows, entry.key, layout.kind, layout.whole, start, stop - start)
                return len(at)
        differ = windows ^ layout.fixed
        parts = joined(self._words[at[:, None] + layout.places] & layout.masks)
        unequal = (parts != lengths[:, None] - layout.less) & (layout.less != ABSENT)
        good = ~(_any(differ & layout.mask) | _any(unequal))
        if good.all():
            self._move(rows, entry.key, layout.kind, layout.whole, start, stop - start)
            return len(at)
        if len(layout.header) == 1:
            layout = known.of(which)
        rows = np.arange(self._count)[rows]
        self._move(rows[good], entry.key, layout.kind[good], layout.whole[good], start[good], (stop - start)[good])
        lists = ~(good | _any(differ & layout.list_mask) | _any(unequal[:, :2])) & (layout.less[:, 2] != ABSENT)
        start = (at + layout.list_header)[lists]  # of lists that are not one packed field
        self._move(rows[lists], entry.key, entry.kind, True, start, stop[lists] - start)
        return int(np.count_nonzero(good | lists))

    def _move(self, rows: Rows, key: bytes, kind: Any, whole: Any, start: np.ndarray, size: Any) -> None:
        """Advances past the values, which are at `start`, and stores their positions."""
        self._at[rows] = start + size
        if key not in self._wanted:
            return
        if isinstance(rows, slice):
            self.places[key] = Places(*(np.full(self._count, value) for value in (kind, whole, start, size)))
            return
        if key not in self.places:
            self.places[key] = Places.of(self._count)
        places = self.places[key]
        places.kind[rows], places.whole[rows], places.start[rows], places.size[rows] = kind, whole, start, size


def _any(table: np.ndarray) -> np.ndarray:
    """Which rows of a table with few columns are not all zeros."""
    return reduce(np.bitwise_or, table.T) != 0


def _width(size: int) -> int:
    """How many bytes the length at the start of a record of this size takes; 4 also for 0 and longer ones."""
    return next((width for width in (1, 2, 3) if 1 < size <= width + (1 << 7 * width)), 4)


def _varint(numbers: np.ndarray, width: int) -> np.ndarray:
    """The numbers as they are written in so many bytes, at most three."""
    found = numbers & 0x7F
    for i in range(1, width):
        found |= 0x80 << 8 * (i - 1) | (numbers >> 7 * i & 0x7F) << 8 * i
    return found


def _varints(words: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The number at the start of each four bytes, and its length in bytes; -1 for a longer one."""
    if not (words & 0x80).any():
        return (words & 0x7F).astype(np.int64), np.ones(len(words), np.int64)
    stops = ~words & 0x80808080
    last = stops & (~stops + 1)  # the bit that marks the last byte
    width = 1 + _LAST_BITS.searchsorted(last)
    return np.where(last, joined(words & (last - 1)), -1), width


_LAST_BITS = np.array([0x80, 0x8000, 0x800000], np.uint32)
