"""Strings that come out of tensors and examples in Python 2 text: `session.run(names)` gave `str`, the type of the
text's literals.

They stay bytes, which everything that takes data wants, but are equal to text of the same letters, and are found by it
in dicts and lists. CPython gives ASCII text and its bytes one hash.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any, SupportsIndex

import numpy as np

_READ = ("utf-8", "surrogateescape")


def _with_text(name: str) -> Any:
    """A method of bytes whose argument may be text."""
    plain = getattr(bytes, name)

    def method(self: bytes, other: Any) -> Any:
        return plain(self, other.encode(*_READ) if isinstance(other, str) else other)

    return method


def _encoded(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_encoded, value))
    return value.encode(*_READ) if isinstance(value, str) else value


_METHODS = (
    *("split", "rsplit", "splitlines", "partition", "rpartition", "strip", "lstrip", "rstrip", "replace", "startswith"),
    *("endswith", "find", "rfind", "index", "rindex", "count", "lower", "upper", "title", "capitalize", "swapcase"),
    *("center", "ljust", "rjust", "zfill", "expandtabs"),
)
"""Methods of bytes that take and give text."""


def _of_strings(name: str) -> Any:
    plain = getattr(bytes, name)

    def method(self: bytes, *arguments: Any) -> Any:
        return strings(plain(self, *map(_encoded, arguments)))

    return method


class String(np.bytes_):  # type: ignore[misc]
    """A `str` of Python 2: bytes that compare with text, are joined to it, and consist of strings. NumPy takes its own
    type for bytes, and no other that is derived from `bytes`."""

    __eq__, __ne__ = _with_text("__eq__"), _with_text("__ne__")
    __lt__, __le__ = _with_text("__lt__"), _with_text("__le__")
    __gt__, __ge__ = _with_text("__gt__"), _with_text("__ge__")
    __contains__ = _with_text("__contains__")

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return bytes.decode(self, *_READ)

    def __repr__(self) -> str:
        return repr(str(self))

    def __add__(self, other: Any) -> Any:
        return str(self) + other if isinstance(other, str) else String(bytes.__add__(self, other))

    def __radd__(self, other: Any) -> Any:
        return other + str(self) if isinstance(other, str) else String(other + bytes(self))

    def __mod__(self, values: Any) -> Any:
        return str(self) % values

    def __getitem__(self, where: SupportsIndex | slice) -> Any:
        found = bytes.__getitem__(self, where)
        return String(found if isinstance(found, bytes) else bytes((found,)))

    def __iter__(self) -> Iterator[Any]:
        return (String(bytes((each,))) for each in bytes.__iter__(self))

    def encode(self, *_: Any, **__: Any) -> String:
        return self

    def format(self, *values: Any, **named: Any) -> str:
        return str(self).format(*values, **named)

    def join(self, values: Any) -> str:  # type: ignore[override]
        return str(join(str(self), values))

    def __reduce__(self) -> Any:
        return bytes, (bytes(self),)  # files that a program writes have no types of Penstock


for _name in _METHODS:
    setattr(String, _name, _of_strings(_name))


def strings(value: Any) -> Any:
    """What a call gave, with bytes in it as strings: alone, in arrays of objects, and in lists, tuples and dicts."""
    kind = type(value)
    if kind is bytes:
        return String(value)
    if kind is np.ndarray:
        return _array(value) if value.dtype == object else value
    if kind is dict:
        return {key: strings(each) for key, each in value.items()}
    if kind is list or kind is tuple:
        found = [strings(each) for each in value]
        changed = any(a is not b for a, b in zip(found, value, strict=True))
        return kind(found) if changed else value
    return value


def _array(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    made = np.empty_like(array)
    for where, each in np.ndenumerate(array):
        made[where] = String(each) if type(each) is bytes else each
    return made


def taking_strings(function: Any) -> Any:
    """The function of `tf.py_func`, which got the strings of its tensors as `str`."""
    if not callable(function):
        return function

    def called(*arguments: Any) -> Any:
        return function(*map(strings, arguments))

    called.__name__ = getattr(function, "__name__", "called")
    return called


def join(separator: Any, values: Any) -> Any:
    """`" ".join(words)`, of which some may be bytes."""
    if not isinstance(separator, str) or isinstance(values, str):
        return separator.join(values)
    return separator.join(each.decode(*_READ) if isinstance(each, bytes) else each for each in values)


def text(value: Any) -> Any:
    """Bytes, also in a tuple or dict, as the text that they were; other values as they are."""
    if isinstance(value, bytes):
        return value.decode(*_READ)
    if type(value) is tuple and any(isinstance(each, bytes) for each in value):
        return tuple(map(text, value))
    if type(value) is dict and any(isinstance(each, bytes) for each in value.values()):
        return {key: text(each) for key, each in value.items()}
    return value


def all_text(value: Any) -> Any:
    """A value with all bytes in its lists, tuples and dicts as text: for `json`, which took `str`."""
    if isinstance(value, list | tuple):
        return [all_text(each) for each in value]
    if isinstance(value, dict):
        return {text(key): all_text(each) for key, each in value.items()}
    return text(value)


def isinstance_(value: Any, kinds: Any) -> bool:
    """A string is one of `str` and `basestring`, too."""
    return isinstance(value, kinds) or (isinstance(value, String) and isinstance("", kinds))


def str_(kind: Any, *values: Any) -> Any:
    """`str(data)`, which was the data; bytes that are no UTF-8 come out of its text again where bytes are taken."""
    if kind is str and len(values) == 1 and isinstance(values[0], bytes):
        return text(values[0])
    return kind(*values)


def characters(array: Any) -> Any:
    """An array of single characters as text, whose elements were `str`: of mazes, `letter in "GH"`."""
    if isinstance(array, np.ndarray) and array.dtype == "S1":
        return np.char.decode(array, "latin-1")
    return array


def makes_characters(node: ast.Call) -> bool:
    """Whether it is a call with dtype="c", as `np.asarray(rows, dtype="c")`, or with "c" as its second argument."""
    match node:
        case ast.Call(func=ast.Attribute(attr="array" | "asarray"), args=[_, ast.Constant(value="c")]):
            return True
    return any(each.arg == "dtype" and getattr(each.value, "value", None) == "c" for each in node.keywords)


def gives_strings(node: ast.Call | ast.Subscript) -> bool:
    """Whether it is a call of `session.run` or `tensor.eval`, by its name, or `feature.bytes_list.value[0]`."""
    match node:
        case ast.Call(func=ast.Attribute(attr="run" | "eval")):
            return True
        case ast.Subscript(value=ast.Attribute(attr="value", value=ast.Attribute(attr="bytes_list")), ctx=ast.Load()):
            return True
    return False


def taken_function(node: ast.Call) -> ast.expr | None:
    """The function in a call of `tf.py_func`."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", None)
    if name != "py_func":
        return None
    if node.args:
        return None if isinstance(node.args[0], ast.Starred) else node.args[0]
    return next((keyword.value for keyword in node.keywords if keyword.arg == "func"), None)


def replaced(node: ast.Call, old: ast.expr, new: ast.expr) -> ast.Call:
    """The call with another argument instead of one of its own."""
    node.args = [new if each is old else each for each in node.args]
    for keyword in node.keywords:
        keyword.value = new if keyword.value is old else keyword.value
    return node


HELPERS: dict[str, Callable[..., Any]] = {
    "_py2_characters": characters,
    "_py2_strings": strings,
    "_py2_taking_strings": taking_strings,
    "_py2_join": join,
    "_py2_text": text,
    "_py2_str": str_,
}
"""What the conversion calls."""
