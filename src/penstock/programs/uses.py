"""What a program's text uses of TensorFlow, found without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.programs.python2_signs import asks_for_version

TENSORFLOW = "tensorflow"
HUB = "tensorflow_hub"
PACKAGES = dict.fromkeys((TENSORFLOW, "tensorflow_core", "tensorflow_estimator"), TENSORFLOW)
"""By a package's name: TensorFlow, in which its modules are; that of TensorFlow 1.15 is in two packages."""


@dataclass(frozen=True, slots=True)
class Use:
    """path: as in `tensorflow.train.Saver`. keywords: names of arguments, if it is called there. is_import: it must be
    there for the program to begin."""

    path: str
    line: int
    keywords: tuple[str, ...] = ()
    is_import: bool = False


def uses_of(tree: ast.Module, aliases: Aliases) -> list[Use]:
    """In the order of lines; a name that is used as part of a longer one is not a use of its own."""
    found = _Reader(tree, aliases)
    return sorted(found.uses, key=lambda use: use.line)


def imports_of(tree: ast.Module) -> list[tuple[str, int]]:
    """What it imports that may be a module (`a.b`, `.c`), with its line, except where it is ready for its absence."""
    found = []
    for node in _without_attempts(tree):
        if isinstance(node, ast.Import):
            found += [(alias.name, node.lineno) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            inner = [f"{node.module}.{alias.name}" if node.module else alias.name for alias in node.names]
            found += [(dots + name, node.lineno) for name in dict.fromkeys([node.module, *inner]) if name]
    return found


def _without_attempts(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes below, but for `try:` blocks that catch failing imports, and what is for one version of Python."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Try) and any(_catches_imports(handler) for handler in child.handlers):
            continue
        if isinstance(child, ast.If) and asks_for_version(child):
            continue
        yield child
        yield from _without_attempts(child)


def _catches_imports(handler: ast.ExceptHandler) -> bool:
    names = (
        {node.id for node in ast.walk(handler.type) if isinstance(node, ast.Name)} if handler.type else {"Exception"}
    )
    return bool(names & {"ImportError", "ModuleNotFoundError", "Exception"})


class Aliases:
    """What names mean in a text: `import tensorflow as tf`, `from tensorflow.contrib import slim`, `nn = tf.nn`.

    inside: packages that are inside TensorFlow, with their paths there: {"keras": "tensorflow.python.keras"}."""

    def __init__(self, tree: ast.Module, inside: Mapping[str, str] | None = None) -> None:
        self._packages = {**PACKAGES, **(inside or {})}
        self._paths: dict[str, str] = {}
        self._others: dict[str, str] = {}
        self.imports: list[Use] = []
        for node in ast.walk(tree):  # first all imports: functions may use what is imported below them
            if isinstance(node, ast.Import):
                self._import(node)
            elif isinstance(node, ast.ImportFrom):
                self._import_from(node)
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign):
                self._assign(node)

    def path_of(self, node: ast.expr) -> str | None:
        """As in `tensorflow.nn.relu`; None for what is not TensorFlow's."""
        return _path_in(self._paths, node)

    def other(self, node: ast.expr) -> str | None:
        """The same for other libraries: `numpy.random.rand`."""
        return _path_in(self._others, node)

    def _import(self, node: ast.Import) -> None:
        for alias in node.names:
            top = alias.name.partition(".")[0]
            path = self._inside(alias.name)
            if path:
                self.imports.append(Use(path, node.lineno, is_import=True))
                self._paths[alias.asname or top] = path if alias.asname else self._packages[top]
            else:
                self._others[alias.asname or top] = alias.name if alias.asname else top

    def _import_from(self, node: ast.ImportFrom) -> None:
        if node.level or not node.module:
            return
        module = self._inside(node.module)
        if not module:
            for alias in node.names:
                self._others[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            return
        for alias in node.names:
            path = module if alias.name == "*" else f"{module}.{alias.name}"
            self.imports.append(Use(path, node.lineno, is_import=True))
            self._paths[alias.asname or alias.name] = path

    def _inside(self, module: str) -> str | None:
        """Its path, if it is of TensorFlow."""
        top = module.partition(".")[0]
        return self._packages[top] + module.removeprefix(top) if top in self._packages else None

    def _assign(self, node: ast.Assign) -> None:
        """`rnn = tf.contrib.rnn` is another name for it."""
        path = self.path_of(node.value)
        if path and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._paths.setdefault(node.targets[0].id, path)


def _path_in(paths: dict[str, str], node: ast.expr) -> str | None:
    if isinstance(node, ast.Name):
        return paths.get(node.id)
    if isinstance(node, ast.Attribute):
        before = _path_in(paths, node.value)
        return f"{before}.{node.attr}" if before else None
    return None


class _Reader(ast.NodeVisitor):
    """Lists the uses of names that are TensorFlow's."""

    def __init__(self, tree: ast.Module, aliases: Aliases) -> None:
        self._aliases = aliases
        self.uses = self._aliases.imports
        self.visit(tree)

    def visit_Call(self, node: ast.Call) -> None:
        path = self._aliases.path_of(node.func)
        if path is None:
            self.visit(node.func)
        else:
            keywords = tuple(keyword.arg for keyword in node.keywords if keyword.arg)
            self.uses.append(Use(path, node.lineno, keywords))
        for argument in (*node.args, *node.keywords):
            self.visit(argument)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        path = self._aliases.path_of(node)
        if path is None:
            self.visit(node.value)
        elif isinstance(node.ctx, ast.Load):
            self.uses.append(Use(path, node.lineno))
