"""Values in the format of TensorFlow's Print, Assert and similar ops: `[[1 2][3...]...]`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

_ESCAPES = {
    ord("\n"): "\\n",
    ord("\r"): "\\r",
    ord("\t"): "\\t",
    ord('"'): '\\"',
    ord("'"): "\\'",
    ord("\\"): "\\\\",
}


def summarize_value(array: np.ndarray, limit: int) -> str:
    """The first `limit` elements (all if negative) of an array, with rows in brackets and "..." for the rest."""
    limit = array.size if limit < 0 else limit
    if not array.size:
        return ""
    if not array.ndim:
        return element_text(array[()])
    text, _ = _rows(map(element_text, array.reshape(-1)[:limit]), array.shape, limit)
    return text + ("..." if array.size > limit else "")


def _rows(items: Iterator[str], shape: tuple[int, ...], left: int, outermost: bool = True) -> tuple[str, int]:
    """The text of one block, and the number of elements that may still be shown after it."""
    if len(shape) == 1:
        shown = min(shape[0], left)
        text = " ".join(next(items) for _ in range(shown))
        return text + ("..." if shown < shape[0] and not outermost else ""), left - shown
    text = ""
    for _ in range(shape[0]):
        if left <= 0:
            break
        inner, left = _rows(items, shape[1:], left, outermost=False)
        text += f"[{inner}]"
    return text, left


def element_text(value: Any) -> str:
    """One element: the shorter of two precisions that reads back as the same float; 1 and 0 for booleans."""
    if isinstance(value, bytes):
        return escape(value)
    if isinstance(value, np.bool_ | np.integer):
        return str(int(value))
    if isinstance(value, np.complexfloating):
        return f"({element_text(value.real)},{element_text(value.imag)})"
    # bfloat16 and similar types, which are not np.floating, are shown as the equal float32.
    short, exact = (15, 17) if isinstance(value, np.float64) else (6, 9)
    kind = np.float64 if isinstance(value, np.float64) else np.float32
    text = f"{float(value):.{short}g}"
    return text if value != value or kind(text) == kind(value) else f"{float(value):.{exact}g}"


def escape(text: bytes) -> str:
    """Bytes escaped as in a C string literal."""
    return "".join(_ESCAPES.get(byte) or (chr(byte) if 0x20 <= byte < 0x7F else f"\\{byte:03o}") for byte in text)
