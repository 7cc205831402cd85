"""Programs and notebooks as trees of Python 3, to be looked at, with where their lines are."""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.programs import notebook, python2_parsing, python2_signs, source
from penstock.programs.magics import plain


@dataclass(frozen=True, slots=True)
class Readable:
    """place: of a line of the tree, (file or cell, line in it). python2: the line that says so, if it is Python 2."""

    tree: ast.Module
    place: Callable[[int], tuple[str, int]]
    python2: int | None = None


@dataclass
class _Parts:
    body: list[ast.stmt] = field(default_factory=list)
    starts: list[int] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    python2: int | None = None
    end: int = 0

    def add(self, name: str, text: str) -> None:
        tree, line = python2_parsing.parse(text, name)
        ast.increment_lineno(tree, self.end)
        if line is not None and self.python2 is None:
            self.python2 = line + self.end
        self.body += tree.body
        self.starts.append(self.end)
        self.names.append(name)
        self.end += text.count("\n") + 1

    def place(self, line: int) -> tuple[str, int]:
        part = max(bisect_right(self.starts, line - 1) - 1, 0)
        return self.names[part], line - self.starts[part]


def read(file: Path) -> Readable:
    """A program, or the cells of a notebook. Raises OSError, ValueError for no notebook, SyntaxError for text that is
    neither Python 3 nor Python 2."""
    parts = _Parts()
    if file.suffix == ".ipynb":
        book = notebook.read(str(file))
        for cell in book.cells:
            parts.add(cell.name, plain(cell.text))
        said = 1 if book.python2 and book.cells else None
    else:
        parts.add(str(file), source.read(file))
        said = None
    tree = ast.Module(parts.body, [])
    found = parts.python2 or said or python2_signs.python2_line(tree)
    return Readable(tree, parts.place, found)
