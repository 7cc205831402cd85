"""`penstock port`: a program for TensorFlow 1.x, Python 2 or 3, as text for Penstock and Python 3.

Only what must change is replaced, at its place in the text, so that comments and layout stay. What a name was before
TensorFlow 1.0 is told by the same tables as when it runs (`old_names.py`), and so is what NumPy and others have removed
(`removed/`). A text that is ported already stays as it is.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.old_names import OldArguments
from penstock.programs.check import name_of_today, resolved
from penstock.programs.python2_parsing import UNPARSABLE
from penstock.programs.python2_signs import futures, is_future
from penstock.programs.python2_text import as_python3_text, is_python2_text, is_whole
from penstock.programs.removed import MODULES, source_of
from penstock.programs.removed.giving import Lost
from penstock.programs.removed.keras import PACKAGE as KERAS
from penstock.programs.uses import HUB, PACKAGES, Aliases

_RENAMED_ARGUMENTS = {
    "reduction_indices": "axis",
    "keep_dims": "keepdims",
    "squeeze_dims": "axis",
    "dimension": "axis",
    "dim": "axis",
    "seq_dim": "seq_axis",
    "batch_dim": "batch_axis",
}
"""Arguments that functions have under two names, and the later one."""

_INSTEAD = {**dict.fromkeys(PACKAGES, "penstock"), HUB: "penstock.hub"}
_METHODS = {
    **{f"{before}{name}": name for name in ("keys", "values", "items") for before in ("iter", "view")},
    "tostring": "tobytes",
}
"""Methods without arguments that dicts and arrays had, and those that they have."""

_OF_GYM = (
    "Gym has changed what `reset` and `step` give, its spaces and its environments' versions since: `penstock run` has "
    "it as it was, plain Python as it is"
)


@dataclass(frozen=True, slots=True)
class Ported:
    """notes: what may be different, as (line of the result, text)."""

    text: str
    notes: list[tuple[int, str]]


def port(text: str, *, python2: bool = False, own_keras: bool = False) -> Ported:
    """The program as it is written today. python2: whether text that parses as Python 3 as well is Python 2. own_keras:
    whether the program has a module of this name.

    Raises SyntaxError if it is neither.
    """
    was_python2 = python2 or is_python2_text(text)
    if was_python2:
        try:
            converted = as_python3_text(text)
            ast.parse(converted)
        except UNPARSABLE as error:
            raise SyntaxError(f"it parses neither as Python 3 nor as Python 2: {error}") from None
        text = converted
    tree = ast.parse(text)
    editor = _Editor(text, tree, was_python2 and "division" not in futures(tree), own_keras)
    editor.visit(tree)
    return Ported(editor.edited(), sorted(editor.notes))


class _Editor(ast.NodeVisitor):
    """Collects replacements of parts of the text."""

    def __init__(self, text: str, tree: ast.Module, divides: bool, own_keras: bool) -> None:
        self._text = text
        self._tree = tree
        self._divides = divides
        self._own_keras = own_keras
        self._aliases = Aliases(tree)
        self._starts = [0]
        for line in text.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line.encode()))
        self._data = text.encode()
        self._edits: list[tuple[int, int, str]] = []
        self._imports: dict[str, None] = {}  # what the edits need
        self._iterated = {node.iter for node in ast.walk(tree) if isinstance(node, (ast.For, ast.comprehension))}
        self.notes: list[tuple[int, str]] = []

    def edited(self) -> str:
        there = {alias.name for node in self._tree.body if isinstance(node, ast.Import) for alias in node.names}
        missing = "".join(f"import {name}\n" for name in self._imports if name not in there)
        if missing:
            self._edits.append((self._first_import, self._first_import, missing))
        out = bytearray(self._data)
        for start, end, new in sorted(self._edits, reverse=True):
            out[start:end] = new.encode()
        return out.decode()

    @property
    def _first_import(self) -> int:
        """Where the first import is that is not from __future__."""
        imports = (node for node in self._tree.body if isinstance(node, (ast.Import, ast.ImportFrom)))
        return next(self._span(node)[0] for node in imports if not is_future(node))

    # --- imports ----------------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            instead = self._instead(top, node.lineno)
            if instead is None:
                moved = MODULES[alias.name].source if alias.name in MODULES else None
                if moved:
                    self._replace(alias, f"{moved} as {alias.asname}" if alias.asname else moved)
                continue
            new = instead + alias.name.removeprefix(top)
            if alias.asname:
                new = f"{new} as {alias.asname}"
            elif "." in alias.name:
                new = f"{new}, {instead} as {top}"
            else:
                new = f"{instead} as {top}"
            self._replace(alias, new)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = node.module or ""
        if node.level:
            return
        top = module.partition(".")[0]
        instead = self._instead(top, node.lineno)
        if instead is None:
            self._import_from_other(module, node)
            return
        start, end = self._span(node)
        at = self._data.index(module.encode(), start, end)
        self._edits.append((at, at + len(top), instead))
        for alias in node.names:
            now = name_of_today(f"{module}.{alias.name}")
            parent, _, name = (now or "").rpartition(".")
            if now and parent == module:
                self._replace(alias, f"{name} as {alias.asname or alias.name}")

    def _instead(self, package: str, line: int) -> str | None:
        """What is imported in the place of a package. Keras stays, of Penstock's from then on."""
        if package == "gym":
            self.notes.append((line, _OF_GYM))
        if package == KERAS and not self._own_keras:
            self._imports["penstock.as_keras"] = None
        return _INSTEAD.get(package)

    def _import_from_other(self, module: str, node: ast.ImportFrom) -> None:
        """Names that a library has removed or moved are imported from where they are."""
        places = [self._now(module, alias.name, node.lineno) for alias in node.names]
        if places == [(module, alias.name) for alias in node.names]:
            return
        groups: dict[str, list[str]] = {}
        for alias, (holder, name) in zip(node.names, places, strict=True):
            groups.setdefault(holder, []).append(_imported_as(name, alias.asname or alias.name))
        lines = []
        for holder, names in groups.items():
            if holder == "builtins":
                lines += [" = ".join(reversed(name.split(" as "))) for name in names if " as " in name]
            elif holder:
                lines.append(f"from {holder} import {', '.join(names)}")
            else:
                lines += [f"import {name}" for name in names]
        start, _ = self._span(node)
        before = self._data[self._starts[node.lineno - 1] : start].decode()
        self._replace(node, (f"\n{before}" if not before.strip() else "; ").join(lines or ["pass"]))

    def _now(self, module: str, name: str, line: int) -> tuple[str, str]:
        """Where `from module import name` finds it today, as (module, name); the module is "" for a top-level one."""
        source = source_of(module, name)
        inner = MODULES.get(f"{module}.{name}")
        if inner is not None and inner.source:
            holder, _, last = inner.source.rpartition(".")
            return holder, last
        if isinstance(source, str):
            holder, _, last = source.partition(":")
            return (holder, last) if last else ("", holder)
        if source is not None:
            self._note_lost(f"{module}.{name}", source, line)
        moved = MODULES[module].source if module in MODULES else None
        return moved or module, name

    def _note_lost(self, path: str, source: Any, line: int) -> None:
        message = source.message if isinstance(source, Lost) else f"{path} is no more"
        self.notes.append((line, message))

    # --- names ------------------------------------------------------------------------------------------

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._aliases.path_of(node)
        if path is None:
            self._of_other_library(node)
            self.generic_visit(node)
            return
        now = name_of_today(path)
        while now is None and isinstance(node.value, ast.Attribute):  # tf.nn.seq2seq.x: a longer path of what moved
            node = node.value
            path = path.rpartition(".")[0]
            now = name_of_today(path)
        if now is not None:
            self._rename(node, now)

    def _rename(self, node: ast.Attribute, now: str) -> None:
        """An attribute of TensorFlow's as the path that it has today, from the same name that it begins with."""
        root: ast.expr = node
        while isinstance(root, ast.Attribute):
            root = root.value
        known = self._aliases.path_of(root)
        if known is not None and now.startswith(f"{known}."):
            self._replace(node, ast.unparse(root) + now.removeprefix(known))

    def _of_other_library(self, node: ast.Attribute) -> None:
        """A name that a library has removed, under the one that it has today if there is one."""
        module = self._aliases.other(node.value) or ""
        source = source_of(module, node.attr)
        if source is None:
            moved = MODULES.get(f"{module}.{node.attr}")
            if moved is not None and moved.source and not isinstance(node.value, ast.Call):
                self._imports[moved.source] = None
                self._replace(node, moved.source)
            return
        if not isinstance(source, str):
            self._note_lost(f"{module}.{node.attr}", source, node.lineno)
            return
        holder, _, name = source.partition(":")
        if not name:
            self._imports[holder] = None
            self._replace(node, holder)
        elif holder == module:
            self._replace(node, f"{ast.unparse(node.value)}.{name}")
        elif holder == "builtins":
            self._replace(node, name)
        else:
            self._imports[holder] = None
            self._replace(node, f"{holder}.{name}")

    # --- methods ----------------------------------------------------------------------------------------

    def _of_method(self, node: ast.Call) -> bool:
        """Whether it calls a method that nothing has any more, under its name of today then."""
        if not isinstance(node.func, ast.Attribute) or node.keywords:
            return False
        method = node.func
        if method.attr == "has_key" and len(node.args) == 1:
            self._replace(node, f"({self._of(node.args[0])} in {self._of(method.value)})")
            return True
        now = None if node.args else _METHODS.get(method.attr)
        if now is None:
            return False
        self.visit(method.value)
        end = self._span(method)[1]
        self._edits.append((end - len(method.attr), end, now))
        if method.attr.startswith("iter") and node not in self._iterated:  # an iterator, of which `next` may be taken
            start, end = self._span(node)
            self._edits += [(start, start, "iter("), (end, end, ")")]
        return True

    # --- arguments --------------------------------------------------------------------------------------

    def visit_Call(self, node: ast.Call) -> None:
        if self._of_method(node):
            return
        path = self._aliases.path_of(node.func)
        function = resolved(name_of_today(path) or path) if path else None
        ordered = self._ordered(node, function)
        if not ordered:
            self._rename_keywords(node, function)
        self.visit(node.func)
        for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
            if ordered is None or not ordered:
                self.visit(argument)

    def _rename_keywords(self, node: ast.Call, function: Any) -> None:
        takes = _parameters(function)
        old: OldArguments | None = getattr(function, "old_arguments", None)
        given = {keyword.arg for keyword in node.keywords}
        for keyword in node.keywords:
            names = old.renamed if old else {}
            name = names.get(keyword.arg or "") or _RENAMED_ARGUMENTS.get(keyword.arg or "")
            if keyword.arg and name and name in takes and name not in given:
                start, _ = self._span(keyword)
                self._edits.append((start, start + len(keyword.arg.encode()), name))

    def _ordered(self, node: ast.Call, function: Any) -> bool:
        """Whether the arguments were in the order of before TensorFlow 1.0, and now are in today's."""
        old: OldArguments | None = getattr(function, "old_arguments", None)
        if old is None or old.told_by is None or not inspect.isfunction(function) or not node.args:
            return False
        if any(isinstance(each, ast.Starred) for each in node.args) or any(each.arg is None for each in node.keywords):
            return False
        named = {old.renamed.get(each.arg or "", each.arg or ""): each.value for each in node.keywords}
        found = old.given(node.args, named)
        if found is None or not _is_old_order(old, found):
            return False
        texts: dict[str, Any] = {name: self._of(value) for name, value in found.items()}
        texts = old.adapt(texts)
        parts, positional = [], True
        for name in _parameters(function):
            if name not in texts:
                positional = False
                continue
            text = texts.pop(name)
            text = f"[{', '.join(text)}]" if isinstance(text, list) else text
            parts.append(text if positional and name not in named else f"{name}={text}")
            positional = positional and name not in named
        if texts:
            return False
        first, last = self._span(node.args[0])[0], max(self._span(each)[1] for each in (*node.args, *node.keywords))
        self._edits.append((first, last, ", ".join(parts)))
        return True

    def _of(self, value: ast.expr) -> str:
        """The text of an argument, ported itself."""
        inner = _Editor(self._text, self._tree, self._divides, self._own_keras)
        inner.visit(value)
        start, end = self._span(value)
        out = bytearray(self._data)
        for begin, stop, new in sorted(inner._edits, reverse=True):
            out[begin:stop] = new.encode()
            end += len(new.encode()) - (stop - begin)
        self._imports |= inner._imports
        self.notes += inner.notes
        return out[start:end].decode()

    # --- division ---------------------------------------------------------------------------------------

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        if not self._divides or not isinstance(node.op, ast.Div):
            return
        if is_whole(node.left) and is_whole(node.right):
            _, start = self._span(node.left)
            at = self._data.index(b"/", start)
            self._edits.append((at, at + 1, "//"))
        elif not any(
            isinstance(side, ast.Constant) and isinstance(side.value, float) for side in (node.left, node.right)
        ):
            self.notes.append((node.lineno, "`/` rounded whole numbers down in Python 2: write `//` if these are"))

    # --- places -----------------------------------------------------------------------------------------

    def _span(self, node: Any) -> tuple[int, int]:
        return self._starts[node.lineno - 1] + node.col_offset, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _replace(self, node: Any, new: str) -> None:
        start, end = self._span(node)
        if self._data[start:end].decode() != new:
            self._edits.append((start, end, new))


def _imported_as(name: str, asname: str) -> str:
    return name if name == asname else f"{name} as {asname}"


def _parameters(function: Any) -> list[str]:
    try:
        return list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return []


class _Unknown:
    """A value that the text does not tell."""


class _UnknownIndex(_Unknown):
    """The same, if it is one whole number."""

    class dtype:
        kind = "i"

    shape = ()


def _is_old_order(old: OldArguments, found: Mapping[str, ast.expr]) -> bool:
    """Whether it is, whatever the values are that the text does not tell; beside a number they are tensors."""
    assert old.told_by is not None
    numbers = any(isinstance(value, ast.Constant) and type(value.value) is int for value in found.values())
    answers = set()
    for unknown in (_Unknown(),) if numbers else (_Unknown(), _UnknownIndex()):
        try:
            answers.add(bool(old.told_by(**{name: _value(value, unknown) for name, value in found.items()})))
        except Exception:  # it looks at what the text does not tell
            return False
    return answers == {True}


def _value(node: ast.expr, unknown: Any) -> Any:
    if isinstance(node, (ast.List, ast.Tuple, ast.ListComp)):
        return [unknown]
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return unknown
