"""Lists as indices of arrays, one element for each axis, which were tuples until NumPy 1.23.

Programs make them so: `index = [slice(None)] * x.ndim; index[axis] = 0; x[index]`, or `p[[range(n), labels]]`. Arrays
cannot be changed, so the syntax tree is: indices that are names in modules with lists of slices, and lists that are
written as indices.
"""

from __future__ import annotations

import ast
import opcode
from collections.abc import Callable
from types import CodeType
from typing import Any

import numpy as np

from penstock.programs.report import REPORT

_SLICES, _ROWS = "_index_of_slices", "_index_of_rows"


def is_needed(code: CodeType, names: set[str]) -> bool:
    """Whether code that mentions these names may do it: it uses NumPy, and makes slices, or writes lists as indices."""
    return not names.isdisjoint({"np", "numpy"}) and ("slice" in names or _indexes_by_lists(code))


def _indexes_by_lists(code: CodeType) -> bool:
    todo = [code]
    while todo:
        each = todo.pop()
        todo.extend(constant for constant in each.co_consts if isinstance(constant, CodeType))
        instructions = each.co_code  # pairs of a number and an argument
        lists = (at for at in range(0, len(instructions) - 2, 2) if instructions[at] == _BUILD_LIST)
        if any(instructions[at + 2] in _INDEXING for at in lists):
            return True
    return False


_BUILD_LIST = opcode.opmap["BUILD_LIST"]
_INDEXING = {
    opcode.opmap[name]
    for name in ("BINARY_SUBSCR", "BINARY_OP", "STORE_SUBSCR", "DELETE_SUBSCR", "COPY")  # BINARY_OP since Python 3.14
    if name in opcode.opmap
}


class Conversions(ast.NodeTransformer):
    def __init__(self, tree: ast.Module) -> None:
        self._slices = any(map(_is_list_of_slices, ast.walk(tree)))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        index = node.slice
        if isinstance(index, ast.List) and isinstance(node.value, ast.Name) and _may_be_rows(index):
            call = ast.Call(ast.Name(_ROWS, ast.Load()), [ast.Name(node.value.id, ast.Load()), index], [])
        elif self._slices and isinstance(index, ast.Name | ast.List | ast.ListComp | ast.BinOp):
            call = ast.Call(ast.Name(_SLICES, ast.Load()), [index], [])
        else:
            return node
        node.slice = ast.fix_missing_locations(ast.copy_location(call, index))
        return node


def _is_list_of_slices(node: ast.AST) -> bool:
    """Whether it is a list in which a slice is made."""
    if not isinstance(node, ast.List | ast.ListComp):
        return False
    return any(
        isinstance(each, ast.Call) and isinstance(each.func, ast.Name) and each.func.id == "slice"
        for each in ast.walk(node)
    )


def _may_be_rows(index: ast.List) -> bool:
    """Whether some element may be an array, or a list, of indices."""
    return len(index.elts) > 1 and any(not isinstance(each, ast.Constant | ast.UnaryOp) for each in index.elts)


def of_slices(index: Any) -> Any:
    """A list with slices (or None, or an Ellipsis) as a tuple; anything else as it is."""
    if type(index) is not list or not any(each is None or isinstance(each, slice | type(...)) for each in index):
        return index
    return _tuple(index)


def of_rows(array: Any, index: list[Any]) -> Any:
    """The index for `array`: a tuple, if it is one of NumPy and elements are sequences or slices."""
    if not isinstance(array, np.ndarray) or not any(_is_part(each) for each in index):
        return index
    return _tuple(index)


def _is_part(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return value is None or isinstance(value, list | tuple | range | slice | type(...))


def _tuple(index: list[Any]) -> tuple[Any, ...]:
    REPORT.use("a list as an index with a part for each axis", None)
    return tuple(index)


HELPERS: dict[str, Callable[..., Any]] = {_SLICES: of_slices, _ROWS: of_rows}
"""What the changed tree calls, as built-in names."""
