"""Arithmetic of arrays and numbers of NumPy with the types of results that it had until NumPy 2.

Numbers beside arrays of float32 left them float32. TF 1.x programs scale initial values so: `np.sqrt(6.0 / n) *
np.random.rand(n).astype(np.float32)` was float32, and is float64 now. Beside a whole number of Python, an array of
uint8 became wide enough for it (`pixels * -1`, `pixels * 256`), which is an OverflowError now, and an element of one
became int64 (`label - 1`, `red << 16`), which stays uint8 and wraps around now.

Arrays cannot be changed, so the syntax tree is: where it does arithmetic with what NumPy's functions give, with numbers
that do not fit 8 bits, and, in modules that speak of narrow integers or read images, everywhere.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.programs import one_element
from penstock.programs.report import REPORT

_OPERATORS: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("_as_then_add", operator.add),
    ast.Sub: ("_as_then_sub", operator.sub),
    ast.Mult: ("_as_then_mul", operator.mul),
    ast.Div: ("_as_then_truediv", operator.truediv),
    ast.Pow: ("_as_then_pow", operator.pow),
    ast.LShift: ("_as_then_lshift", operator.lshift),
}
_IN_PLACE: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("_as_then_iadd", operator.iadd),
    ast.Sub: ("_as_then_isub", operator.isub),
    ast.Mult: ("_as_then_imul", operator.imul),
}
_NARROW = {"uint8", "int8", "uint16", "int16", "imread", "loadmat", "cv2"}
"""What modules mention that have narrow integers, in arrays that are made or read."""


def is_needed(names: set[str]) -> bool:
    """Whether code that mentions these names may do it."""
    return not names.isdisjoint({"np", "numpy"}) and not names.isdisjoint({"float16", "float32", *_NARROW})


class Conversions(ast.NodeTransformer):
    """Changes the arithmetic of a module in which an operand holds a call of NumPy, a name that was given one, or a
    number beyond 8 bits; all of it where there are narrow integers."""

    def __init__(self, tree: ast.Module) -> None:
        self._modules = {"np", "numpy"} | {  # cells of notebooks rely on imports of others
            alias.asname or alias.name
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            for alias in node.names
            if alias.name == "numpy"
        }
        self._narrow = any(map(_speaks_of_narrow, ast.walk(tree)))
        self._given: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Assign) and self._is_numpys(node.value):
                self._given.update(target.id for target in node.targets if isinstance(target, ast.Name))

    def _is_numpys(self, node: ast.expr) -> bool:
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module))):
                return module in self._modules
            case ast.Name(id=name):
                return name in self._given
            case ast.BinOp(left=left, right=right):
                return self._is_numpys(left) or self._is_numpys(right)
            case ast.UnaryOp(operand=operand):
                return self._is_numpys(operand)
        return False

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        found = _OPERATORS.get(type(node.op))
        changed = found and self._may_change(node)
        self.generic_visit(node)
        if not found or not changed:
            return node
        call = ast.Call(ast.Name(found[0], ast.Load()), [node.left, node.right], [])
        return ast.fix_missing_locations(ast.copy_location(call, node))

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`total += pixel` makes another number of `total`."""
        found = _IN_PLACE.get(type(node.op))
        self.generic_visit(node)
        if not found or not self._narrow or not isinstance(node.target, ast.Name) or _is_text(node.value):
            return node
        before = ast.Name(node.target.id, ast.Load())
        call = ast.Call(ast.Name(found[0], ast.Load()), [before, node.value], [])
        return ast.fix_missing_locations(ast.copy_location(ast.Assign([node.target], call), node))

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`labels[mask] = -1` wrapped around."""
        self.generic_visit(node)
        number = _literal(node.value)
        fits = isinstance(number, float) or (isinstance(number, int) and 0 <= number < 128)
        match node:
            case ast.Assign(value=ast.JoinedStr() | ast.Constant(value=str() | bytes() | None)):
                return node
            case ast.Assign(targets=[ast.Subscript(value=holder, slice=index)]) if self._narrow and not fits:
                arguments = [node.value, holder, _as_value(index)]
                call = ast.Expr(ast.Call(ast.Name("_as_then_set", ast.Load()), arguments, []))
                return ast.fix_missing_locations(ast.copy_location(call, node))
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """`np.uint8(300)` wrapped around."""
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name), args=[argument], keywords=[]):
                if module in self._modules and name in _INTEGERS and not isinstance(argument, ast.Starred):
                    call = ast.Call(ast.Name("_as_then_integer", ast.Load()), [node.func, argument], [])
                    return ast.fix_missing_locations(ast.copy_location(call, node))
        return node

    def _may_change(self, node: ast.BinOp) -> bool:
        operands = node.left, node.right
        if any(map(_is_text, operands)) or all(_literal(operand) is not None for operand in operands):
            return False
        literals = [number for operand in operands if (number := _literal(operand)) is not None]
        if self._narrow or any(isinstance(number, int) and not 0 <= number < 128 for number in literals):
            return True
        return not literals and any(map(self._is_numpys, operands))


def _speaks_of_narrow(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name) | ast.Constant(value=str(name)):
            return name in _NARROW
    return False


def _is_text(node: ast.expr) -> bool:
    """Whether it is text, or what is written into one."""
    match node:
        case ast.JoinedStr() | ast.Constant(value=str() | bytes()) | ast.List() | ast.ListComp() | ast.Tuple():
            return True
    return False


def _literal(node: ast.expr) -> Any:
    """The value of a literal number, or None."""
    match node:
        case ast.Constant(value=int() | float() | complex() as number):
            return number
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
    return None


def _as_then(apply: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    generic = np.generic  # a local name: this runs for every operator of a module

    def applied(a: Any, b: Any) -> Any:
        if isinstance(a, generic):
            if type(b) is int:
                return apply(_widened(a), b)
            if _is_narrow(b):
                return apply(_number(a), b)
        elif isinstance(b, generic):
            if type(a) is int:
                return apply(a, _widened(b))
            if _is_narrow(a):
                return apply(a, _number(b))
        try:
            return apply(a, b)
        except OverflowError:
            if (wide := _wide(a, b)) is None:
                raise
            REPORT.use("a number that is too large for an array of integers", None)
            return apply(*wide)

    return applied


def _widened(element: np.generic) -> np.generic:
    """An element of an array, as it became beside a whole number."""
    if type(element) not in _NARROW_TYPES:
        return element
    REPORT.use("a narrow integer of NumPy beside a whole number", None)
    return np.int64(element)


_INTEGERS = {f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)}
_NARROW_TYPES = {np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32}


def _wide(a: Any, b: Any) -> tuple[Any, Any] | None:
    """An array of integers, and a whole number as one of the narrowest type that holds it."""
    if isinstance(a, np.ndarray) and a.dtype.kind in "iu" and type(b) is int:
        return a, np.array(b, np.promote_types(a.dtype, np.min_scalar_type(b)))
    if isinstance(b, np.ndarray) and b.dtype.kind in "iu" and type(a) is int:
        return np.array(a, np.promote_types(b.dtype, np.min_scalar_type(a))), b
    return None


def _integer(kind: Any, value: Any) -> Any:
    """`kind(value)`, of one of NumPy's integers."""
    try:
        return kind(value)
    except OverflowError:
        if type(value) is not int:
            raise
    REPORT.use("a number that is too large for an integer of NumPy", None)
    return np.array(value & 0xFFFFFFFFFFFFFFFF, np.uint64).astype(kind)[()]


