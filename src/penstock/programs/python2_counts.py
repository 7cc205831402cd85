"""Where a text that Python 3 parses, too, takes quotients for whole numbers, which they were in Python 2."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import inf
from opcode import opmap
from types import CodeType

from penstock.programs.python2_files import instructions
from penstock.programs.python2_lists import own_nodes, scopes_of, values_of_names

COUNTING = frozenset({"range", "xrange"})
PADS = "padding"
LENGTH = "maxlen"
_PADDING = "Padding1D", "Padding2D", "Padding3D"
PADDING = frozenset(f"Zero{each}" for each in _PADDING)
_DIVISION = {*instructions(compile("a / b", "", "eval"))} - {*instructions(compile("a - b", "", "eval"))}
_SLICING = {opmap.get(name) for name in ("BUILD_SLICE", "BINARY_SLICE", "STORE_SLICE")}
_DEQUES = frozenset({"deque", "collections.deque"})
_OF_FRACTIONS = frozenset({"loc", "ix", "mgrid", "ogrid", "r_", "c_", "s_", "index_exp"})
"""What slices of fractions mean something to: labels of tables, and NumPy's grids."""


def may_slice_by_quotients(code: CodeType) -> bool:
    """Whether code, or a function in it, has slices or asks for lengths, and divides."""
    found = {*instructions(code)}
    indexes = "len" in code.co_names or any(number in _SLICING for number, _ in found)
    if indexes and not _DIVISION.isdisjoint(found):
        return True
    return any(may_slice_by_quotients(each) for each in code.co_consts if isinstance(each, CodeType))


def counts_by_quotients(tree: ast.Module) -> int | None:
    """The line that gives `range`, a slice, an index of a list, or Keras's layers that pad a quotient, or a deque a
    length with a point, if one does, at once or by a name that has no other value: Python 3 would end there, and Python
    2, too, with its division of today."""
    if any(_is_of_today(node) for node in ast.walk(tree)):
        return None
    return next((line for scope in scopes_of(tree) for line in _lines(scope)), None)


def _is_of_today(node: ast.AST) -> bool:
    """Whether a text with this node divides as Python 3 does, cannot be Python 2, or has another `range`."""
    match node:
        case ast.ImportFrom(module="__future__", names=names):
            return any(alias.name == "division" for alias in names)
        case ast.JoinedStr() | ast.Nonlocal() | ast.AnnAssign() | ast.YieldFrom() | ast.Await():
            return True
        case ast.Call(func=ast.Name(id="super"), args=[]):
            return True
        case ast.arg(annotation=annotation):
            return annotation is not None
        case ast.FunctionDef(name=name):
            return name in COUNTING
        case ast.Name(id=name, ctx=ast.Store()):
            return name in COUNTING
    return False


def _lines(scope: ast.AST) -> Iterator[int]:
    nodes = list(own_nodes(scope))
    quotients = values_of_names(nodes, lambda value: _is_quotient(value, frozenset()))
    fractions = values_of_names(nodes, _is_float)
    divided = list(_divided(nodes))
    for node in nodes:
        yield from (given.lineno for given in _given(node) if _is_quotient(given, quotients))
        match node:
            case ast.Call(func=ast.Name(id=function), args=args, lineno=line) if function in COUNTING:
                names = {each.id for each in args if isinstance(each, ast.Name)}
                yield from (line for name, after, until in divided if name in names and after < line <= until)
        if isinstance(node, ast.Call) and (length := length_of_deque(node)) is not None:
            named = isinstance(length.value, ast.Name) and length.value.id in fractions
            if named or _is_float(length.value) or _is_quotient(length.value, quotients):
                yield node.lineno


def _divided(nodes: list[ast.AST]) -> Iterator[tuple[str, int, float]]:
    """The names that whole numbers divide in place (`n /= 2`), and from and to which line they are quotients."""
    names = [node for node in nodes if isinstance(node, ast.Name)]
    stored = [(name.id, name.lineno) for name in names if isinstance(name.ctx, ast.Store)]
    for node in nodes:
        match node:
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Div(), value=ast.Constant(value=int()), lineno=line):
                yield name, line, min((at for each, at in stored if each == name and at > line), default=inf)


def length_of_deque(call: ast.Call) -> ast.keyword | None:
    """What a call gives `deque` for `maxlen`, whose fraction Python 2 cut."""
    if not isinstance(call.func, ast.Name | ast.Attribute) or ast.unparse(call.func) not in _DEQUES:
        return None
    return next((each for each in call.keywords if each.arg == LENGTH), None)


def _is_float(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, float)


def _given(node: ast.AST) -> list[ast.expr]:
    """What a node takes for whole numbers."""
    match node:
        case ast.Call(func=ast.Name(id=function)):
            return _counts(node, function)
        case ast.Subscript(value=ast.Name(id=name) | ast.Attribute(attr=name)) if name in _OF_FRACTIONS:
            return []
        case ast.Subscript(value=values, slice=ast.BinOp() as index):
            counted = f"len({ast.unparse(values)})"  # x[len(x) / 2], which is no key
            return [index] if any(ast.unparse(each) == counted for each in ast.walk(index)) else []
        case ast.Subscript(slice=index):
            parts = index.elts if isinstance(index, ast.Tuple) else [index]
            bounds = [(each.lower, each.upper, each.step) for each in parts if isinstance(each, ast.Slice)]
            return [bound for three in bounds for bound in three if bound is not None]
    return []


def _counts(call: ast.Call, function: str) -> list[ast.expr]:
    """What is given as a number of something: pads, too, as in `ZeroPadding2D((pad, pad))` or in
    `ReflectionPadding2D(padding=pad)`, of which no class of Keras, nor one that is made of those, takes fractions."""
    if function in COUNTING:
        return call.args
    if not function.endswith(_PADDING):
        return []
    pads = [each.value for each in call.keywords if each.arg == PADS] or call.args[:1]
    return [each for given in pads for each in (given.elts if isinstance(given, ast.Tuple | ast.List) else [given])]


def _is_quotient(node: ast.expr, quotients: frozenset[str]) -> bool:
    """Whether arithmetic has a division in it, so that its value is no whole number in Python 3."""
    match node:
        case ast.BinOp(op=ast.Div()):
            return True
        case ast.BinOp(left=left, right=right):
            return _is_quotient(left, quotients) or _is_quotient(right, quotients)
        case ast.UnaryOp(operand=operand):
            return _is_quotient(operand, quotients)
        case ast.Name(id=name):
            return name in quotients
    return False
