"""Python 2 text as Python 3 text, for `penstock port`: comments and layout stay. Running converts in memory instead
(`python2.py`), where what depends on values can be decided."""

from __future__ import annotations

import ast

from penstock.programs import python2_parsing as parsing
from penstock.programs.python2_signs import is_python2

FIXERS = (
    *parsing.FIXERS,
    *("apply", "basestring", "dict", "execfile", "filter", "funcattrs", "getcwdu", "has_key", "imports", "intern"),
    *("itertools", "itertools_imports", "long", "map", "metaclass", "methodattrs", "next", "nonzero", "raw_input"),
    *("reduce", "reload", "standarderror", "sys_exc", "types", "urllib", "xrange", "zip"),
)
"""Of fissix: those for what Python 3 does not parse, and for names and methods that it lacks or that gave lists."""


def as_python3_text(text: str) -> str:
    """Raises ValueError for text that is no Python 2."""
    return parsing.refactored(parsing.expanded(text), FIXERS)


def is_python2_text(text: str) -> bool:
    try:
        return is_python2(ast.parse(text))
    except (SyntaxError, *parsing.UNPARSABLE):
        return True


def is_whole(node: ast.expr) -> bool:
    """Whether a value is certainly a whole number, so that Python 2's `/` rounds it down."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int) and not isinstance(value, bool)
        case ast.Call(func=ast.Name(id="len" | "int" | "ord")):
            return True
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return is_whole(operand)
        case ast.BinOp(op=ast.Add() | ast.Sub() | ast.Mult() | ast.FloorDiv() | ast.Div(), left=left, right=right):
            return is_whole(left) and is_whole(right)
    return False
