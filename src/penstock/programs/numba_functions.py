"""Functions that Numba compiles, which stay as they are: it knows no functions that a program's text is given."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.programs.report import REPORT


@contextmanager
def left_alone(tree: ast.Module, python2: bool, divides: bool) -> Iterator[None]:
    """Inside, a `pass` stands for each function of the tree that has a decorator of Numba.

    Of Python 2, such a function gets the name that `xrange` has now. divides: whether `/` of whole numbers was rounded
    down, of which there is only a note: what it divides, Numba alone knows.
    """
    names = _names_of_numba(tree)
    if not names:
        yield
        return
    aside = _Aside(names)
    aside.visit(tree)
    yield
    _Back(aside.functions).visit(tree)
    inside = [each for function in aside.functions.values() for each in ast.walk(function)]
    for node in inside if python2 else ():
        if isinstance(node, ast.Name) and node.id == "xrange":
            node.id = "range"
    if divides and any(isinstance(each, ast.Div) for each in inside):
        REPORT.note("`/` in functions of Numba is not rounded down")


def _names_of_numba(tree: ast.Module) -> set[str]:
    """What the text calls Numba, and what it has imported from it."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {each.asname or "numba" for each in node.names if each.name.split(".")[0] == "numba"}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "numba":
            found |= {each.asname or each.name for each in node.names}
    return found


class _Aside(ast.NodeTransformer):
    def __init__(self, names: set[str]) -> None:
        self._names = names
        self.functions: dict[ast.AST, ast.FunctionDef] = {}

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if not any(map(self._is_numbas, node.decorator_list)):
            self.generic_visit(node)
            return node
        place = ast.copy_location(ast.Pass(), node)
        self.functions[place] = node
        return place

    def _is_numbas(self, decorator: ast.expr) -> bool:
        """`@jit`, `@numba.jit`, `@numba.cuda.jit(...)`."""
        while isinstance(decorator, ast.Call | ast.Attribute):
            decorator = decorator.func if isinstance(decorator, ast.Call) else decorator.value
        return isinstance(decorator, ast.Name) and decorator.id in self._names


class _Back(ast.NodeTransformer):
    def __init__(self, functions: dict[ast.AST, ast.FunctionDef]) -> None:
        self._functions = functions

    def visit_Pass(self, node: ast.Pass) -> ast.AST:
        return self._functions.get(node, node)
