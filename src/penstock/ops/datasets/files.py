"""Records of files: TFRecordDataset, TextLineDataset, FixedLengthRecordDataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State
from penstock.ops.datasets.blocks import Block
from penstock.ops.datasets.define import at_least, dataset_kernel, define_dataset, scalar
from penstock.ops.kernel_tools import invalid
from penstock.records import FixedLengthRecords, Position, RecordSource, TextLines, TFRecords
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import string
from penstock.tensor.shapes import TensorShape

_FILES = "filenames: string, compression_type: string, buffer_size: int64"
_LENGTHS = "filenames: string, header_bytes: int64, record_bytes: int64, footer_bytes: int64, buffer_size: int64"

TF_RECORD_DATASET = define_dataset("TFRecordDataset", _FILES, stateful=True, typed=False)
TEXT_LINE_DATASET = define_dataset("TextLineDataset", _FILES, stateful=True, typed=False)
FIXED_LENGTH_RECORD_DATASET = define_dataset("FixedLengthRecordDataset", _LENGTHS, stateful=True, typed=False)
FIXED_LENGTH_RECORD_DATASET_V2 = define_dataset(
    "FixedLengthRecordDatasetV2", f"{_LENGTHS}, compression_type: string", stateful=True, typed=False
)


class Records(DatasetState):
    """The records of files, one after another; `open_file` reads one."""

    def __init__(self, names: Sequence[str], open_file: Callable[[str], RecordSource]) -> None:
        super().__init__([string], [TensorShape([])])
        self.names, self.open_file = names, open_file

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _RecordsIterator(self.names, self.open_file)


class FilesIterator(ElementIterator):
    """Reads files one after another. After an error (a missing file, a damaged record), beyond which reading is
    impossible, it continues with the next file."""

    def __init__(self, names: Sequence[str], open_file: Callable[[str], RecordSource]) -> None:
        self._names, self._open_file = names, open_file
        self._number = 0
        self._file: RecordSource | None = None

    def _read(self, count: int) -> list[bytes]:
        """At least one and about `count` records; none at the end."""
        while self._number < len(self._names):
            try:
                if self._file is None:
                    self._file = self._open_file(self._names[self._number])
                records = self._file.read(count)
                if records:
                    return self._whole(records, self._file)
            except Exception:
                self._next_file()
                raise
            self._next_file()
        return []

    def _whole(self, records: list[bytes], file: RecordSource) -> list[bytes]:
        """What has just been read from `file`, with the rest of its last record where that goes on."""
        return records

    def _next_file(self) -> None:
        self.close()
        self._number += 1

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _save(self) -> State:
        return {"file": self._number, "position": None if self._file is None else list(self._file.position)}

    def _restore(self, state: State) -> None:
        self._number = state["file"]
        if state["position"] is not None:
            self._file = self._open_file(self._names[self._number])
            self._file.seek(Position(*state["position"]))


class _RecordsIterator(FilesIterator):
    def _many(self, count: int) -> Block | None:
        records = self._read(count)
        if not records:
            return None
        found = np.empty(len(records), object)
        found[:] = records
        return Block(len(records), (found,))


# --- kernels --------------------------------------------------------------------------------------------


def file_names(value: np.ndarray) -> list[str]:
    if value.ndim > 1:
        raise invalid("`filenames` must be a scalar or a vector.")
    return [name.decode("utf-8", "surrogateescape") for name in value.reshape(-1).tolist()]


def compression(value: np.ndarray) -> str:
    found: str = scalar("compression_type", value).decode("utf-8", "replace")
    if found not in ("", "GZIP", "ZLIB"):
        raise invalid(f"Unsupported compression_type: {found!r}")
    return found


@dataset_kernel(TF_RECORD_DATASET)
def tf_record_dataset(ctx: KernelContext) -> Any:
    def records(names: np.ndarray, kind: np.ndarray, buffer_size: Any) -> DatasetState:
        packed = compression(kind)
        at_least(0, "buffer_size", buffer_size, "`buffer_size` must be >= 0 (0 == no buffering)")
        return Records(file_names(names), lambda name: TFRecords(name, packed))

    return records


@dataset_kernel(TEXT_LINE_DATASET)
def text_line_dataset(ctx: KernelContext) -> Any:
    def lines(names: np.ndarray, kind: np.ndarray, buffer_size: Any) -> DatasetState:
        packed = compression(kind)
        at_least(0, "buffer_size", buffer_size, "`buffer_size` must be >= 0 (0 == default)")
        return Records(file_names(names), lambda name: TextLines(name, packed))

    return lines


@dataset_kernel(FIXED_LENGTH_RECORD_DATASET, FIXED_LENGTH_RECORD_DATASET_V2)
def fixed_length_record_dataset(ctx: KernelContext) -> Any:
    def records(
        names: np.ndarray, header: Any, length: Any, footer: Any, buffer_size: Any, kind: Any = None
    ) -> DatasetState:
        packed = "" if kind is None else compression(kind)
        before = at_least(0, "header_bytes", header, "`header_bytes` must be >= 0")
        size = at_least(1, "record_bytes", length, "`record_bytes` must be > 0")
        after = at_least(0, "footer_bytes", footer, "`footer_bytes` must be >= 0")
        at_least(0, "buffer_size", buffer_size, "`buffer_size` must be >= 0 (0 == no buffering)")
        return Records(
            file_names(names),
            lambda name: FixedLengthRecords(name, size, before, after, compression=packed, exact=True),
        )

    return records
