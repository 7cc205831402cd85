"""Modules of messages (`*_pb2.py`) that protoc wrote before 3.19, which today's protobuf refuses to run.

Such a module holds the description of its messages twice: as bytes (`serialized_pb`) and as calls that make each
descriptor. Today the bytes are enough: the rest is left out. Lists of numbers take True and False, as they did then.
"""

from __future__ import annotations

import ast
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.abc import InspectLoader, Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from penstock.programs.report import REPORT
from penstock.programs.source import ProgramLoader

_GONE = {"reflection", "service", "service_reflection"}
"""Modules of google.protobuf that such a module imports, and that may be no more."""

_OF_TODAY = ("google.protobuf.", "penstock.", "tensorboard.", "tensorflow.")


def without_descriptors(text: str) -> ast.Module | None:
    """What such a module imports, and its messages, made of its bytes; None if `text` is of another kind."""
    if "_descriptor.FileDescriptor(" not in text:
        return None
    tree = ast.parse(text)
    kept = [statement for statement in tree.body if _is_import(statement) or _is_decoder(statement)]
    for call in ast.walk(tree):
        if isinstance(call, ast.Call) and ast.unparse(call.func) == "_descriptor.FileDescriptor":
            described = {word.arg: word.value for word in call.keywords}
            if "serialized_pb" in described:
                return ast.fix_missing_locations(ast.Module([*kept, *_made_of(described["serialized_pb"])], []))
    return None


def _is_import(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom) and statement.module == "google.protobuf":
        return not _GONE & {each.name for each in statement.names}
    return isinstance(statement, ast.Import | ast.ImportFrom)


def _is_decoder(statement: ast.stmt) -> bool:
    """`_b = …`, the function that made bytes of text in both Pythons."""
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "_b"


def _made_of(serialized: ast.expr) -> list[ast.stmt]:
    return ast.parse(
        "from google.protobuf import descriptor_pool as _pool\n"
        "from google.protobuf.internal import builder as _builder\n"
        f"DESCRIPTOR = _pool.Default().AddSerializedFile({ast.unparse(serialized)})\n"
        "_builder.BuildMessageAndEnumDescriptors(DESCRIPTOR, globals())\n"
        "_builder.BuildTopDescriptorsAndMessages(DESCRIPTOR, __name__, globals())\n"
    ).body


class _Messages(Loader):
    """Runs what `without_descriptors` has made."""

    def __init__(self, loader: Any, tree: ast.Module, path: str) -> None:
        self._loader, self._tree, self._path = loader, tree, path

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        module.__loader__ = self._loader
        REPORT.note(f"messages of {module.__name__} made anew")
        exec(compile(self._tree, self._path, "exec"), vars(module))


class OldMessagesFinder(MetaPathFinder):
    """Asked before others, for modules whose names end in `_pb2`."""

    def __init__(self) -> None:
        self._looking: set[str] = set()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.endswith("_pb2") or fullname.startswith(_OF_TODAY) or fullname in self._looking:
            return None
        self._looking.add(fullname)
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking.discard(fullname)
        if spec is None or not isinstance(spec.loader, InspectLoader) or not str(spec.origin).endswith(".py"):
            return spec
        tree = without_descriptors(Path(str(spec.origin)).read_text("utf-8"))
        if tree is not None:
            spec.loader = _Messages(spec.loader, tree, str(spec.origin))
        return spec


def _take_truth_values(protos: ModuleType) -> None:
    """`int64_list.value.append(True)` and `extend`, of messages' lists, which until protobuf 4 took them."""
    lists = type(protos.Int64List().value)
    append, extend = lists.append, lists.extend

    def append_one(self: Any, value: Any) -> None:
        append(self, int(value) if isinstance(value, bool | np.bool_) else value)

    def extend_all(self: Any, values: Any) -> None:
        values = values if values is None or isinstance(values, lists | list | tuple | np.ndarray) else list(values)
        try:
            extend(self, values)
        except TypeError:
            extend(self, protos.as_numbers(values))

    lists.append, lists.extend = append_one, extend_all


def _take_text(protos: ModuleType) -> None:
    """`tf.train.BytesList(value=["jpg"])` of Python 2, where text in quotes was bytes."""
    make = protos.BytesList.__init__

    def init(self: Any, *arguments: Any, value: Any = None, **fields: Any) -> None:
        if value is not None and ProgramLoader.python2:
            value = [each.encode("utf-8", "surrogateescape") if isinstance(each, str) else each for each in value]
        make(self, *arguments, value=value, **fields)

    protos.BytesList.__init__ = init


def _as_they_were(protos: ModuleType) -> None:
    _take_truth_values(protos)
    _take_text(protos)


PATCHES: dict[str, Callable[[ModuleType], None]] = {"penstock.tensor.example_protos": _as_they_were}


def install() -> None:
    """For the rest of the process."""
    sys.meta_path.insert(0, OldMessagesFinder())
