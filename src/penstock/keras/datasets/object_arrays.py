"""Arrays of lists of numbers in .npz files.

NumPy writes them as pickles, which are programs: loading one can run anything. What is read here is the part of that
language which such an array consists of. Nothing is imported or called, and anything else is an error.
"""

from __future__ import annotations

import struct
import zipfile
from typing import Any

import numpy as np
from numpy.lib import format as npy

_NAMES = frozenset(
    {
        ("numpy.core.multiarray", "_reconstruct"),
        ("numpy._core.multiarray", "_reconstruct"),
        ("numpy", "ndarray"),
        ("numpy", "dtype"),
        ("_codecs", "encode"),
    }
)
"""What the pickle of an array refers to."""
_MARK = object()
_OPAQUE = object()
"""Stands for whatever a name or call in the pickle would be."""
_SIZES = {b"U": "<B", b"C": "<B", b"X": "<I", b"B": "<I", b"T": "<I", b"\x8c": "<B", b"\x8e": "<Q", b"\x8d": "<Q"}
"""Strings: opcode, and format of the length before them."""
_NUMBERS = {b"J": "<i", b"G": ">d"}
_BYTE, _TWO_BYTES = b"KM"


def read_array(path: Any, name: str) -> np.ndarray:
    """The array `name` of a .npz file; its elements are numbers or lists of them. Raises ValueError for others."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as file:
        version = npy.read_magic(file)
        header = npy.read_array_header_1_0(file) if version == (1, 0) else npy.read_array_header_2_0(file)
        shape, _, dtype = header
        if not dtype.hasobject:
            with np.load(path, allow_pickle=False) as arrays:
                plain: np.ndarray = arrays[name]
                return plain
        elements = _elements(file.read(), f"{path}: {name}")
    found = np.empty(len(elements), object)
    found[:] = elements
    return found.reshape(shape)


def _elements(data: bytes, what: str) -> list[Any]:
    """The last list that an object is built with."""
    try:
        state = _run(data, what)
    except (IndexError, KeyError, struct.error, TypeError, AttributeError, StopIteration, UnicodeDecodeError):
        raise ValueError(f"{what} is damaged, or not an array of lists of numbers") from None
    found = state[4] if isinstance(state, tuple) and len(state) == 5 else None
    if not isinstance(found, list) or not all(_of_numbers(element) for element in found):
        raise ValueError(f"{what} is not an array of lists of numbers")
    return found


def _of_numbers(element: Any) -> bool:
    return set(map(type, element)) <= {int, float} if isinstance(element, list) else isinstance(element, int | float)


def _run(data: bytes, what: str) -> Any:
    """What the array's state is set to."""
    stack: list[Any] = []
    memo: dict[int, Any] = {}
    at, state = 0, None

    def since_mark() -> list[Any]:
        start = next(i for i in range(len(stack) - 1, -1, -1) if stack[i] is _MARK)
        items = stack[start + 1 :]
        del stack[start:]
        return items

    while True:
        first = data[at]
        if first == _BYTE:  # nearly all that there is are small numbers
            stack.append(data[at + 1])
            at += 2
            continue
        if first == _TWO_BYTES:
            stack.append(data[at + 1] | data[at + 2] << 8)
            at += 3
            continue
        code = data[at : at + 1]
        at += 1
        if code in _NUMBERS:
            form = _NUMBERS[code]
            stack.append(struct.unpack_from(form, data, at)[0])
            at += struct.calcsize(form)
        elif code == b"(":
            stack.append(_MARK)
        elif code == b"e":
            items = since_mark()
            stack[-1].extend(items)
        elif code == b"]":
            stack.append([])
        elif code == b"a":
            item = stack.pop()
            stack[-1].append(item)
        elif code in b"qr\x94":  # remember what is on top
            form = {b"q": "<B", b"r": "<I"}.get(code, "")
            memo[struct.unpack_from(form, data, at)[0] if form else len(memo)] = stack[-1]
            at += struct.calcsize(form)
        elif code in b"hj":
            form = "<B" if code == b"h" else "<I"
            stack.append(memo[struct.unpack_from(form, data, at)[0]])
            at += struct.calcsize(form)
        elif code == b"\x80":
            at += 1
        elif code == b"\x95":
            at += 8
        elif code in _SIZES:
            form = _SIZES[code]
            start = at + struct.calcsize(form)
            at = start + struct.unpack_from(form, data, at)[0]
            stack.append(data[start:at])
        elif code == b"c":
            module, _, rest = data[at : at + 200].partition(b"\n")
            name, newline, _ = rest.partition(b"\n")
            at += len(module) + len(name) + 1 + len(newline)
            stack.append(_named(module, name, what))
        elif code == b"\x93":
            name, module = stack.pop(), stack.pop()
            stack.append(_named(module, name, what))
        elif code == b"N":
            stack.append(None)
        elif code in b"\x88\x89":
            stack.append(code == b"\x88")
        elif code == b")":
            stack.append(())
        elif code == b"t":
            stack.append(tuple(since_mark()))
        elif code in b"\x85\x86\x87":
            count = code[0] - 0x84
            stack[-count:] = [tuple(stack[-count:])]
        elif code == b"R":
            stack[-2:] = [_OPAQUE]
        elif code == b"b":
            state = stack.pop()
            if stack[-1] is not _OPAQUE:
                raise TypeError
        elif code == b".":
            return state
        else:
            raise ValueError(f"{what} is not an array of lists of numbers: its pickle has the instruction {code!r}")


def _named(module: bytes, name: bytes, what: str) -> Any:
    known = (module.decode(), name.decode())
    if known not in _NAMES:
        raise ValueError(f"{what} is not an array of lists of numbers: it refers to {'.'.join(known)}")
    return _OPAQUE
