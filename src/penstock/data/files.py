"""Datasets of the contents of files (TF: tf.data.TFRecordDataset, TextLineDataset, FixedLengthRecordDataset)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.data.core import DatasetBase
from penstock.data.dataset import Dataset
from penstock.data.structure import Structure
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.ops.array import reshape
from penstock.ops.datasets.files import FIXED_LENGTH_RECORD_DATASET_V2, TEXT_LINE_DATASET, TF_RECORD_DATASET
from penstock.tensor.dtypes import int64, string
from penstock.tensor.shapes import TensorShape

TEXT = Structure(string, TensorShape([]), Tensor)


class _RecordDataset(Dataset):
    """Records as scalar strings."""

    def __init__(
        self, filenames: Any, compression_type: Any, buffer_size: Any, num_parallel_reads: Any, **layout: Any
    ) -> None:
        super().__init__(TEXT)
        self._files: DatasetBase | None = None
        if num_parallel_reads is not None or isinstance(filenames, DatasetBase):
            read = partial(type(self), compression_type=compression_type, buffer_size=buffer_size, **layout)
            self._files = _interleaved(filenames, read, num_parallel_reads)
            return
        self._filenames = convert_to_tensor(filenames, string, name="filenames")
        self._compression = convert_to_tensor(
            "" if compression_type is None else compression_type, string, name="compression_type"
        )
        self._buffer_size = _number(buffer_size, "buffer_size", 262144)

    def _as_variant_tensor(self) -> Tensor:
        return self._records() if self._files is None else self._files._as_variant_tensor()

    def _records(self) -> Tensor:
        raise NotImplementedError


def _interleaved(filenames: Any, read: Callable[[Any], Dataset], num_parallel_reads: Any) -> DatasetBase:
    if not isinstance(filenames, DatasetBase):
        filenames = Dataset.from_tensor_slices(reshape(convert_to_tensor(filenames, string), [-1]))
    elif filenames.output_types != string:
        raise TypeError("`filenames` must be a `tf.data.Dataset` of `tf.string` elements.")
    names: Any = filenames
    return names.flat_map(read) if num_parallel_reads is None else names.interleave(read, num_parallel_reads)


@export("data.TFRecordDataset", "contrib.data.TFRecordDataset")
class TFRecordDataset(_RecordDataset):
    """The records of TFRecord files, one file after the other (TF: tf.data.TFRecordDataset).

    filenames: a string, a vector of strings, or a dataset of strings. compression_type: "", "ZLIB" or "GZIP".
    num_parallel_reads: this many files are read alternately, one record from each. A damaged record raises
    DataLossError, and the rest of its file is lost.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        super().__init__(filenames, compression_type, buffer_size, num_parallel_reads)

    def _records(self) -> Tensor:
        return TF_RECORD_DATASET(self._filenames, self._compression, self._buffer_size)


@export("data.TextLineDataset", "contrib.data.TextLineDataset")
class TextLineDataset(_RecordDataset):
    """The lines of text files, without their ends, one file after the other (TF: tf.data.TextLineDataset).

    Its arguments are those of `TFRecordDataset`.
    """

    def __init__(
        self, filenames: Any, compression_type: Any = None, buffer_size: Any = None, num_parallel_reads: Any = None
    ) -> None:
        super().__init__(filenames, compression_type, buffer_size, num_parallel_reads)

    def _records(self) -> Tensor:
        return TEXT_LINE_DATASET(self._filenames, self._compression, self._buffer_size)


@export("data.FixedLengthRecordDataset", "contrib.data.FixedLengthRecordDataset")
class FixedLengthRecordDataset(_RecordDataset):
    """Records of `record_bytes` each, between a header and a footer (TF: tf.data.FixedLengthRecordDataset)."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
    ) -> None:
        layout = {"record_bytes": record_bytes, "header_bytes": header_bytes, "footer_bytes": footer_bytes}
        super().__init__(filenames, compression_type, buffer_size, num_parallel_reads, **layout)
        self._header = _number(header_bytes, "header_bytes", 0)
        self._record = _number(record_bytes, "record_bytes", None)
        self._footer = _number(footer_bytes, "footer_bytes", 0)

    def _records(self) -> Tensor:
        return FIXED_LENGTH_RECORD_DATASET_V2(
            self._filenames, self._header, self._record, self._footer, self._buffer_size, self._compression
        )


def _number(value: Any, name: str, default: int | None) -> Tensor:
    return convert_to_tensor(default if value is None else value, int64, name=name)
