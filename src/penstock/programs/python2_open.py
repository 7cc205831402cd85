"""`open` of Python 2: files take text and data, however they were opened."""

from __future__ import annotations

import io
from typing import Any

from penstock.programs.python2_strings import text


class _Writer(io.BufferedWriter):
    """Python 2 wrote text to files that were opened for bytes."""

    def write(self, data: Any) -> int:
        return super().write(data.encode("utf-8", "surrogateescape") if isinstance(data, str) else data)


class _TextWriter(io.TextIOWrapper):
    """And data to those that were opened for text."""

    mode: str

    def write(self, data: Any) -> int:
        return super().write(text(data))


def _text_writer(name: Any, mode: str, buffering: int, options: dict[str, Any]) -> Any:
    """buffering: 0 for none, which Python 3 has for bytes only, 1 for lines."""
    data = open(name, mode.replace("t", "") + "b", -1 if buffering == 1 else buffering)  # noqa: SIM115
    made = _TextWriter(data, line_buffering=buffering == 1, write_through=buffering == 0, **options)
    made.mode = mode
    return made


def open_(name: Any, mode: str = "r", buffering: int = -1, **options: Any) -> Any:
    """Bytes that are not UTF-8 pass through text unchanged."""
    mode = mode.replace("U", "") or "r"
    if "b" not in mode:
        options.setdefault("encoding", "utf-8")
        options.setdefault("errors", "surrogateescape")
        if mode.replace("t", "") in {"w", "a"} and options.keys() <= {"encoding", "errors", "newline"}:
            return _text_writer(name, mode, buffering, options)
    elif mode.replace("b", "") in {"w", "a"} and not options:
        return _Writer(io.FileIO(name, mode.replace("b", "")))
    return open(name, "r" + mode if mode in {"b", "t"} else mode, buffering, **options)
