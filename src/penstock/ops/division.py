"""Division and remainders, in all of TensorFlow's variants."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.emit.expressions import BROADCAST, C_TYPES, UNSIGNED, Expression, Rule, expresses, expression, formula
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.constants import lift
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import operator_function
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import name_scope
from penstock.graph.step_graph import Node
from penstock.ops.arithmetic import MUL
from penstock.ops.cast import cast
from penstock.ops.elementwise import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    NUMBERS,
    add_kernels,
    binary_op,
    conjugate,
    unbroadcast,
)
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import (
    DType,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)


def _add_integer_kernels(op: Any, torch_fn: Callable[..., Any], numpy_fn: Callable[..., Any]) -> None:
    """Kernels for integers: NumPy's on the CPU, where torch's would crash the process for -2**31 / -1.

    For safe constant divisors torch is used there too: it takes a third of the time for small tensors.
    """

    def factory(ctx: KernelContext) -> Any:
        by = ctx.const("y")
        if by is not None and not by.ndim and by not in (0, -1) and ctx["T"].name not in TORCH_LACKS.split():
            return torch_fn

        def divide(x: np.ndarray, y: np.ndarray) -> Any:
            if not y.all() and np.broadcast(x, y).size:
                raise ValueError("Integer division by zero")
            return numpy_fn(x, y)

        return via_numpy(divide, ctx["T"])

    op.kernel("CPU", T=f"{INTEGERS} {TORCH_LACKS}")(factory)
    op.kernel("GPU", T=INTEGERS)(lambda n: torch_fn)


def _truncated(x: np.ndarray, y: np.ndarray) -> Any:
    """Integer division rounded towards zero, exact in the whole range."""
    return np.floor_divide(x - np.fmod(x, y), y)


def _torch_truncated(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.div(x, y, rounding_mode="trunc")


def _quotient_floor(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """floor(x / y) of the rounded quotient, as in TensorFlow; torch's version uses the exact remainder."""
    return torch.div(x, y).floor_()


