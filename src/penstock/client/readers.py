"""Readers in a graph (TF: tf.ReaderBase, tf.TFRecordReader, tf.TextLineReader, …)."""

from __future__ import annotations

from typing import Any

from penstock.client.queues import QueueBase
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import reshape
from penstock.ops.io import readers
from penstock.ops.io.record_input import RECORD_INPUT
from penstock.ops.joining import split
from penstock.records.writer import TFRecordOptions
from penstock.tensor.dtypes import int64, string


@export("ReaderBase")
class ReaderBase:
    """Returns the records of files, one file after another, taking file names from a queue (TF: tf.ReaderBase)."""

    def __init__(self, reader_ref: Tensor, supports_serialize: bool = True) -> None:
        self._reader_ref = reader_ref
        self._supports_serialize = supports_serialize

    @property
    def reader_ref(self) -> Tensor:
        return self._reader_ref

    @property
    def supports_serialize(self) -> bool:
        """Whether `serialize_state` can be used: always in Penstock."""
        return self._supports_serialize

    def read(self, queue: Any, name: str | None = None) -> Any:
        """(key, value): the next record, scalar strings, and where it comes from.

        Waits for a file name if the queue is empty; raises OutOfRangeError if it is also closed.
        """
        return readers.READER_READ(self._reader_ref, _ref(queue), name=name)

    def read_up_to(self, queue: Any, num_records: Any, name: str | None = None) -> Any:
        """(keys, values): up to `num_records` records of one file, at least one unless that is 0: [n] strings."""
        count = convert_to_tensor(num_records, int64)
        return readers.READER_READ_UP_TO(self._reader_ref, _ref(queue), count, name=name)

    def num_records_produced(self, name: str | None = None) -> Tensor:
        return readers.READER_NUM_RECORDS_PRODUCED(self._reader_ref, name=name)

    def num_work_units_completed(self, name: str | None = None) -> Tensor:
        """The number of files that have been read to the end."""
        return readers.READER_NUM_WORK_UNITS_COMPLETED(self._reader_ref, name=name)

    def serialize_state(self, name: str | None = None) -> Tensor:
        """A string from which `restore_state` continues at the next record, in this program or another."""
        return readers.READER_SERIALIZE_STATE(self._reader_ref, name=name)

    def restore_state(self, state: Any, name: str | None = None) -> Operation:
        """Continue where a reader of this kind stopped. Raises InvalidArgumentError for anything but a string from
        `serialize_state`."""
        return readers.READER_RESTORE_STATE(self._reader_ref, convert_to_tensor(state, string), name=name)

    def reset(self, name: str | None = None) -> Operation:
        """Start over with the next file name."""
        return readers.READER_RESET(self._reader_ref, name=name)


def _ref(queue: Any) -> Tensor:
    return queue.queue_ref if isinstance(queue, QueueBase) else queue


@export("TFRecordReader")
class TFRecordReader(ReaderBase):
    """The records of TFRecord files; keys are "file:offset" (TF: tf.TFRecordReader)."""

    def __init__(self, name: str | None = None, options: Any = None) -> None:
        compression = TFRecordOptions.get_compression_type_string(options)
        super().__init__(readers.TF_RECORD_READER(compression_type=compression, name=name))


@export("TextLineReader")
class TextLineReader(ReaderBase):
    """The lines of text files, without their ends; keys are "file:line" (TF: tf.TextLineReader)."""

    def __init__(self, skip_header_lines: int | None = None, name: str | None = None) -> None:
        super().__init__(readers.TEXT_LINE_READER(skip_header_lines=skip_header_lines or 0, name=name))


@export("FixedLengthRecordReader")
class FixedLengthRecordReader(ReaderBase):
    """Records of the same length, `hop_bytes` apart if that is not 0, between the header and the footer of each file.

    Keys are "file:record". Bytes after the last complete record are ignored. `encoding`: "", "GZIP" or "ZLIB". TF:
    tf.FixedLengthRecordReader.
    """

    def __init__(
        self,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        hop_bytes: int | None = None,
        name: str | None = None,
        encoding: str | None = None,
    ) -> None:
        reader = readers.FIXED_LENGTH_RECORD_READER(
            record_bytes=record_bytes,
            header_bytes=header_bytes or 0,
            footer_bytes=footer_bytes or 0,
            hop_bytes=hop_bytes or 0,
            encoding=encoding or "",
            name=name,
        )
        super().__init__(reader)


@export("WholeFileReader")
class WholeFileReader(ReaderBase):
    """Whole files; keys are their names (TF: tf.WholeFileReader)."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(readers.WHOLE_FILE_READER(name=name))


@export("IdentityReader")
class IdentityReader(ReaderBase):
    """The items of the queue, as keys and values (TF: tf.IdentityReader)."""

    def __init__(self, name: str | None = None) -> None:
        super().__init__(readers.IDENTITY_READER(name=name))


@export("contrib.framework.RecordInput")
class RecordInput:
    """Batches of the records of all files that match a pattern, shuffled, forever (TF: RecordInput of data_flow_ops).

    `buffer_size`: the records among which the next one is drawn; `parallelism`: the number of files that are read
    alternately; shift_ratio: the fraction of the files by which each epoch starts later than the previous one;
    `batches`: the number of lists that a batch is divided into, None for a tensor.
    """

    def __init__(
        self,
        file_pattern: str,
        batch_size: int = 1,
        buffer_size: int = 1,
        parallelism: int = 1,
        shift_ratio: float = 0,
        seed: int = 0,
        name: str | None = None,
        batches: int | None = None,
        compression_type: Any = None,
    ) -> None:
        self._batch_size = batch_size * (batches or 1)
        self._batches, self._name = batches, name
        self._attrs = {
            "file_pattern": file_pattern,
            "file_buffer_size": buffer_size,
            "file_parallelism": parallelism,
            "file_shuffle_shift_ratio": shift_ratio,
            "file_random_seed": seed,
            "compression_type": TFRecordOptions.get_compression_type_string(compression_type),
        }

    def get_yield_op(self) -> Any:
        """The next batch, [batch_size] strings; with `batches` a list of that many lists of scalars."""
        records = RECORD_INPUT(batch_size=self._batch_size, name=self._name, **self._attrs)
        if self._batches is None:
            return records
        with name_scope(self._name):
            groups: list[list[Tensor]] = [[] for _ in range(self._batches)]
            for i, record in enumerate(split(records, self._batch_size)):
                groups[i % self._batches].append(reshape(record, []))
            return groups
