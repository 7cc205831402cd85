"""What built-in names and operations of Python 2 did, for converted text (`python2.py` inserts those with `_py2_`)."""

from __future__ import annotations

import base64
import binascii
import builtins
import importlib
import math
import operator
import sys
from collections.abc import Callable, ItemsView, Iterable, KeysView, ValuesView
from functools import cmp_to_key, reduce
from itertools import starmap, zip_longest
from types import ModuleType
from typing import Any

import numpy as np

from penstock.programs.python2_comparisons import HELPERS as COMPARING
from penstock.programs.python2_open import open_
from penstock.programs.python2_strings import HELPERS as OF_STRINGS, isinstance_
from penstock.tensor.shapes import Dimension

_VIEWS = (KeysView, ValuesView, ItemsView)


def div(a: Any, b: Any) -> Any:
    """`a / b`: of whole numbers (arrays and tensors of them, too) the quotient rounded down."""
    if _is_whole(a) and _is_whole(b):
        return a // b
    return a / b


def idiv(a: Any, b: Any) -> Any:
    """`a /= b`, in place where the value is changed in place."""
    if _is_whole(a) and _is_whole(b):
        return operator.ifloordiv(a, b)
    return operator.itruediv(a, b)


def _is_whole(value: Any) -> bool:
    if isinstance(value, (int, np.integer, Dimension)):
        return True
    dtype = getattr(value, "dtype", None)
    if isinstance(dtype, np.dtype):
        return dtype.kind in "iu"
    return bool(getattr(dtype, "is_integer", False))  # a tensor's


def _listed(name: str) -> Callable[[Any], Any]:
    def listed(holder: Any) -> Any:
        found = getattr(holder, name)()
        return list(found) if isinstance(found, _VIEWS) else found

    return listed


def _iterated(name: str, plain: str) -> Callable[[Any], Any]:
    def iterated(holder: Any) -> Any:
        found = getattr(holder, name, None)
        return iter(getattr(holder, plain)()) if found is None else found()

    return iterated


def has_key(holder: Any, key: Any) -> bool:
    found = getattr(holder, "has_key", None)
    return key in holder if found is None else found(key)


def next_(iterator: Any) -> Any:
    return next(iterator) if hasattr(iterator, "__next__") and not hasattr(iterator, "next") else iterator.next()


def tostring(array: Any) -> Any:
    found = getattr(array, "tostring", None)
    return array.tobytes() if found is None else found()


def itemset(array: Any, *where_and_value: Any) -> None:
    *where, value = where_and_value
    found = getattr(array, "itemset", None)
    if found is not None:
        found(*where, value)
    elif len(where) == 1 and not isinstance(where[0], tuple):
        array.flat[where[0]] = value
    else:
        array[tuple(where[0]) if len(where) == 1 else ()] = value


def ptp(array: Any, *where: Any, **options: Any) -> Any:
    found = getattr(array, "ptp", None)
    return np.ptp(array, *where, **options) if found is None else found(*where, **options)


def newbyteorder(array: Any, *order: Any) -> Any:
    found = getattr(array, "newbyteorder", None)
    return array.view(array.dtype.newbyteorder(*order)) if found is None else found(*order)


_ENCODERS: dict[str, Callable[[bytes], bytes]] = {"hex": binascii.hexlify, "base64": base64.encodebytes}
_DECODERS: dict[str, Callable[[bytes], bytes]] = {"hex": binascii.unhexlify, "base64": base64.decodebytes}


def decode(text: Any, *arguments: Any) -> Any:
    """What is text in Python 3 was decoded when it was read."""
    if not isinstance(text, str):
        return text.decode(*arguments)
    name = str(arguments[0]).replace("-", "_").lower() if arguments else ""
    if name in _DECODERS:
        return _DECODERS[name](text.encode()).decode("utf-8", "surrogateescape")
    return text.encode().decode("unicode_escape") if name in {"string_escape", "unicode_escape"} else text


def add(a: Any, b: Any) -> Any:
    """`word + b"\\n"`, where both were text and the word may be it still."""
    if isinstance(a, str) and isinstance(b, bytes):
        return a + b.decode("utf-8", "surrogateescape")
    if isinstance(a, bytes) and isinstance(b, str):
        return a.decode("utf-8", "surrogateescape") + b
    return a + b


TEXT_METHODS = ("split", "rsplit", "strip", "replace", "startswith", "endswith", "find", "count")
"""Methods that take text."""


def _of_text(name: str) -> Callable[..., Any]:
    """The method of what was text, as files that are read as bytes gave it."""

    def call(text: Any, *arguments: Any) -> Any:
        if isinstance(text, bytes) and isinstance(arguments[0], str):
            text = text.decode("utf-8", "surrogateescape")
        return getattr(text, name)(*arguments)

    return call


