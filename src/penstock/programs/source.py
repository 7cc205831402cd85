"""The text of programs, as code: Python 3's as it is, Python 2's converted in memory. Modules beside programs."""

from __future__ import annotations

import ast
import builtins
import linecache
import re
import sys
import tokenize
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.abc import PathEntryFinder
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ExtensionFileLoader,
    FileFinder,
    ModuleSpec,
    SourceFileLoader,
    SourcelessFileLoader,
)
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from penstock.programs import (
    chained,
    fewer_results,
    list_indices,
    numba_functions,
    one_element,
    promotion,
    python2 as language,
    python2_generators as generators,
    python2_parsing as parsing,
    python2_signs as signs,
)
from penstock.programs.places import is_of_program
from penstock.programs.python2_lists import VIEWS, views_taken
from penstock.programs.report import REPORT

_OF_NAMES = (chained, fewer_results, promotion)
"""What changes the trees of code that mentions certain names."""
_HELPERS = {
    **chained.HELPERS,
    **one_element.HELPERS,
    **promotion.HELPERS,
    **fewer_results.HELPERS,
    **list_indices.HELPERS,
}


class UnreadableError(ValueError):
    """A file, or a cell of a notebook, is no program. The message begins with the file and the line."""

    exit_status = 2
    """Of commands that were to run it: they were called wrongly."""


@dataclass(frozen=True, slots=True)
class Translated:
    """Code, and what it has as its built-ins (None: Python's)."""

    code: CodeType
    builtins: dict[str, Any] | None = None
    python2: bool = False

    def prepare(self, namespace: dict[str, Any]) -> None:
        """To be done before the code is run in it."""
        if self.builtins is not None:
            namespace["__builtins__"] = self.builtins


def read(path: str | Path) -> str:
    """Text in the encoding that it declares; else UTF-8 or, where it is not, Latin-1. Raises OSError."""
    try:
        with tokenize.open(path) as file:
            return file.read()
    except (SyntaxError, UnicodeDecodeError):
        data = Path(path).read_bytes()
        linecache.cache[str(path)] = (len(data), None, data.decode("latin-1").splitlines(True), str(path))
        declared = re.compile(r"^([ \t\f]*#.*?coding[:=][ \t]*)[-\w.]+", re.MULTILINE)
        return declared.sub(r"\1utf-8", data.decode("latin-1"), count=1)


def translate(text: str, file: str, *, python2: bool = False, folder: Path | None = None) -> Translated:
    """python2: whether text that parses as Python 3 as well is Python 2. folder: of the package that it is a module of.

    Raises SyntaxError if it is neither.
    """
    try:
        code = compile(text, file, "exec", dont_inherit=True)
    except SyntaxError as error:
        return convert(parsing.tree_of(text, file, error), file, python2=True, folder=folder)
    except parsing.UNPARSABLE as error:
        raise parsing.unparsable(error, file) from None
    return of_code(code, lambda: text, file, python2, folder)


def of_code(code: CodeType, text: Callable[[], str], file: str, python2: bool, folder: Path | None) -> Translated:
    """Code as Python 3 compiles it, changed if it says that it is of another time. text: gives the file's text."""
    names = signs.names_of(code)
    asked = signs.may_be_python2(code, names) or any(part.is_needed(names) for part in _OF_NAMES)
    asked = asked or python2 or one_element.is_needed(code, names) or list_indices.is_needed(code, names)
    asked = asked or generators.is_needed(code)
    if not asked and not names & VIEWS:
        return Translated(code)
    tree, line = parsing.parse(text(), file)
    if not asked and not views_taken(tree):
        return Translated(code)
    python2 = python2 or line is not None or signs.is_python2(tree)
    return convert(tree, file, python2=python2, folder=folder)