def _quotient_trunc(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    return torch.div(x, y).trunc_()


REAL_DIV = binary_op("RealDiv", NUMBERS)
add_kernels(REAL_DIV, torch.div, types=f"{FLOATS} {COMPLEX}")  # TensorFlow has none for integers either

DIV = binary_op("Div", NUMBERS)
add_kernels(DIV, torch.div, types=f"{FLOATS} {COMPLEX}")
_add_integer_kernels(DIV, _torch_truncated, _truncated)


@REAL_DIV.gradient
@DIV.gradient
def div_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = conjugate(op._inputs[0]), conjugate(op._inputs[1])
    return unbroadcast(op, REAL_DIV(grad, y), MUL(grad, REAL_DIV(REAL_DIV(-x, y), y)))


DIV_NO_NAN = binary_op("DivNoNan", "{half, float, bfloat16, double, complex64, complex128}")


@DIV_NO_NAN.kernel()
def div_no_nan_kernel(ctx: KernelContext) -> Any:
    return lambda x, y: torch.div(x, y).masked_fill_(y == 0, 0)


@DIV_NO_NAN.gradient
def div_no_nan_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = conjugate(op._inputs[0]), conjugate(op._inputs[1])
    return unbroadcast(op, DIV_NO_NAN(grad, y), MUL(grad, DIV_NO_NAN(DIV_NO_NAN(-x, y), y)))


FLOOR_DIV = binary_op("FloorDiv", NUMBERS)
add_kernels(FLOOR_DIV, _quotient_floor, types=FLOATS)
_add_integer_kernels(FLOOR_DIV, torch.floor_divide, np.floor_divide)
FLOOR_DIV.value(lift(lambda x, y: x // y))

TRUNCATE_DIV = binary_op("TruncateDiv", NUMBERS)
add_kernels(TRUNCATE_DIV, _quotient_trunc, types=FLOATS)
_add_integer_kernels(TRUNCATE_DIV, _torch_truncated, _truncated)


@FLOOR_DIV.gradient
@TRUNCATE_DIV.gradient
def floor_div_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [None, None]


# --- remainders -----------------------------------------------------------------------------------------

FLOOR_MOD = binary_op("FloorMod", "realnumbertype")
add_kernels(FLOOR_MOD, torch.remainder, types=FLOATS)
_add_integer_kernels(FLOOR_MOD, torch.remainder, np.remainder)
FLOOR_MOD.value(lift(lambda x, y: x % y))

MOD = binary_op("Mod", "{int32, int64, half, half, bfloat16, float, double}", work=8.0)
TRUNCATE_MOD = binary_op("TruncateMod", "{int32, int64, bfloat16, half, float, double}", work=8.0)
for _op in (MOD, TRUNCATE_MOD):
    add_kernels(_op, torch.fmod, types=FLOATS)
    _add_integer_kernels(_op, torch.fmod, np.fmod)
    _op.not_differentiable()


@FLOOR_MOD.gradient
def floor_mod_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op._inputs
    return unbroadcast(op, grad, MUL(grad, -FLOOR_DIV(x, y)))


# --- functions ------------------------------------------------------------------------------------------

_TRUE_DIVISION: dict[DType, DType] = {
    uint8: float32,
    int8: float32,
    uint16: float32,
    int16: float32,
    int32: float64,
    uint32: float64,
    int64: float64,
    uint64: float64,
}
"""The types that integers are converted to before Python 3's `/`."""


def _same_dtype(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    x = convert_to_tensor(x, name="x")
    y = convert_to_tensor(y, dtype=x.dtype.base_dtype if not isinstance(y, Tensor) else None, name="y")
    if x.dtype.base_dtype != y.dtype.base_dtype:
        raise TypeError(f"x and y must have the same dtype, got {x.dtype.name} != {y.dtype.name}")
    return x, y


@export("truediv", "math.truediv")
@operator_function
@of_ragged("pairs")
def truediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python 3's `/`: 8 and 16-bit integers become float32, wider ones float64 (TF: tf.truediv)."""
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = _same_dtype(x, y)
        wanted = _TRUE_DIVISION.get(x.dtype.base_dtype)
        if wanted is not None:
            x, y = cast(x, wanted), cast(y, wanted)
        return REAL_DIV(x, y, name=scope)


@export("divide", "math.divide")
@of_ragged("pairs")
def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y`, as Python 3 divides (TF: tf.divide)."""
    if name is None and (isinstance(x, Tensor | SparseTensor) or isinstance(y, Tensor | SparseTensor)):
        return x / y
    return truediv(x, y, name=name)


@export("div")
@operator_function
@of_ragged("pairs")
def div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Python 2's `/`: division of integers rounds down (TF: tf.div)."""
    with name_scope(name, "div", [x, y]) as scope:
        x, y = _same_dtype(x, y)
        floats = x.dtype.is_floating or x.dtype.is_complex
        return (REAL_DIV if floats else FLOOR_DIV)(x, y, name=scope)


@export("floordiv", "math.floordiv")
@of_ragged("pairs")
def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x // y`, rounded down (TF: tf.floordiv). Integer division by zero raises InvalidArgumentError."""
    with name_scope(name, "floordiv", [x, y]) as scope:
        return FLOOR_DIV(x, y, name=scope)


@export("realdiv")
@of_ragged("pairs")
def realdiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y` of floats or complex numbers (TF: tf.realdiv)."""
    return REAL_DIV(x, y, name=name)


@export("div_no_nan", "math.divide_no_nan")
@of_ragged("pairs")
def div_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y`, or 0 where y is 0 (TF: tf.div_no_nan)."""
    with name_scope(name, "div_no_nan", [x, y]) as scope:
        return DIV_NO_NAN(x, y, name=scope)


@export("floor_div")
@of_ragged("pairs")
def floor_div(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x // y`, rounded down (TF: tf.floor_div)."""
    return FLOOR_DIV(x, y, name=name)


@export("truncatediv")
@of_ragged("pairs")
def truncatediv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x / y` rounded towards zero, like integer division in C (TF: tf.truncatediv)."""
    return TRUNCATE_DIV(x, y, name=name)


@export("floormod", "mod", "math.floormod", "math.mod")
@of_ragged("pairs")
def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `floordiv`, with the sign of y (TF: tf.floormod; tf.mod)."""
    return FLOOR_MOD(x, y, name=name)


@export("truncatemod")
@of_ragged("pairs")
def truncatemod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of `truncatediv`, with the sign of x (TF: tf.truncatemod)."""
    return TRUNCATE_MOD(x, y, name=name)


# --- in C -----------------------------------------------------------------------------------------------


def _by_constant(floats: str, ints: str) -> Rule:
    """Integer division by constants for which no quotient fails: a failure would crash the process.

    The constants are scalars: clusters take arrays as inputs, whose values they do not know.
    """
    others = formula(floats)

    def rule(node: Node) -> Expression | None:
        divisor, ctype = node.inputs[1].node, C_TYPES[node.dtypes[0]]
        if ctype not in UNSIGNED:
            return others(node)
        if not divisor.is_constant or divisor.attrs["value"].ndim or divisor.attrs["value"] in (0, -1):
            return None
        return Expression(ints, ctype, BROADCAST, 4)

    return rule


_WRONG_SIGN = "{0} % {1} != 0 & ({0} < 0) != ({1} < 0)"
"""True where a quotient rounded towards zero is not the floor."""
expression("RealDiv", "{0} / {1}")
expression("Div", "{0} / {1}")
expression("DivNoNan", "{1} == 0 ? 0 : {0} / {1}")
expression("TruncateDiv", "trunc_@({0} / {1})")
expresses("FloorDiv")(_by_constant("floor_@({0} / {1})", f"{{0}} / {{1}} - ({_WRONG_SIGN})"))
expresses("FloorMod")(_by_constant("", f"{{0}} % {{1}} + (({_WRONG_SIGN}) ? {{1}} : 0)"))
