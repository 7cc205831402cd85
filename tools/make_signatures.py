"""Writes tests/data/signatures.json.gz: the arguments of TensorFlow 1.15's public functions, classes and methods.

`PYTHON_WITH_TENSORFLOW_1.15 tools/make_signatures.py` (it runs in Python 3.7). {"nn.relu": ["features", "name=None"]}:
arguments by position, with their default where that is a number, a text, a bool or None, else `=…`; `*args` ends them.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import types
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow.contrib
from tensorflow.python.util import tf_inspect

TARGET = Path(__file__).parent.parent / "tests" / "data" / "signatures.json.gz"
ELSEWHERE = {"compat", "raw_ops", "app"}
"""Namespaces that repeat others or are made by one function from the OpDefs."""
LAST = {"contrib", "keras"}
"""Seen after the others: what they repeat is recorded under its own name."""
PLAIN = {bool, int, float, str, type(None)}
DUNDER = {"__init__", "__call__"}


def signature(function: Any) -> list[str]:
    spec = tf_inspect.getfullargspec(function)
    names = [name for name in spec.args if name not in ("self", "cls", "instance", "_")]
    defaults = spec.defaults or ()
    plain = [f"={value!r}" if type(value) in PLAIN else "=…" for value in defaults]
    needed = len(names) - len(plain)
    texts = names[:needed] + [names[needed + place] + text for place, text in enumerate(plain)]
    return texts + (["*args"] if spec.varargs else [])


def record(found: dict[str, list[str]], name: str, function: Any) -> None:
    with contextlib.suppress(TypeError):  # of functions in C
        found[name] = signature(function)


def walk(found: dict[str, list[str]], module: types.ModuleType, where: str, seen: set[int]) -> None:
    for name in sorted(dir(module), key=lambda name: (name in LAST, name)):
        value = getattr(module, name, None)
        if name.startswith("_") or name in ELSEWHERE or id(value) in seen or type(value).__module__ == "__future__":
            continue
        if isinstance(value, types.ModuleType):
            if is_public(value, where + name):
                seen.add(id(value))
                walk(found, value, f"{where}{name}.", seen)
        elif isinstance(value, type):
            for method in dir(value):
                if callable(getattr(value, method, None)) and (method in DUNDER or not method.startswith("_")):
                    record(found, f"{where}{name}.{method}", getattr(value, method))
        elif callable(value):
            record(found, where + name, value)


def is_public(module: types.ModuleType, path: str) -> bool:
    """Whether it is a namespace, not a file's import of another file: contrib's lie where they are named."""
    name = module.__name__
    if path.startswith("contrib"):
        return name.split(".", 1)[-1] == path != "contrib.keras"
    return name.startswith("tensorflow") and (".api._v" in name or ".python." not in name)


def main() -> None:
    found: dict[str, list[str]] = {}
    walk(found, tf, "", set())
    text = json.dumps(dict(sorted(found.items())), indent=0, ensure_ascii=False)
    with TARGET.open("wb") as target, gzip.GzipFile(fileobj=target, mode="wb", filename="", mtime=0) as file:
        file.write(text.encode())


if __name__ == "__main__":
    main()
