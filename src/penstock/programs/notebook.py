"""Notebooks: their cells of code in order, in one namespace."""

from __future__ import annotations
import __future__

import ast
import os
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.programs import python2_parsing, python2_signs, source, windows
from penstock.programs.magics import plain
from penstock.programs.report import REPORT
from penstock.programs.shell import Shell, display


@dataclass(frozen=True, slots=True)
class Cell:
    """name: with which tracebacks say where it is; code cells count from 1. may_fail: its author says that it fails."""

    name: str
    text: str
    may_fail: bool


@dataclass(frozen=True, slots=True)
class Notebook:
    cells: list[Cell]
    python2: bool


def read(path: str) -> Notebook:
    """A notebook of any version of the format. Raises ValueError if it is none, or not in Python."""
    import nbformat

    data = Path(path).read_bytes()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fields that only notebooks of today have
            found: Any = nbformat.reads(data.decode(), as_version=4)
        about = found.metadata.get("kernelspec", {}), found.metadata.get("language_info", {})
        language = str(about[0].get("language") or about[1].get("name") or "python")
        codes = [cell for cell in found.cells if cell.cell_type == "code"]
        cells = [
            Cell(f"{path}, cell {number}", "".join(cell.source), "raises-exception" in cell.metadata.get("tags", ()))
            for number, cell in enumerate(codes, 1)
        ]
        version = str(about[1].get("version", ""))
        is_python2 = version.startswith("2") or about[0].get("name") == "python2"
    except Exception as error:  # nbformat raises what it happens on, and leaves much in a form that is none
        raise ValueError(f"{path} is no notebook: {error or type(error).__name__}") from None
    if not language.lower().startswith(("python", "ipython")):
        raise ValueError(f"{path} is a notebook in {language}, and only those in Python can be run")
    return Notebook(cells, is_python2)


def run(path: str, book: Notebook, codes: list[source.Translated | SyntaxError], namespace: dict[str, Any]) -> None:
    """Runs the cells in the notebook's folder, as Jupyter does. Raises UnreadableError at a cell that is no program."""
    shell = Shell(namespace)
    namespace.update(get_ipython=lambda: shell, display=display)
    os.chdir(Path(path).resolve().parent)
    for cell, code in zip(book.cells, codes, strict=True):
        try:
            if isinstance(code, SyntaxError):
                raise source.UnreadableError(f"{cell.name}, line {code.lineno}: {code.msg}")
            code.prepare(namespace)
            exec(code.code, namespace)
        except Exception as error:
            if not cell.may_fail:
                raise
            print(f"{type(error).__name__}: {error}", file=sys.stderr)
        windows.write_figures()


def translate(book: Notebook) -> list[source.Translated | SyntaxError]:
    """The code of its cells, or why one is neither Python 3 nor Python 2. If one is Python 2, all are: they share their
    names."""
    trees: list[ast.Module | SyntaxError] = []
    is_python2 = book.python2
    for cell in book.cells:
        source.register_lines(cell.name, cell.text)
        try:
            tree, line = python2_parsing.parse(plain(cell.text), cell.name)
        except SyntaxError as error:
            trees.append(error)
            continue
        trees.append(tree)
        is_python2 = is_python2 or line is not None
    parsed = [tree for tree in trees if isinstance(tree, ast.Module)]
    is_python2 = is_python2 or python2_signs.is_python2(ast.Module([part for tree in parsed for part in tree.body], []))
    codes: list[source.Translated | SyntaxError] = []
    known: set[str] = set()
    before = len(REPORT.converted)
    for cell, found in zip(book.cells, trees, strict=True):
        if isinstance(found, SyntaxError):
            codes.append(found)
            continue
        tree = found
        known |= python2_signs.futures(tree)
        tree.body = [
            part for part in tree.body if not (isinstance(part, ast.ImportFrom) and part.module == "__future__")
        ]
        if tree.body and isinstance(tree.body[-1], ast.Expr) and not cell.text.rstrip().endswith(";"):
            _show(tree.body[-1])
        flags = 0
        for name in known & set(__future__.all_feature_names):
            flags |= getattr(__future__, name).compiler_flag
        codes.append(source.convert(tree, cell.name, python2=is_python2, divides="division" not in known, flags=flags))
    if len(REPORT.converted) > before:  # one file
        REPORT.converted -= {cell.name for cell in book.cells}
        REPORT.converted.add(book.cells[0].name.rpartition(",")[0])
    return codes


def _show(last: ast.Expr) -> None:
    """The value that a cell ends with is shown."""
    shell = ast.parse("get_ipython().show", mode="eval").body
    for node in ast.walk(shell):
        ast.copy_location(node, last)
    last.value = ast.copy_location(ast.Call(shell, [last.value], []), last)
