"""`penstock port` of files: programs and notebooks, with the modules of their own that they import."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from penstock.programs import imported, readable, source
from penstock.programs.check import check
from penstock.programs.port import Ported, port
from penstock.programs.removed.keras import PACKAGE as KERAS


@dataclass(frozen=True, slots=True)
class PortedFile:
    """before: its text, as it is in the file."""

    path: Path
    before: str
    now: Ported

    @property
    def changes(self) -> bool:
        return self.now.text != self.before


def port_programs(paths: list[Path]) -> Iterator[PortedFile]:
    """Programs, those in folders, and the modules of their own that they import, each once: plain Python runs a program
    only if none of them imports TensorFlow. Raises OSError, ValueError as `port_file` does and if there is no program.
    """
    seen = set[Path]()
    for path in paths:
        files = check([path]).files
        python2 = path.is_file() and _is_python2(path)  # then its modules are, too, as when it runs
        for file in files:
            if file.resolve() not in seen:
                seen.add(file.resolve())
                yield port_file(file, python2=python2)


def _is_python2(path: Path) -> bool:
    try:
        return readable.read(path).python2 is not None
    except (SyntaxError, ValueError):
        return False  # which porting it tells


def port_file(path: Path, *, python2: bool = False) -> PortedFile:
    """A program or notebook. python2: whether text that parses as Python 3 as well is Python 2. Raises OSError,
    ValueError if it is neither Python 3 nor Python 2."""
    text = source.read(path)
    try:
        own_keras = imported.is_beside(KERAS, [path.parent])
        make = _port_notebook if path.suffix == ".ipynb" else port
        now = make(text, python2=python2, own_keras=own_keras)
    except _NoNotebookError as error:
        raise ValueError(f"{path} is no notebook: {error}") from None
    except SyntaxError as error:
        raise ValueError(f"{path}: {error}") from None
    return PortedFile(path, text, now)


_CELL = "# penstock: the next cell\n"
_MAGIC = "# penstock: no Python: "


class _NoNotebookError(Exception):
    """A file is JSON of another form, or none."""


def _port_notebook(text: str, *, python2: bool, own_keras: bool) -> Ported:
    """The cells of code together, because they share their names; lines that are no Python stay as they are."""
    try:
        book = json.loads(text)
        sheets, key = ([book], "source") if "cells" in book else (book["worksheets"], "input")  # which the format 3 had
        cells = [cell for sheet in sheets for cell in sheet["cells"] if cell["cell_type"] == "code"]
        texts = ["".join(_masked(line) for line in "".join(cell[key]).splitlines(keepends=True)) for cell in cells]
    except (json.JSONDecodeError, LookupError, RecursionError, TypeError) as error:
        raise _NoNotebookError(f"{type(error).__name__}: {error}") from None
    ported = port(_CELL.join(f"{each}\n" for each in texts), python2=python2, own_keras=own_keras)
    for cell, new in zip(cells, ported.text.split(_CELL), strict=bool(cells)):
        lines = new.removesuffix("\n").replace(_MAGIC, "")
        cell[key] = lines.splitlines(keepends=True) if isinstance(cell[key], list) else lines
    end = "\n" if text.endswith("\n") else ""
    return Ported(json.dumps(book, indent=1, ensure_ascii=False) + end, ported.notes)


def _masked(line: str) -> str:
    begin = line.lstrip()
    return f"{line[: len(line) - len(begin)]}{_MAGIC}{begin}" if begin.startswith(("%", "!", "?")) else line