def _as_value(index: ast.expr) -> ast.expr:
    """An index as an expression: slices as calls of `slice`."""
    match index:
        case ast.Slice(lower=lower, upper=upper, step=step):
            bounds: list[ast.expr] = [each or ast.Constant(None) for each in (lower, upper, step)]
            return ast.Call(ast.Name("_as_then_slice", ast.Load()), bounds, [])
        case ast.Tuple(elts=parts):
            return ast.Tuple([_as_value(each) for each in parts], ast.Load())
    return index


def _set(value: Any, holder: Any, index: Any) -> None:
    """`holder[index] = value`."""
    try:
        one_element.into(holder)[index] = value
    except OverflowError:
        found = np.asarray(value)
        if not isinstance(holder, np.ndarray) or holder.dtype.kind not in "iu" or found.dtype.kind not in "iu":
            raise
        REPORT.use("a number that is too large for an array of integers", None)
        holder[index] = found.astype(holder.dtype)


def _is_narrow(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim > 0 and value.dtype.char in "ef"


def _number(value: np.generic) -> Any:
    """As a number of Python, if it would make an array of float32 wider now."""
    if value.dtype.char != "d" and value.dtype.kind not in "iu":
        return value
    REPORT.use("a number of NumPy beside an array of float32", None)
    return value.item()


HELPERS: dict[str, Callable[..., Any]] = {
    name: _as_then(apply) for name, apply in (*_OPERATORS.values(), *_IN_PLACE.values())
} | {"_as_then_integer": _integer, "_as_then_set": _set, "_as_then_slice": slice}
"""What the changed tree calls, as built-in names."""