def encode(text: Any, *how: Any, **named: Any) -> Any:
    """`text.encode("utf-8")`, which gave what literals are, and those are text here. What the codec leaves out is left
    out; "hex", "base64" and escapes are written in letters."""
    encoding = str(how[0] if how else named.get("encoding", "ascii")).replace("-", "_").lower()
    if encoding in _ENCODERS and isinstance(text, (str, bytes)):
        data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
        return _ENCODERS[encoding](data).decode("ascii")
    if not isinstance(text, str):
        return text.encode(*how, **named)
    if encoding in {"string_escape", "unicode_escape"}:
        return text.encode("unicode_escape").decode("ascii")
    if encoding in {"utf_8", "utf8", "u8", "utf"}:
        return text  # which may hold bytes that are no UTF-8, as files may
    return text.encode(*how, **named).decode(encoding)


def sort(holder: Any, how: Any) -> Any:
    if isinstance(holder, list) and callable(how):
        return holder.sort(key=cmp_to_key(how))
    return holder.sort(how)


def translate(text: Any, table: Any, without: Any) -> Any:
    if isinstance(text, bytes):
        return text.translate(table, without)
    kept = "".join(each for each in text if each not in without)
    return kept if table is None else kept.translate(table)


def cmp(a: Any, b: Any) -> int:
    return (a > b) - (a < b)


def sorted_(values: Iterable[Any], cmp: Any = None, key: Any = None, reverse: bool = False) -> list[Any]:
    if cmp is not None:
        of = key or (lambda value: value)
        return sorted(values, key=lambda value: cmp_to_key(cmp)(of(value)), reverse=reverse)
    return sorted(values, key=key, reverse=reverse)


def map_(function: Any, *lists: Iterable[Any]) -> list[Any]:
    """Python 2's `map`: what is missing of shorter lists is None."""
    if len(lists) == 1:
        return list(lists[0] if function is None else map(function, *lists))
    rows = zip_longest(*lists)
    return list(rows if function is None else starmap(function, rows))


def filter_(function: Any, values: Any) -> Any:
    if isinstance(values, str):
        return "".join(filter(function, values))
    kept = filter(function, values)
    return tuple(kept) if isinstance(values, tuple) else list(kept)


def zip_(*lists: Iterable[Any]) -> list[Any]:
    return list(zip(*lists, strict=False))


def range_(*bounds: Any) -> list[int]:
    """A float is cut, as Python 2 did (with a warning)."""
    return list(xrange(*bounds))


def length(number: Any) -> Any:
    """A deque's: a float is cut."""
    return int(number) if isinstance(number, float) else number


def xrange(*bounds: Any) -> range:
    return range(*(int(bound) if isinstance(bound, (float, np.floating)) else bound for bound in bounds))


def round_(number: Any, ndigits: Any = 0) -> Any:
    """A float; halves go away from zero."""
    if not isinstance(number, (int, float)):
        return round(number, ndigits) if ndigits else round(number)
    if not math.isfinite(number):
        return number
    scale = 10.0**ndigits
    return math.copysign(math.floor(abs(number) * scale + 0.5) / scale, number)


def reload_(module: ModuleType) -> ModuleType:
    """`reload(sys)` gave it setdefaultencoding back, which does nothing now."""
    return module if module is sys else importlib.reload(module)


HELPERS: dict[str, Any] = {
    **{f"_py2_{name}": _listed(name) for name in ("keys", "values", "items")},
    **{f"_py2_iter{name}": _iterated(f"iter{name}", name) for name in ("keys", "values", "items")},
    **{f"_py2_view{name}": _iterated(f"view{name}", name) for name in ("keys", "values", "items")},
    **{f"_py2_{name}": _of_text(name) for name in TEXT_METHODS},
    "_py2_div": div,
    "_py2_idiv": idiv,
    "_py2_add": add,
    "_py2_has_key": has_key,
    "_py2_length": length,
    "_py2_next": next_,
    "_py2_decode": decode,
    "_py2_encode": encode,
    "_py2_sort": sort,
    "_py2_tostring": tostring,
    "_py2_itemset": itemset,
    "_py2_ptp": ptp,
    "_py2_newbyteorder": newbyteorder,
    **COMPARING,
    **OF_STRINGS,
    "_py2_translate": translate,
}
"""What the conversion calls."""

PARTLY = {**vars(builtins), **HELPERS}
"""The built-ins of text that is Python 3 but for a few methods."""

WHOLLY: dict[str, Any] = {
    **PARTLY,
    "apply": lambda function, args=(), kwargs=None: function(*args, **(kwargs or {})),
    "basestring": str,
    "buffer": memoryview,
    "cmp": cmp,
    "file": open_,
    "filter": filter_,
    "input": lambda prompt="": eval(input(prompt)),
    "intern": sys.intern,
    "isinstance": isinstance_,
    "long": int,
    "map": map_,
    "open": open_,
    "range": range_,
    "raw_input": input,
    "reduce": reduce,
    "reload": reload_,
    "round": round_,
    "sorted": sorted_,
    "unichr": chr,
    "unicode": str,
    "xrange": xrange,
    "zip": zip_,
    "StandardError": Exception,
}
"""The built-ins of Python 2's text."""
