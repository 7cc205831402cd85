"""The files of a checkpoint that has an index: Penstock's own format, and TensorFlow's tensor bundles."""

from __future__ import annotations

from collections.abc import Mapping

from penstock import errors
from penstock.checkpoint.bundle import is_bundle, parse_bundle
from penstock.checkpoint.index import Entry, Index, Piece, crc_text, parse_index
from penstock.checkpoint.memory import MEMORY
from penstock.checkpoint.replace import MAX_TARGET_BYTES
from penstock.checkpoint.storage import ReadableFile, Storage, typed, typed_error
from penstock.checkpoint.values import STRING, Array, Bytes, decode


class DataFiles:
    def __init__(self, path: str, index: Index, files: list[ReadableFile | OSError], preferred_read: int) -> None:
        self._path = path
        self._index = index
        self._files = files
        self._preferred_read = preferred_read

    @property
    def index(self) -> Index:
        return self._index

    @property
    def tensors(self) -> Mapping[str, Entry]:
        return self._index.tensors

    def piece(self, name: str, entry: Entry, piece: Piece) -> Array:
        file = self._files[piece.file]
        where = f"{self._path}{self._index.files[piece.file].suffix}: tensor {name!r}"
        if isinstance(file, OSError):
            raise typed_error(file, f"cannot read {where}") from file
        end = piece.offset + piece.nbytes
        if end > file.size:  # before memory is allocated for it
            message = f"{where} ends at byte {end}, the file has only {file.size}"
            raise errors.DataLossError(None, None, message)
        with typed(f"cannot read {where}"):
            data, crc = self._read(file, piece)
        if crc is None:
            raise errors.DataLossError(None, None, f"{where} was cut short while it was read")
        try:
            value = None
            if entry.dtype == STRING:
                value, crc = self._index.layout.decode_strings(piece.shape, data, crc)
            if crc_text(crc) != piece.crc:
                raise ValueError(f"its bytes have the checksum {crc_text(crc)}, the index says {piece.crc}")
            return decode(entry.dtype, piece.shape, data) if value is None else value
        except ValueError as error:
            raise errors.DataLossError(None, None, f"{where} is corrupt: {error}") from error

    def close(self) -> None:
        _close(self._files)

    def _read(self, file: ReadableFile, piece: Piece) -> tuple[Bytes, int | None]:
        """The bytes and their checksum; None if the file has become too short for them."""
        data = MEMORY.take(piece.nbytes)
        view = data.data
        crc = 0
        for begin in range(0, piece.nbytes, self._preferred_read):
            chunk = view[begin : begin + self._preferred_read]
            if file.read_into(piece.offset + begin, chunk) < len(chunk):
                return data, None
            crc = self._index.layout.checksum(crc, chunk)
        return data, crc


def open_data_files(storage: Storage, path: str) -> DataFiles:
    """The data files that the index names, as of one moment. Raises OSError if there is no index."""
    target = path + ".index"
    data = storage.read(target, MAX_TARGET_BYTES)
    while True:
        bundle = is_bundle(data)
        index = parse_bundle(data, target) if bundle else parse_index(data, target)
        files = [_try_open(storage, path + file.suffix) for file in index.files]
        # A save may have replaced the index since: it removes files that the old index names, and in a bundle, whose
        # names of data files are fixed, gives their names to others.
        if bundle or any(isinstance(file, FileNotFoundError) for file in files):
            again = storage.read(target, MAX_TARGET_BYTES)
            if again != data:
                _close(files)
                data = again
                continue
        return DataFiles(path, index, files, storage.preferred_read)


def _try_open(storage: Storage, path: str) -> ReadableFile | OSError:
    try:
        return storage.open(path)
    except OSError as error:
        return error


def _close(files: list[ReadableFile | OSError]) -> None:
    for file in files:
        if not isinstance(file, OSError):
            file.close()
