"""Lines of text."""

from __future__ import annotations

from penstock.checkpoint.storage import Path
from penstock.records.source import RecordSource
from penstock.records.streams import open_stream


class TextLines(RecordSource):
    """The lines of a file, without their ends. A carriage return before the line end is part of it.

    `number` counts the `skip_header_lines` as well.
    """

    def __init__(self, path: Path, compression: str = "", skip_header_lines: int = 0) -> None:
        super().__init__(open_stream(path, compression))
        self.read(skip_header_lines)

    def _parse(self) -> tuple[list[bytes], int]:
        parts = [self._rest]
        while part := self._stream.read():
            parts.append(part)
            if b"\n" in part:
                break
        data = b"".join(parts)
        lines, self._rest = data, b""
        if part:
            end = data.rindex(b"\n")
            lines, self._rest = data[:end], data[end + 1 :]
        elif data.endswith(b"\n"):
            lines = data[:-1]
        elif not data:
            return [], 0
        if b"\r" in lines:
            lines = lines.replace(b"\r\n", b"\n").removesuffix(b"\r")
        return lines.split(b"\n"), len(data) - len(self._rest)
