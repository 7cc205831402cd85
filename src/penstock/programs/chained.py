"""Columns of a data frame that are changed in place: `frame["age"][rows] = 0`, `frame["age"].fillna(0, inplace=True)`.

Until pandas 3 they changed the frame; now they change a copy, which nothing has. The syntax tree is changed in modules
that import pandas: the changed column is put back.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable
from typing import Any

from penstock.programs.report import REPORT

_PUT, _CHANGE = "_chained_put", "_chained_change"
_INDEXERS = {"loc", "iloc", "at", "iat"}


def is_needed(names: set[str]) -> bool:
    """Whether code that mentions these names may do it."""
    return not names.isdisjoint({"pandas", "pd"})


def converted(tree: ast.Module) -> ast.Module:
    """A module that changes such columns, so that their frames have what was changed."""
    mentioned = {name for node in ast.walk(tree) for name in _names(node)}
    return _Conversions().visit(tree) if is_needed(mentioned) else tree


def _names(node: ast.AST) -> list[str]:
    match node:
        case ast.Name(id=name) | ast.alias(name=name) | ast.ImportFrom(module=str(name)):
            return [name.partition(".")[0]]
    return []


class _Conversions(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        match node.targets:
            case [ast.Subscript(value=column, slice=index)]:
                return _put(node, column, index, node.value)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        calls = any(isinstance(each, ast.Call) for each in ast.walk(node.target))  # which must run once
        if not isinstance(node.target, ast.Subscript) or calls:
            return node
        read = ast.parse(ast.unparse(node.target), mode="eval").body
        return _put(node, node.target.value, node.target.slice, ast.BinOp(read, node.op, node.value))

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        self.generic_visit(node)
        match node.value:
            case ast.Call(func=ast.Attribute(value=column, attr=method), args=args, keywords=keywords):
                parts = _column(column)
                if parts is None or not any(each.arg == "inplace" and _is_true(each.value) for each in keywords):
                    return node
                changed = ast.Attribute(ast.Name("_column", ast.Load()), method, ast.Load())
                change = ast.Lambda(_arguments("_column"), ast.Call(changed, args, keywords))
                return _statement(node, _CHANGE, *parts, change)
        return node


def _put(node: ast.stmt, column: ast.expr, index: ast.expr, value: ast.expr) -> ast.stmt:
    """The statement that puts a value into a column; `node` itself if that is no column of something."""
    indexer: str | None = None
    if isinstance(column, ast.Attribute) and column.attr in _INDEXERS:
        indexer, column = column.attr, column.value
    parts = _column(column)
    if parts is None:
        return node
    return _statement(node, _PUT, value, *parts, as_value(index), ast.Constant(indexer))


def _column(node: ast.expr) -> tuple[ast.expr, ast.expr, ast.expr] | None:
    """What something is the column of, its key, and whether that is an attribute: of `frame["age"]`, `frame.age`."""
    match node:
        case ast.Subscript(value=holder, slice=ast.Constant(value=str()) | ast.Name() as key):
            return holder, key, ast.Constant(False)
        case ast.Attribute(value=ast.Name(id=name) as holder, attr=key) if name != "self":
            return holder, ast.Constant(key), ast.Constant(True)
    return None


def _is_true(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and bool(node.value)


def _arguments(name: str) -> ast.arguments:
    return ast.arguments([], [ast.arg(name)], None, [], [], None, [])


def _statement(node: ast.stmt, helper: str, *arguments: ast.expr) -> ast.stmt:
    call = ast.Expr(ast.Call(ast.Name(helper, ast.Load()), list(arguments), []))
    return ast.fix_missing_locations(ast.copy_location(call, node))


def as_value(index: ast.expr) -> ast.expr:
    """An index as an expression: slices as calls of `slice`."""
    match index:
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds: list[ast.expr] = [each or ast.Constant(None) for each in (lower, upper, step)]
            return ast.Call(ast.Name("_chained_slice", ast.Load()), bounds, [])
        case ast.Tuple(elts=parts):
            return ast.Tuple([as_value(each) for each in parts], ast.Load())
    return index


def _frame_of(holder: Any, key: Any) -> bool:
    """Whether `holder[key]` is a column of a frame of pandas."""
    pandas: Any = sys.modules.get("pandas")
    if pandas is None or not isinstance(holder, pandas.DataFrame):
        return False
    try:
        return bool(key in holder.columns)
    except TypeError:  # a list, or rows
        return False


def _get(holder: Any, key: Any, by_name: bool) -> Any:
    return getattr(holder, key) if by_name else holder[key]


def put(value: Any, holder: Any, key: Any, by_name: bool, index: Any, indexer: str | None) -> None:
    """`holder[key][index] = value`."""
    column = _get(holder, key, by_name)
    target = column if indexer is None else getattr(column, indexer)
    target[index] = value
    if _frame_of(holder, key):
        REPORT.use("a column of a data frame that is changed in place", sys._getframe(1))
        holder[key] = column


def change(holder: Any, key: Any, by_name: bool, changing: Callable[[Any], Any]) -> None:
    """`holder[key].method(…, inplace=True)`."""
    column = _get(holder, key, by_name)
    changing(column)
    if _frame_of(holder, key):
        REPORT.use("a column of a data frame that is changed in place", sys._getframe(1))
        holder[key] = column


HELPERS: dict[str, Callable[..., Any]] = {_PUT: put, _CHANGE: change, "_chained_slice": slice}
"""What the changed tree calls, as built-in names."""
