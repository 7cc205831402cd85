"""Fixed-length records."""

from __future__ import annotations

from penstock import errors
from penstock.checkpoint.storage import Path
from penstock.records.source import RecordSource
from penstock.records.streams import READ, Plain, open_stream


class FixedLengthRecords(RecordSource):
    """Records of `record_bytes` each, `hop_bytes` apart (0: one after another), between a header and a footer.

    Bytes after the last complete record are ignored; with `exact` they raise InvalidArgumentError, as in TensorFlow's
    datasets but not in its readers.
    """

    def __init__(
        self,
        path: Path,
        record_bytes: int,
        header_bytes: int = 0,
        footer_bytes: int = 0,
        hop_bytes: int = 0,
        compression: str = "",
        exact: bool = False,
    ) -> None:
        super().__init__(open_stream(path, compression))
        self._record, self._header, self._footer = record_bytes, header_bytes, footer_bytes
        self._hop = hop_bytes or record_bytes
        self._exact = exact
        if exact and isinstance(self._stream, Plain):
            self._refuse_remainder(self._stream.size() - header_bytes - footer_bytes)
        self._skip(header_bytes)

    def _skip(self, count: int) -> None:
        while count > 0 and (part := self._stream.read(min(count, READ))):
            count -= len(part)
            self._end += len(part)

    def _parse(self) -> tuple[list[bytes], int]:
        parts, size = [self._rest], len(self._rest)
        while part := self._stream.read():
            parts.append(part)
            size += len(part)
            if size >= self._hop + self._record + self._footer:
                break
        data, body = b"".join(parts), size - self._footer
        count = max(0, (body - self._record) // self._hop + 1)
        if part:
            count = min(count, size // self._hop)  # skipped bytes have been read as well
        elif self._exact:
            self._refuse_remainder(self._end - self._header + body)
        end = min(count * self._hop, size)
        self._rest = data[end:]
        return [data[at : at + self._record] for at in range(0, count * self._hop, self._hop)], end

    def _refuse_remainder(self, body: int) -> None:
        if body < 0 or body % self._hop:
            raise errors.InvalidArgumentError(
                None,
                None,
                f"Excluding the header ({self._header} bytes) and footer ({self._footer} bytes), input file "
                f"{self.path} has body length {body} bytes, which is not an exact multiple of the record length "
                f"({self._record} bytes)",
            )