def convert(
    tree: ast.Module,
    file: str,
    *,
    python2: bool,
    folder: Path | None = None,
    divides: bool = True,
    flags: int = 0,
) -> Translated:
    """A tree that Python 3 parses. divides: whether `/` of whole numbers is rounded down if it is Python 2. flags: what
    was imported from __future__ before."""
    names, known = vars(builtins), signs.futures(tree)
    divides = python2 and divides and "division" not in known
    with numba_functions.left_alone(tree, python2, divides):
        if python2:
            REPORT.converted.add(file)
            tree = language.Meaning(None if "absolute_import" in known else folder, divides).visit(tree)
            names = _python2_builtins()
        elif signs.has_gone(tree):
            from penstock.programs.python2_names import PARTLY

            tree, names = language.Gone(tree).visit(tree), PARTLY
        tree = tree if python2 else generators.Conversions().visit(tree)
        tree = chained.converted(tree)
        tree = promotion.Conversions(tree).visit(tree)
        tree = one_element.Conversions(tree).visit(tree)
        tree = list_indices.Conversions(tree).visit(fewer_results.Unpackings().visit(tree))
    one_element.format_logs()
    code = compile(ast.fix_missing_locations(tree), file, "exec", flags, dont_inherit=True)
    return Translated(code, {**names, **_HELPERS}, python2)


@cache
def _python2_builtins() -> dict[str, Any]:
    from penstock.programs.python2_names import WHOLLY

    return {**WHOLLY, "execfile": _execfile}


def _execfile(path: str, namespace: Any = None, local: Any = None) -> None:
    into = sys._getframe(1).f_globals if namespace is None else namespace
    exec(translate(read(path), path, python2=True).code, into, into if local is None else local)


class ProgramLoader(SourceFileLoader):
    """Loads the modules beside a program. What Python 3 compiles is cached in files as always, what is converted is
    not."""

    python2 = False
    """Whether the program is Python 2: then its modules are, too."""

    _found: Translated | None = None

    def _translated(self) -> Translated:
        name, path = self.name, self.path
        folder = Path(path).parent if "." in name or self.is_package(name) else None
        try:
            code = super().get_code(name)
        except (SyntaxError, UnicodeDecodeError):
            return translate(read(path), path, python2=self.python2, folder=folder)
        assert code is not None
        return of_code(code, lambda: read(path), path, self.python2, folder)

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        self._found = self._translated()
        module = ModuleType(spec.name)
        self._found.prepare(vars(module))
        return module

    def get_code(self, fullname: str) -> CodeType | None:
        return (self._found or self._translated()).code


_LOADERS = (
    (ExtensionFileLoader, EXTENSION_SUFFIXES),
    (ProgramLoader, SOURCE_SUFFIXES),
    (SourcelessFileLoader, BYTECODE_SUFFIXES),
)


def _finder(path: str) -> PathEntryFinder:
    if not is_of_program(path):
        raise ImportError("not of a program", path=path)
    return _make_finder(path)


_make_finder = FileFinder.path_hook(*_LOADERS)


def find_beside(name: str) -> str | None:
    """The full name of a module that the importing module of a program has beside it in its package.

    Python 2 found those by their short names, which packages that were never run with Python 3 rely on.
    """
    frame: Any = sys._getframe(1)
    while frame is not None and not is_of_program(frame.f_code.co_filename):
        frame = frame.f_back
    package = frame.f_globals.get("__package__") if frame is not None else None
    if not package or "." in name:
        return None
    folder = Path(frame.f_code.co_filename).parent
    if (folder / f"{name}.py").is_file() or (folder / name / "__init__.py").is_file():
        return f"{package}.{name}"
    return None


def install() -> None:
    """From now on, modules that are not of libraries are loaded by ProgramLoader."""
    if _finder in sys.path_hooks:
        return
    sys.path_hooks.insert(0, _finder)
    for path in list(sys.path_importer_cache):
        if is_of_program(path):
            del sys.path_importer_cache[path]


def register_lines(file: str, text: str) -> None:
    """Tracebacks show the lines of what is no file."""
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
