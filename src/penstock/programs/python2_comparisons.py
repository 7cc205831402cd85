"""Comparisons of Python 2 that Python 3 lacks: by `__cmp__`, and of None, which was less than everything."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator
from typing import Any

_ORDERS = ("lt", "le", "gt", "ge")
_METHODS = (*_ORDERS, "eq", "ne")
"""What Python 3 asks for where Python 2 asked for `__cmp__`."""

COMPARED: dict[type[ast.cmpop], str] = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}
"""Comparisons by order, and the helpers that do them where something may be None."""


def methods_for_cmp(node: ast.ClassDef, defined: set[str]) -> Iterator[ast.stmt]:
    """Statements that give a class that has `__cmp__` what Python 3 asks for. defined: the methods that it has."""
    made = [f"__{name}__ = _py2_{name}_by_cmp" for name in _METHODS if f"__{name}__" not in defined]
    made += ["__hash__ = object.__hash__"] * ("__hash__" not in defined)
    for statement in ast.parse("\n".join(made)).body:
        for each in ast.walk(statement):
            ast.copy_location(each, node)
        yield statement


def given_none(tree: ast.AST) -> set[str]:
    """The names and attributes that are None by an assignment or a default."""
    return {name for node in ast.walk(tree) for name in _given_none(node)}


def _given_none(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Assign(targets=targets, value=ast.Constant(value=None)):
            yield from map(ast.unparse, targets)
        case ast.arguments(args=names, defaults=defaults):
            for name, default in zip(names[len(names) - len(defaults) :], defaults, strict=True):
                if is_none(default):
                    yield name.arg


def is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _compared(wanted: Callable[[int, int], bool]) -> Callable[[Any, Any], Any]:
    """A method of classes that have `__cmp__`."""

    def method(self: Any, other: Any) -> Any:
        found = self.__cmp__(other)
        return found if found is NotImplemented else wanted(found, 0)

    return method


def _ordered(compare: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """A comparison where None is less than everything else."""

    def ordered(a: Any, b: Any) -> Any:
        if a is None or b is None:
            try:
                return compare(a, b)  # of what compares itself with None, as tensors do
            except TypeError:
                return compare(a is not None, b is not None)
        return compare(a, b)

    return ordered


HELPERS: dict[str, Any] = {
    **{f"_py2_{name}": _ordered(getattr(operator, name)) for name in _ORDERS},
    **{f"_py2_{name}_by_cmp": _compared(getattr(operator, name)) for name in _METHODS},
}
"""What the conversion calls."""
