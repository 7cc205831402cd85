"""What is in a program's way before it is run: what Penstock lacks, packages and files that are not there, what
`penstock run` deals with."""

from __future__ import annotations

import ast
import importlib
import inspect
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

from penstock.absent import NotInPenstockError
from penstock.old_names import INSTEAD, OldArguments
from penstock.programs import imported, python2_signs, readable, removed
from penstock.programs.data_files import Files
from penstock.programs.readable import Readable
from penstock.programs.removed import keras, keras_names
from penstock.programs.removed.giving import Lost
from penstock.programs.shell import EMULATED
from penstock.programs.uses import HUB, PACKAGES, TENSORFLOW, Aliases, Use, imports_of, uses_of

Kind = Literal["missing", "unknown", "argument", "package", "module", "data", "lost", "syntax"]
"""missing: TensorFlow 1.x has it, Penstock does not. unknown: neither does. argument: a function does not take it.
package: what it imports is not installed. module: its own, where it does not look. data: a file that it reads is not
there. lost: nothing has it any more. syntax: it does not parse."""
Handled = Literal["python 2", "renamed", "removed", "skipped"]
"""What `penstock run` deals with: text of Python 2, names of TensorFlow from before 1.0, what libraries have removed,
what a notebook asks of IPython."""


_KERAS = "tensorflow.python.keras"
"""What `keras` is, when a program's folder has none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """level: "lacks" is in the way, "handled" is not. line: where it is first; of the cell, in a notebook."""

    file: str
    line: int
    level: Literal["lacks", "handled"]
    kind: Kind | Handled
    what: str
    message: str


@dataclass(frozen=True, slots=True)
class Package:
    """module: as it is imported. pip: as pip calls it."""

    module: str
    pip: str
    installed: bool


@dataclass(frozen=True, slots=True)
class Data:
    """A file that it reads. found: where it is; None if it is neither in the current folder nor in the program's. made:
    the program writes it, or asks whether it is there."""

    file: str
    line: int
    path: str
    found: str | None
    made: bool


@dataclass(frozen=True, slots=True)
class Download:
    """address: "" if the text does not say it."""

    file: str
    line: int
    address: str


@dataclass(slots=True)
class Checked:
    """files: that were looked at, modules after what imports them. uses: names of TensorFlow that they use."""

    files: list[Path] = field(default_factory=list)
    uses: set[str] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)
    packages: dict[str, Package] = field(default_factory=dict)
    data: list[Data] = field(default_factory=list)
    downloads: list[Download] = field(default_factory=list)

    @property
    def lacks(self) -> bool:
        """Whether something is in the way."""
        return any(each.level == "lacks" for each in self.findings)


@dataclass(frozen=True, slots=True)
class _Program:
    """A file to be looked at. roots: where its modules are looked for. start: the folder of the program that begins.
    follows: whether its own modules are looked at, too. is_first: whether it is to be run."""

    file: Path
    roots: list[Path]
    start: Path
    follows: bool
    is_first: bool = False


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Of modules that are looked into, which may warn of their own imports."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)


@_without_warnings()
def check(paths: Sequence[Path]) -> Checked:
    """Reads programs and notebooks with the modules beside them, and all those in folders; runs none. Raises OSError if
    one cannot be read, ValueError if there is none."""
    todo = [program for path in paths for program in _programs(path)]
    if not todo:
        raise ValueError(f"there is no Python program in {', '.join(map(str, paths))}")
    checked, seen = Checked(), set[Path]()
    for program in todo:  # which grows by the modules that programs import
        if program.file.resolve() in seen:
            continue
        seen.add(program.file.resolve())
        checked.files.append(program.file)
        try:
            text = readable.read(program.file)
        except (SyntaxError, ValueError) as error:
            place = getattr(error, "filename", None) or str(program.file), getattr(error, "lineno", None) or 1
            message = str(error)
            if isinstance(error, SyntaxError):
                message = f"it is neither Python 3 nor Python 2: {error.msg}"
            checked.findings.append(Finding(*place, "lacks", "syntax", "", message))
            continue
        todo += _add(checked, program, text)
    checked.findings = sorted(dict.fromkeys(checked.findings), key=lambda each: each.level != "lacks")
    return checked


def _programs(path: Path) -> list[_Program]:
    if path.is_file():
        return [_Program(path, [path.parent], path.parent, True, True)]
    files = sorted({*path.rglob("*.py"), *path.rglob("*.ipynb")})
    shown = [file for file in files if not any(part.startswith(".") for part in file.relative_to(path).parts)]
    return [_Program(file, [file.parent, path], file.parent, False) for file in shown]


def _add(checked: Checked, program: _Program, text: Readable) -> Iterable[_Program]:
    """Adds what is found in a program. Returns its own modules."""
    own_keras = imported.is_beside(keras.PACKAGE, [*program.roots, program.file.parent])
    aliases = Aliases(text.tree, {} if own_keras else {keras.PACKAGE: _KERAS})
    uses = uses_of(text.tree, aliases)
    checked.uses.update(use.path for use in uses)
    found = [*_gone(text, aliases), *(each for use in uses for each in _of_tensorflow(use))]
    files = Files(text.tree, aliases, program.file)
    program.roots.extend(files.module_folders(program.start))
    modules: list[Path] = []
    for module, line in imports_of(text.tree):
        name = module.lstrip(".")
        beside = program.file.absolute().parents  # where Python 2 looked as well, which `penstock run` does
        roots = [*program.roots, beside[0]] if name == module else [beside[len(module) - len(name) - 1]]
        modules += imported.files_of(name, roots)
        found += _imported(checked, module, line, program, text.python2 is not None)
    for file in files.read(program.start):
        place = None if file.found is None else str(file.found)
        checked.data.append(Data(*text.place(file.line), file.path, place, file.made))
        if file.found is None and not file.made:
            found.append(_Found(file.line, "data", file.path, f"it reads {file.path}, which is not there"))
    checked.downloads += (Download(*text.place(line), address) for address, line in files.downloads())
    told: set[tuple[str, str]] = {(e.kind, e.what) for e in checked.findings if e.kind in ("package", "module")}
    for each in sorted(found, key=lambda each: each.line):
        if (each.kind, each.what) in told:
            continue
        if each.is_handled or each.kind in ("package", "module"):  # told once: for a file, for all
            told.add((each.kind, each.what))
        level: Literal["lacks", "handled"] = "handled" if each.is_handled else "lacks"
        checked.findings.append(Finding(*text.place(each.line), level, each.kind, each.what, each.message))
    return [_Program(file, program.roots, program.start, True) for file in modules] if program.follows else []


@dataclass(frozen=True, slots=True)
class _Found:
    line: int
    kind: Kind | Handled
    what: str
    message: str
    is_handled: bool = False


def _imported(checked: Checked, module: str, line: int, program: _Program, is_python2: bool) -> Iterator[_Found]:
    if module.startswith("."):
        if program.is_first:
            message = f"it is a module of a package, as its import of {module} says: run it with -m, or what imports it"
            yield _Found(line, "module", ".", message)
        return
    top = module.partition(".")[0]
    if (
        imported.is_of_python(top)
        or top in (*PACKAGES, HUB, keras.PACKAGE, *removed.WHOLE)
        or imported.is_beside(top, [*program.roots, program.file.parent])
    ):
        return
    if top in python2_signs.GONE_MODULES and is_python2:
        return
    installed = imported.is_installed(top)
    above = None if installed else imported.folder_above(top, program.start)
    if above is not None:
        yield _Found(line, "module", top, imported.elsewhere(module, above))
        return
    checked.packages[top] = Package(top, imported.pip_name(module), installed)
    if not installed:
        yield _Found(line, "package", top, imported.not_found(module))


# --- what others have removed ----------------------------------------------------------------------------


def _gone(text: Readable, aliases: Aliases) -> Iterator[_Found]:
    if text.python2 is not None:
        yield _Found(text.python2, "python 2", "Python 2", "Python 2 is converted", is_handled=True)
    for node in ast.walk(text.tree):
        match node:
            case ast.Attribute(value=holder, attr=name):
                yield from _removed(aliases.other(holder), name, node.lineno)
                if name in python2_signs.GONE and text.python2 is None:
                    yield _Found(node.lineno, "python 2", name, f".{name} does what it did in Python 2", True)
            case ast.Import(names=names):
                for alias in names:
                    yield from _removed_module(alias.name, node.lineno)
            case ast.ImportFrom(module=str() as module, names=names, level=0):
                yield from _removed_module(module, node.lineno)
                for alias in names:
                    yield from _removed(module, alias.name, node.lineno)
                    yield from _removed_module(f"{module}.{alias.name}", node.lineno)
            case ast.Call(func=ast.Attribute(attr="run_line_magic"), args=[ast.Constant(value=str() as name), *_]):
                if name not in EMULATED:
                    yield _Found(node.lineno, "skipped", f"%{name}", f"%{name} is skipped", True)
            case ast.Call(func=ast.Attribute(value=ast.Call(func=ast.Name(id="get_ipython")), attr="system")):
                yield _Found(node.lineno, "skipped", "!", "commands of a shell are skipped, but for !mkdir", True)


def _removed(module: str | None, name: str, line: int) -> Iterator[_Found]:
    source = removed.source_of(module, name) if module else None
    if source is None or name in vars(sys.modules.get(module or "", object)):
        return  # this version has it
    shown = f"{module}.{name}"
    if isinstance(source, Lost):
        yield _Found(line, "lost", shown, source.message)
    else:
        yield _Found(line, "removed", shown, f"{shown} is no more, and is given back", is_handled=True)


def _removed_module(module: str, line: int) -> Iterator[_Found]:
    if module in removed.MODULES:
        yield _Found(line, "removed", module, f"{module} is no more, and is given back", is_handled=True)


# --- names of TensorFlow ---------------------------------------------------------------------------------


def _of_tensorflow(use: Use) -> Iterator[_Found]:
    shown = _shown(use.path)
    found = _resolved(use.path)
    if isinstance(found, _Absent):
        yield _Found(use.line, found.kind, shown, found.message)
        return
    told = (inspect.getdoc(found) or "").partition(" (TF: ")[0] if inspect.isfunction(found) else ""
    if told.startswith("Raises UnimplementedError"):  # it is there for its message only
        yield _Found(use.line, "missing", shown, f"{shown} {told[0].lower()}{told[1:]}")
    if now := name_of_today(use.path):
        yield _Found(use.line, "renamed", shown, f"{shown} is {_shown(now)} today", is_handled=True)
    accepted = _arguments(found)
    for keyword in use.keywords:
        if accepted is not None and keyword not in accepted:
            yield _Found(use.line, "argument", shown, f"{shown} takes no argument {keyword!r}")


def _shown(path: str) -> str:
    return path.replace(TENSORFLOW, "tf", 1)


def name_of_today(path: str) -> str | None:
    """What a name from before TensorFlow 1.0 (tensorflow.mul) is today (tensorflow.multiply); None for others."""
    module, _, name = path.rpartition(".")
    now = INSTEAD.get("penstock" + module.removeprefix(TENSORFLOW), {}).get(name)
    return TENSORFLOW + now.removeprefix("tf") if now else None


@dataclass(frozen=True)
class _Absent:
    kind: Kind
    message: str


def resolved(path: str) -> Any:
    """What Penstock has for `path`; None if it has nothing, or if that cannot be seen."""
    found = _resolved(path)
    return None if isinstance(found, _Absent) else found


def is_there(path: str) -> bool:
    """Whether Penstock has what is `path` (as in `tensorflow.train.Saver`) in TensorFlow."""
    return not isinstance(_resolved(path), _Absent)


@cache
def _resolved(path: str) -> Any:
    """What Penstock has for it, through modules, and through classes for what they have themselves; else None, because
    what objects have cannot be seen in their classes."""
    found: Any = importlib.import_module("penstock")
    done = TENSORFLOW
    for name in path.split(".")[1:]:
        if not isinstance(found, ModuleType):
            found = getattr(found, name, None) if isinstance(found, type) else None
            continue
        done += f".{name}"
        try:
            found = _member(found, name)
        except NotInPenstockError as error:
            return _Absent("missing", str(error))
        except (AttributeError, ImportError) as error:
            if keras_names.is_given(done.removeprefix(f"{_KERAS}.")):
                return None
            if done.startswith(("tensorflow.python.", "tensorflow.core.")):
                return _Absent("missing", f"{done} is inside TensorFlow, and Penstock has no such name there")
            return _Absent("unknown", str(error))
    return found


def _member(module: ModuleType, name: str) -> Any:
    try:
        return getattr(module, name)
    except NotInPenstockError:
        raise
    except AttributeError:
        if not hasattr(module, "__path__") and module.__name__ + "." + name not in sys.modules:
            raise
        try:
            return importlib.import_module(f"{module.__name__}.{name}")
        except ModuleNotFoundError:
            pass
        raise


def _arguments(function: Any) -> set[str] | None:
    """Names of arguments that it takes; None if it takes any, or that cannot be seen."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return None
    old: OldArguments | None = getattr(function, "old_arguments", None)
    names = {each.name for each in parameters if each.kind is not each.POSITIONAL_ONLY}
    return names | set(old.renamed if old else ())
