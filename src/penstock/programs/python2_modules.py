"""Modules of Python 2's library, for converted text: what each was made of, under the names of today."""

from __future__ import annotations

import importlib
import io
import sys
from functools import partial
from hashlib import algorithms_guaranteed, new as new_hash
from types import ModuleType
from typing import Any

from penstock.programs.python2_ctypes import NAMES as _CTYPES
from penstock.programs.python2_strings import String, all_text
from penstock.programs.python2_temporary import temporary
from penstock.programs.removed.standard import split_as_then

PREFIX = "penstock.programs.python2_modules."
"""Converted text imports them from here: other text that asks for a `cPickle` is told that there is none."""

MODULES: dict[str, tuple[str, ...]] = {
    "BaseHTTPServer": ("http.server",),
    "ConfigParser": ("configparser",),
    "Cookie": ("http.cookies",),
    "HTMLParser": ("html.parser",),
    "Queue": ("queue",),
    "SimpleHTTPServer": ("http.server",),
    "SocketServer": ("socketserver",),
    "StringIO": (),
    "Tkinter": ("tkinter",),
    "UserDict": ("collections",),
    "__builtin__": ("builtins",),
    "anydbm": ("dbm",),
    "base64": ("base64",),
    "cPickle": ("pickle",),
    "cStringIO": (),
    "commands": ("subprocess",),
    "cookielib": ("http.cookiejar",),
    "copy_reg": ("copyreg",),
    "ctypes": ("ctypes",),
    "hashlib": ("hashlib",),
    "httplib": ("http.client",),
    "json": ("json",),
    "pickle": ("pickle",),
    "re": ("re",),
    "tempfile": ("tempfile",),
    "thread": ("_thread",),
    "tkFileDialog": ("tkinter.filedialog",),
    "tkMessageBox": ("tkinter.messagebox",),
    "urllib2": ("urllib.request", "urllib.error", "urllib.parse"),
    "urlparse": ("urllib.parse",),
    "xmlrpclib": ("xmlrpc.client",),
}
"""Later ones come before earlier ones where they have the same name."""

__path__: list[str] = []  # its modules are made by the finder in `hooks.py`


class StringIO:
    """Python 2's: of bytes or of text, whichever is written first."""

    def __init__(self, text: Any = "") -> None:
        self._file: Any = io.BytesIO(text) if isinstance(text, bytes) else io.StringIO(text)

    def write(self, text: Any) -> int:
        if isinstance(text, (bytes, bytearray, memoryview)) and isinstance(self._file, io.StringIO):
            before = self._file.getvalue().encode()
            self._file = io.BytesIO()
            self._file.write(before)
        elif isinstance(text, str) and isinstance(self._file, io.BytesIO):
            text = text.encode()
        return int(self._file.write(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __iter__(self) -> Any:
        return iter(self._file)

    def __enter__(self) -> StringIO:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()


def pickle_load(file: Any, **options: Any) -> Any:
    """Files that Python 2 wrote have texts as bytes: latin1 reads them, NumPy's arrays included."""
    import pickle

    return pickle.load(_of_bytes(file), **{"encoding": "latin1", **options})


def pickle_loads(data: Any, **options: Any) -> Any:
    import pickle

    return pickle.loads(data.encode("latin1") if isinstance(data, str) else data, **{"encoding": "latin1", **options})


def pickle_dump(value: Any, file: Any, protocol: int | None = None, **options: Any) -> None:
    """Also into a file that was opened for text."""
    import pickle

    pickle.dump(value, _of_bytes(file), protocol, **options)


def _of_bytes(file: Any) -> Any:
    """Of a file that was opened for text, the file of its bytes; tf.gfile's included."""
    from penstock.gfile import GFile  # not at the top: programs that only print need no torch

    if isinstance(file, GFile):
        file = file._open()
    return getattr(file, "buffer", file)


class Hash:
    """One of hashlib's, that takes text as well."""

    def __init__(self, made: Any, data: Any = b"") -> None:
        self._made = made
        self.update(data)

    def update(self, data: Any) -> None:
        self._made.update(data.encode() if isinstance(data, str) else data)

    def copy(self) -> Hash:
        return Hash(self._made.copy())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made, name)


def _base64(name: str, data: Any, *options: Any) -> Any:
    """What base64's function of this name makes of text or data: an encoded one is text, as all that is was then."""
    import base64

    made = getattr(base64, _RENAMED.get(name, name))(data.encode("latin1") if isinstance(data, str) else data, *options)
    return made if "decode" in name else made.decode()


_RENAMED = {"encodestring": "encodebytes", "decodestring": "decodebytes"}
_BASE64 = (
    *_RENAMED,
    *(f"{kind}{way}code" for kind in ("b16", "b32", "b64", "standard_b64", "urlsafe_b64") for way in ("en", "de")),
)


def _hash_new(name: str, data: Any = b"") -> Hash:
    return Hash(new_hash(name), data)


def _json(name: str, value: Any, *options: Any, **named: Any) -> Any:
    """`json.dump` and `json.dumps`: strings are text there."""
    import json

    return getattr(json, name)(all_text(value), *options, **named)


_MATCHING = ("match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer")


def _re(name: str, *arguments: Any, **named: Any) -> Any:
    """A function of re, in strings of tensors as in text."""
    import re

    function: Any = partial(split_as_then, sys._getframe(1)) if name == "split" else getattr(re, name)
    return function(*(str(each) if isinstance(each, String) else each for each in arguments), **named)


_PICKLE = {"load": pickle_load, "loads": pickle_loads, "dump": pickle_dump}
EXTRA: dict[str, dict[str, Any]] = {
    "base64": {name: partial(_base64, name) for name in _BASE64},
    "StringIO": {"StringIO": StringIO},
    "cStringIO": {"StringIO": StringIO},
    "cPickle": _PICKLE,
    "ctypes": _CTYPES,
    "json": {name: partial(_json, name) for name in ("dump", "dumps")},
    "pickle": _PICKLE,
    "re": {name: partial(_re, name) for name in _MATCHING},
    "hashlib": {"new": _hash_new, **{name: partial(_hash_new, name) for name in algorithms_guaranteed}},
    "tempfile": {name: partial(temporary, name) for name in ("NamedTemporaryFile", "TemporaryFile")},
    "UserDict": {"IterableUserDict": dict, "DictMixin": object},
}


def make(name: str) -> ModuleType:
    """The module that Python 2 had under this name."""
    module = ModuleType(PREFIX + name, f"What Python 2 had as {name}.")
    for source in MODULES[name]:
        found = importlib.import_module(source)
        vars(module).update({key: value for key, value in vars(found).items() if not key.startswith("_")})
    vars(module).update(EXTRA.get(name, {}))
    return module
