"""Writing TFRecord files, and tf.python_io, which reads and writes them without a graph."""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator
from typing import Any, Self

from penstock import errors
from penstock.checkpoint.storage import Path
from penstock.export import export
from penstock.records.streams import file_errors, open_file, window_bits
from penstock.records.tfrecord import FRAME, TFRecords, framed

_BUFFER = 1 << 18


@export("python_io.TFRecordCompressionType", "io.TFRecordCompressionType")
class TFRecordCompressionType:
    """How a TFRecord file is compressed (TF: tf.python_io.TFRecordCompressionType)."""

    NONE = 0
    ZLIB = 1
    GZIP = 2


_NAMES = {TFRecordCompressionType.NONE: "", TFRecordCompressionType.ZLIB: "ZLIB", TFRecordCompressionType.GZIP: "GZIP"}


@export("python_io.TFRecordOptions", "io.TFRecordOptions")
class TFRecordOptions:
    """How records are compressed, as a TFRecordCompressionType or its name (TF: tf.python_io.TFRecordOptions).

    `window_bits`, `compression_level`, `mem_level` and `compression_strategy` are zlib's; None uses zlib's defaults.
    `flush_mode`, the buffer sizes and `compression_method` are accepted for compatibility, without effect.
    """

    compression_type_map = _NAMES

    def __init__(
        self,
        compression_type: Any = None,
        flush_mode: int | None = None,
        input_buffer_size: int | None = None,
        output_buffer_size: int | None = None,
        window_bits: int | None = None,
        compression_level: int | None = None,
        compression_method: int | None = None,
        mem_level: int | None = None,
        compression_strategy: int | None = None,
    ) -> None:
        self.get_compression_type_string(compression_type)
        self.compression_type = compression_type
        self.flush_mode = flush_mode
        self.input_buffer_size = input_buffer_size
        self.output_buffer_size = output_buffer_size
        self.window_bits = window_bits
        self.compression_level = compression_level
        self.compression_method = compression_method
        self.mem_level = mem_level
        self.compression_strategy = compression_strategy

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """The compression as "", "GZIP" or "ZLIB", from options, a type, its name, or None."""
        kind = options.compression_type if isinstance(options, TFRecordOptions) else options
        name: Any = _NAMES.get(kind) if isinstance(kind, int) else (kind or "")
        if name not in _NAMES.values():
            raise ValueError(
                f"compression_type {kind!r} is none of {sorted(_NAMES.values())}, or TFRecordCompressionType's"
            )
        return name

    def _compressor(self) -> Any:
        bits = window_bits(self.get_compression_type_string(self))
        if not bits:
            return None
        if self.window_bits is not None:
            bits = bits - zlib.MAX_WBITS + self.window_bits
        level = zlib.Z_DEFAULT_COMPRESSION if self.compression_level is None else self.compression_level
        strategy = zlib.Z_DEFAULT_STRATEGY if self.compression_strategy is None else self.compression_strategy
        return zlib.compressobj(level, zlib.DEFLATED, bits, self.mem_level or zlib.DEF_MEM_LEVEL, strategy)


@export("python_io.TFRecordWriter", "io.TFRecordWriter")
class TFRecordWriter:
    """Writes records to a file (TF: tf.python_io.TFRecordWriter).

    Records are in the file after `flush`, `close`, or the end of a `with` statement.
    """

    def __init__(self, path: Path, options: Any = None) -> None:
        self._file: Any = None
        if not isinstance(options, TFRecordOptions):
            options = TFRecordOptions(TFRecordOptions.get_compression_type_string(options))
        self._path = os.fsdecode(path)
        self._compressor = options._compressor()
        self._pending: list[bytes] = []
        self._size = 0  # of what is pending
        self._file = open_file(path, "wb")

    def write(self, record: bytes | str) -> None:
        """Add a record; text in UTF-8."""
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, f"{self._path}: the writer has been closed")
        if not isinstance(record, bytes):
            record = record.encode() if isinstance(record, str) else bytes(memoryview(record))
        self._pending.append(record)
        self._size += len(record) + FRAME
        if self._size >= _BUFFER:
            self._write()

    def _write(self, flush: int | None = None) -> None:
        data = framed(self._pending)
        self._pending, self._size = [], 0
        if self._compressor is not None:
            data = self._compressor.compress(data)
            if flush is not None:
                data += self._compressor.flush(flush)
        view = memoryview(data)
        with file_errors(self._path):
            while view:
                view = view[self._file.write(view) :]

    def flush(self) -> None:
        """Write all records to the file."""
        if self._file is None:
            raise errors.FailedPreconditionError(None, None, f"{self._path}: the writer has been closed")
        self._write(zlib.Z_SYNC_FLUSH)
        with file_errors(self._path):
            self._file.flush()

    def close(self) -> None:
        """Finish and close the file. Further calls do nothing."""
        if self._file is not None:
            try:
                self._write(zlib.Z_FINISH)
            finally:
                file, self._file = self._file, None
                with file_errors(self._path):
                    file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __del__(self, suppress: Any = contextlib.suppress) -> None:  # when Python ends, modules may be gone
        with suppress(Exception):  # it could not be caught here; `close` raises it
            self.close()


@export("python_io.tf_record_iterator", "io.tf_record_iterator")
def tf_record_iterator(path: Path, options: Any = None) -> Iterator[bytes]:
    """The records of a file (TF: tf.python_io.tf_record_iterator).

    Raises DataLossError for one that is truncated or corrupt, after returning the records before it.
    """
    with TFRecords(path, TFRecordOptions.get_compression_type_string(options)) as records:
        yield from records
