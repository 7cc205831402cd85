"""Which line of the user's program built a node.

A stack is a tuple of `(code, line)` pairs, innermost first, without Penstock's own frames. Taking one costs about a
microsecond per node; it is formatted only for errors and tools.
"""

from __future__ import annotations

import linecache
import os
import sys
from types import CodeType, FrameType

Stack = tuple[tuple[CodeType, int], ...]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_DEPTH = 6
_internal: dict[CodeType, bool] = {}


def capture_stack() -> Stack:
    """The innermost user frames of the calling thread."""
    found: list[tuple[CodeType, int]] = []
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and len(found) < _DEPTH:
        code = frame.f_code
        internal = _internal.get(code)
        if internal is None:
            name = code.co_filename
            internal = _internal[code] = name.startswith((_PACKAGE, "<penstock")) or name.endswith("/contextlib.py")
        if not internal:
            found.append((code, frame.f_lineno))
        frame = frame.f_back
    return tuple(found)


def format_line(stack: Stack) -> str:
    """`file.py:12, in build: y = tf.matmul(x, w)`, or "" if nothing is known (an imported graph)."""
    if not stack:
        return ""
    code, line = stack[0]
    text = linecache.getline(code.co_filename, line).strip()
    where = f"{code.co_filename}:{line}, in {code.co_name}"
    return f"{where}: {text}" if text else where


def format_stack(stack: Stack) -> list[tuple[str, int, str, str]]:
    """`(file, line, function, text)` rows, outermost first, as `traceback.extract_stack` returns them."""
    return [
        (code.co_filename, line, code.co_name, linecache.getline(code.co_filename, line).strip())
        for code, line in reversed(stack)
    ]
