"""Arrays of one element as numbers, until NumPy 2.3: `float(x)`, `int(x)`, `math.sqrt(x)`, `"%f" % x`, `values[i] = x`.
Until NumPy 1.12, they were sizes, too: `file.read(n)` and `data.reshape(n, 28)` with what `np.frombuffer` had read.

TF 1.x programs do it with what a session gives for a tensor of shape [1] or [1, 1]. Arrays themselves cannot be
changed, so the syntax tree is: such calls and assignments try what Python does, and then with the element.
"""

from __future__ import annotations

import ast
import logging
import math
import opcode
import re
import sys
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

import numpy as np

from penstock.programs.report import REPORT

_NUMBER = re.compile(r"%(\(\w*\))?[-+ #0]*(\d+|\*)?(\.(\d+|\*)?)?[hlL]?[diouxXeEfFgG]")
"""A conversion of a number in a text for `%`."""

_FORMAT, _CALL, _INTO = "_one_element_format", "_one_element_call", "_one_element_into"
_READS = "frombuffer"
_OF_SIZES = frozenset({"read", "reshape"})
"""Methods that take sizes, in texts that read numbers from bytes: the first loaders of MNIST read one as an array."""
_STORE_SUBSCR = opcode.opmap["STORE_SUBSCR"]


def is_needed(code: CodeType, names: set[str]) -> bool:
    """Whether code that mentions these names may do it: it has texts for `%`, names of functions of numbers, or uses
    NumPy and assigns elements."""
    numpy = not names.isdisjoint({"np", "numpy"})
    todo = [code]
    while todo:
        each = todo.pop()
        if not {"float", "int", "math", _READS}.isdisjoint(each.co_names):
            return True
        if numpy and _STORE_SUBSCR in each.co_code[::2]:
            return True
        for constant in each.co_consts:
            if isinstance(constant, CodeType):
                todo.append(constant)
            elif isinstance(constant, str) and _NUMBER.search(constant):
                return True
    return False


class Conversions(ast.NodeTransformer):
    def __init__(self, tree: ast.Module) -> None:
        self._elements = any(map(_is_numpy, ast.walk(tree)))
        self._reads = any(isinstance(node, ast.Attribute) and node.attr == _READS for node in ast.walk(tree))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        return self._assigned(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        return self._assigned(node)

    def _assigned(self, node: ast.Assign | ast.AugAssign) -> ast.AST:
        """`values[i] = x`, with something into which x can be assigned in the place of `values`."""
        self.generic_visit(node)
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        if not self._elements or _is_no_array(node.value):
            return node
        for target in targets:
            for each in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
                if isinstance(each, ast.Subscript) and _is_of_element(each.slice):
                    each.value = ast.copy_location(ast.Call(ast.Name(_INTO, ast.Load()), [each.value], []), each.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        text = node.left.value if isinstance(node.left, ast.Constant) else None
        if not (isinstance(node.op, ast.Mod) and isinstance(text, str) and _NUMBER.search(text)):
            return node
        return ast.copy_location(ast.Call(ast.Name(_FORMAT, ast.Load()), [node.left, node.right], []), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        plain = all(isinstance(argument, ast.Constant) for argument in node.args)
        takes = _is_of_numbers(node.func) or (self._reads and _is_of_sizes(node.func))
        if not takes or node.keywords or starred or plain:
            return node
        return ast.copy_location(ast.Call(ast.Name(_CALL, ast.Load()), [node.func, *node.args], []), node)


def _is_of_numbers(function: ast.expr) -> bool:
    if isinstance(function, ast.Attribute):
        return isinstance(function.value, ast.Name) and function.value.id == "math"
    return isinstance(function, ast.Name) and function.id in ("float", "int")


def _is_of_sizes(function: ast.expr) -> bool:
    """Whether it is such a method, and no function of NumPy."""
    return isinstance(function, ast.Attribute) and function.attr in _OF_SIZES and not _is_numpy(function.value)


def _is_numpy(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.alias(name=name):
            return name in ("np", "numpy")
    return False


def _is_no_array(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant | ast.JoinedStr | ast.List | ast.ListComp | ast.Dict | ast.DictComp | ast.Set)


def _is_of_element(index: ast.expr) -> bool:
    """Whether it may be the index of one element: there are numbers or names for all axes."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    texts = (isinstance(each, ast.Constant) and not isinstance(each.value, int) for each in parts)
    return not any(texts) and not any(isinstance(each, ast.Slice | ast.List | ast.Starred) for each in parts)


class _Into:
    """An array, elements of which take arrays of one element."""

    __slots__ = ("_array",)

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __getitem__(self, index: Any) -> Any:
        return self._array[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        assign(self._array, index, value)


def into(holder: Any) -> Any:
    """What `holder[index] = value` is done with."""
    return _Into(holder) if isinstance(holder, np.ndarray) else holder


def assign(array: np.ndarray, index: Any, value: Any) -> None:
    """`array[index] = value`."""
    try:
        array[index] = value
    except (TypeError, ValueError):
        if not _is_one(value):
            raise
        array[index] = value.item()
        REPORT.use("an element given as an array of one", None)


def call(function: Callable[..., Any], *arguments: Any) -> Any:
    """`function(*arguments)`, of one that takes numbers."""
    try:
        return function(*arguments)
    except TypeError:
        name = getattr(function, "__name__", "")
        ours = function in (float, int) or name in _OF_SIZES or getattr(math, name, None) is function
        if not ours or not any(map(_is_one, arguments)):
            raise
    _count(name)
    return function(*(each.item() if _is_one(each) else each for each in arguments))


def format_(text: str, values: Any) -> str:
    """`text % values`."""
    try:
        return text % values
    except TypeError:
        several = isinstance(values, tuple)
        if isinstance(values, Mapping):
            found = any(map(_is_one, values.values()))
            shown: Any = {key: _Number(each) if _is_one(each) else each for key, each in values.items()}
        else:
            found = any(map(_is_one, values if several else (values,)))
            shown = tuple(_Number(each) if _is_one(each) else each for each in (values if several else (values,)))
        if not found:
            raise
    result = text % shown
    _count("%")
    return result


def format_logs() -> None:
    """Messages of `logging` with arguments (`logging.info("%f", x)`) are formatted so, too."""

    def get_message(self: logging.LogRecord) -> str:
        text = str(self.msg)
        return format_(text, self.args) if self.args else text

    if logging.LogRecord.getMessage.__name__ != get_message.__name__:
        logging.LogRecord.getMessage = get_message  # type: ignore[method-assign]


HELPERS: dict[str, Callable[..., Any]] = {_FORMAT: format_, _CALL: call, _INTO: into}
"""What the changed tree calls, as built-in names."""


def _is_one(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.size == 1 and value.ndim > 0 and value.dtype.kind in "biuf"


def _count(name: str) -> None:
    REPORT.use(f"{name} of an array of one element", sys._getframe(2))


class _Number:
    """An array of one element: a number for %f and %d, and for %s what the array is."""

    def __init__(self, array: np.ndarray) -> None:
        self._array = array

    def __float__(self) -> float:
        return float(self._array.item())

    def __int__(self) -> int:
        return int(self._array.item())

    def __str__(self) -> str:
        return str(self._array)

    def __repr__(self) -> str:
        return repr(self._array)
