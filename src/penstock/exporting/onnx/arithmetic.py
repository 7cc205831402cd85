"""Element by element: of one tensor, of two, of many; casts, comparisons, choices."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.exporting.onnx.rules import First, Site, lowers
from penstock.tensor.dtypes import bool as boolean, int32

UNARY = {
    "Abs": "Abs", "Acos": "Acos", "Acosh": "Acosh", "Asin": "Asin", "Asinh": "Asinh", "Atan": "Atan", "Atanh": "Atanh",
    "Ceil": "Ceil", "Cos": "Cos", "Cosh": "Cosh", "Elu": "Elu", "Erf": "Erf", "Exp": "Exp", "Floor": "Floor",
    "Inv": "Reciprocal", "IsInf": "IsInf", "IsNan": "IsNaN", "Log": "Log", "LogicalNot": "Not", "Neg": "Neg",
    "Reciprocal": "Reciprocal", "Relu": "Relu", "Rint": "Round", "Round": "Round", "Selu": "Selu",
    "Sigmoid": "Sigmoid", "Sign": "Sign", "Sin": "Sin", "Sinh": "Sinh", "Softplus": "Softplus", "Softsign": "Softsign",
    "Sqrt": "Sqrt", "Tan": "Tan", "Tanh": "Tanh",
}  # fmt: skip
BINARY = {
    "Add": "Add", "AddV2": "Add", "BitwiseAnd": "BitwiseAnd", "BitwiseOr": "BitwiseOr", "BitwiseXor": "BitwiseXor",
    "Div": "Div", "Equal": "Equal", "Greater": "Greater", "GreaterEqual": "GreaterOrEqual", "Less": "Less",
    "LessEqual": "LessOrEqual", "LogicalAnd": "And", "LogicalOr": "Or", "Maximum": "Max", "Minimum": "Min",
    "Mul": "Mul", "Pow": "Pow", "RealDiv": "Div", "Sub": "Sub", "TruncateDiv": "Div",
}  # fmt: skip
_INTEGERS_ROUNDED = frozenset({"Ceil", "Floor", "Rint", "Round"})


def broadcast(s: Site, *indices: int) -> tuple[list[str], Any]:
    """Inputs that are to be broadcast together, and what wraps the result: with channels first, if one of them has them
    so and the others can."""
    if not any(s.is_first(i) for i in indices):
        return [s.input(i) for i in indices], lambda name: name
    rank = s.rank(next(i for i in indices if s.is_first(i)))
    if not all(s.is_first(i) or _turned(s, i, rank) for i in indices):
        return [s.input(i) for i in indices], lambda name: name
    found = []
    for i in indices:
        turned = None if s.is_first(i) else s.value(i)
        if turned is None:
            found.append(s.first(i))
        else:
            dims = [1] * (rank - turned.ndim) + list(turned.shape)
            found.append(s.constant(np.moveaxis(turned.reshape(dims), -1, 1) if turned.ndim else turned, i))
    return found, First


def _turned(s: Site, index: int, rank: int) -> bool:
    """Whether an input can have its channels first cheaply: a constant, or something as large."""
    return s.value(index) is not None


def elementwise(s: Site, op: str, **attrs: Any) -> Any:
    inputs, wrap = broadcast(s, *range(s.count))
    return wrap(s.op(op, inputs, **attrs))


def _unary(tensorflow: str, op: str) -> None:
    @lowers(tensorflow)
    def rule(s: Site) -> Any:
        if tensorflow in _INTEGERS_ROUNDED and s.dtype(0).is_integer:
            return s.input(0)
        return elementwise(s, op)


def _binary(tensorflow: str, op: str) -> None:
    @lowers(tensorflow)
    def rule(s: Site) -> Any:
        return elementwise(s, op)


for _tensorflow, _op in UNARY.items():
    _unary(_tensorflow, _op)
for _tensorflow, _op in BINARY.items():
    _binary(_tensorflow, _op)


@lowers("NotEqual")
def not_equal(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0, 1)
    return wrap(s.op("Not", [s.op("Equal", inputs)]))


@lowers("LogicalXor")
def logical_xor(s: Site) -> Any:
    return elementwise(s, "Xor")


@lowers("AddN")
def add_n(s: Site) -> Any:
    inputs, wrap = broadcast(s, *range(s.count))
    total = inputs[0]
    for other in inputs[1:]:
        total = s.op("Add", [total, other])
    return wrap(total)


@lowers("LeakyRelu")
def leaky_relu(s: Site) -> Any:
    return elementwise(s, "LeakyRelu", alpha=s["alpha"])


@lowers("Relu6")
def relu6(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0)
    return wrap(s.op("Clip", [*inputs, s.constant(0), s.constant(6)]))


@lowers("ClipByValue")
def clip_by_value(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0, 1, 2)
    return wrap(s.op("Min", [s.op("Max", [inputs[0], inputs[1]]), inputs[2]]))


@lowers("Square")
def square(s: Site) -> Any:
    (x,), wrap = broadcast(s, 0)
    return wrap(s.op("Mul", [x, x]))


@lowers("SquaredDifference")
def squared_difference(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0, 1)
    apart = s.op("Sub", inputs)
    return wrap(s.op("Mul", [apart, apart]))


@lowers("Rsqrt")
def rsqrt(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0)
    return wrap(s.op("Reciprocal", [s.op("Sqrt", inputs)]))


@lowers("Log1p")
def log1p(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0)
    return wrap(s.op("Log", [s.op("Add", [*inputs, s.constant(1)])]))


@lowers("Expm1")
def expm1(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0)
    return wrap(s.op("Sub", [s.op("Exp", inputs), s.constant(1)]))


@lowers("Erfc")
def erfc(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0)
    return wrap(s.op("Sub", [s.constant(1), s.op("Erf", inputs)]))


@lowers("IsFinite")
def is_finite(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0)
    return wrap(s.op("Not", [s.op("Or", [s.op("IsInf", inputs), s.op("IsNaN", inputs)])]))


@lowers("FloorDiv")
def floor_div(s: Site) -> Any:
    (x, y), wrap = broadcast(s, 0, 1)
    if s.dtype(0).is_integer:  # ONNX cuts off; its Mod has the divisor's sign, as TensorFlow's
        return wrap(s.op("Div", [s.op("Sub", [x, s.op("Mod", [x, y])]), y]))
    return wrap(s.op("Floor", [s.op("Div", [x, y])]))


@lowers("FloorMod")
def floor_mod(s: Site) -> Any:
    (x, y), wrap = broadcast(s, 0, 1)
    if s.dtype(0).is_integer:
        return wrap(s.op("Mod", [x, y]))
    return wrap(s.op("Sub", [x, s.op("Mul", [y, s.op("Floor", [s.op("Div", [x, y])])])]))


@lowers("Mod", "TruncateMod")
def truncate_mod(s: Site) -> Any:
    return elementwise(s, "Mod", fmod=1)


@lowers("DivNoNan")
def div_no_nan(s: Site) -> Any:
    (x, y), wrap = broadcast(s, 0, 1)
    zero = s.op("Equal", [y, s.constant(0)])
    return wrap(s.op("Where", [zero, s.constant(0), s.op("Div", [x, s.op("Where", [zero, s.constant(1), y])])]))


@lowers("BiasAdd")
def bias_add(s: Site) -> Any:
    if s["data_format"] == "NCHW":
        dims = s.ints(1, -1, *[1] * (s.rank(0) - 2))
        return s.op("Add", [s.input(0), s.op("Reshape", [s.input(1), dims])])
    return elementwise(s, "Add")


@lowers("Cast")
def cast(s: Site) -> Any:
    inputs, wrap = broadcast(s, 0)
    return wrap(s.cast(inputs[0], s["DstT"]))


@lowers("ZerosLike", "OnesLike")
def constant_like(s: Site) -> Any:
    (x,), wrap = broadcast(s, 0)
    value = s.constant(0 if s.node.op.name == "ZerosLike" else 1)
    return wrap(s.op("Expand", [value, s.op("Shape", [x])]))


@lowers("SelectV2")
def select_v2(s: Site) -> Any:
    (condition, yes, no), wrap = broadcast(s, 0, 1, 2)
    return wrap(s.where(condition, yes, no, s.node.dtypes[0]))


@lowers("Select")
def select(s: Site) -> Any:
    """The condition may be one value for each row."""
    condition = s.input(0)
    if s.rank(0) == 1 and s.rank(1) > 1:
        condition = s.op("Unsqueeze", [condition, s.ints(*range(1, s.rank(1)))])
    return s.where(condition, s.input(1), s.input(2), s.node.dtypes[0])


def as_int32(s: Site, name: str) -> str:
    """A bool as an int32."""
    return s.cast(name, int32)


def as_bool(s: Site, name: str) -> str:
    return s.cast(name, boolean)
