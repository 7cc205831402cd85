"""Values of programs that do not report any: from their event files and their output, while these are written."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from google.protobuf.message import DecodeError
from tensorboard.compat.proto import event_pb2, types_pb2

from penstock import errors
from penstock.records.tfrecord import FRAME, HEADER
from penstock.tensor.dtypes import as_dtype

_LARGEST = 1 << 24
"""Longer records are no scalars."""


class Follower(Protocol):
    def read(self, ended: bool) -> list[tuple[int, float]]:
        """Steps and values that have appeared since the last call. ended: nothing more is written.

        Raises InvalidArgumentError if it is not clear which values are meant.
        """

    def missing(self) -> str:
        """Why there were no values."""


class EventScalars:
    """A scalar in the event files below a folder, by the last parts of the path that TensorBoard shows: its file's
    folder, then its tag."""

    def __init__(self, folder: Path, metric: str) -> None:
        self._folder, self._metric = folder, metric.strip("/")
        self._offsets: dict[Path, int] = {}
        self._seen: set[str] = set()

    def read(self, ended: bool) -> list[tuple[int, float]]:
        found = []
        for path in sorted(self._folder.rglob("*tfevents*")):
            found += self._read(path)
        wanted = sorted(filter(self._is_meant, self._seen))
        if len(wanted) > 1:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Which {self._metric!r} is meant? There are {', '.join(wanted)}.",
            )
        return found

    def missing(self) -> str:
        known = f"but there are {', '.join(sorted(self._seen))}" if self._seen else "nor any other"
        return f"no scalar {self._metric!r} is in event files below {self._folder}, {known}"

    def _is_meant(self, path: str) -> bool:
        return f"/{path}".endswith(f"/{self._metric}")

    def _read(self, path: Path) -> list[tuple[int, float]]:
        found = []
        at = self._offsets.get(path, 0)
        inside = path.parent.relative_to(self._folder)
        with path.open("rb") as file:
            size = file.seek(0, 2)
            while at + FRAME <= size:
                file.seek(at)
                (length,) = struct.unpack_from("<Q", file.read(HEADER))
                if at + FRAME + length > size:
                    break  # the rest is not written yet
                if length <= _LARGEST:
                    found += self._scalars(inside, file.read(length))
                at += FRAME + length
        self._offsets[path] = at
        return found

    def _scalars(self, inside: Path, record: bytes) -> list[tuple[int, float]]:
        try:
            event = event_pb2.Event.FromString(record)
        except DecodeError:
            return []
        found = []
        for value in event.summary.value:
            scalar = _scalar(value)
            if scalar is not None:
                name = (inside / value.tag).as_posix()
                self._seen.add(name)
                if self._is_meant(name):
                    found.append((int(event.step), scalar))
        return found


def _scalar(value: Any) -> float | None:
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return float(value.simple_value)
    if kind != "tensor" or value.tensor.tensor_shape.dim or value.tensor.dtype == types_pb2.DT_STRING:
        return None
    tensor = value.tensor
    if tensor.tensor_content:
        return float(np.frombuffer(tensor.tensor_content, as_dtype(tensor.dtype).as_numpy_dtype)[0])
    numbers = [*tensor.float_val, *tensor.double_val, *tensor.int_val, *tensor.int64_val]
    return float(numbers[0]) if numbers else None


class Output:
    """Numbers in the lines that a program prints: the group of a pattern, or all of it. A group called step is the
    step; without one, the values are counted."""

    def __init__(self, log: Path, pattern: str) -> None:
        """Raises InvalidArgumentError for what is not a pattern."""
        try:
            self._pattern = re.compile(pattern)
        except re.error as error:
            raise errors.InvalidArgumentError(None, None, f"{pattern!r} is not a pattern: {error}.") from None
        others = [number for number in range(1, self._pattern.groups + 1) if number != self._step_group]
        self._group = self._pattern.groupindex.get("value", others[0] if others else 0)
        self._log, self._offset, self._count, self._rest = log, 0, 0, b""

    @property
    def _step_group(self) -> int | None:
        return self._pattern.groupindex.get("step")

    def read(self, ended: bool) -> list[tuple[int, float]]:
        with self._log.open("rb") as file:
            file.seek(self._offset)
            data = file.read()
        self._offset += len(data)
        *lines, self._rest = re.split(rb"[\r\n]", self._rest + data)  # bars end their lines with \r
        if ended:
            lines.append(self._rest)
        return [self._value(match) for line in lines for match in self._pattern.finditer(line.decode(errors="replace"))]

    def missing(self) -> str:
        return f"it printed nothing that matches {self._pattern.pattern!r}"

    def _value(self, match: re.Match[str]) -> tuple[int, float]:
        self._count += 1
        step = self._count if self._step_group is None else int(float(match[self._step_group]))
        try:
            return step, float(match[self._group])
        except (TypeError, ValueError):
            raise errors.InvalidArgumentError(
                None, None, f"{self._pattern.pattern!r} found {match[self._group]!r}, which is not a number."
            ) from None
