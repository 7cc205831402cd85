"""Addition, multiplication, powers, extrema: broadcasting ops of two inputs, and sums of many."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.analysis.in_place import register_in_place
from penstock.emit.expressions import BROADCAST, C_TYPES, SAME, UNSIGNED, Expression, expresses, expression
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.constants import lift
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.graph.step_graph import Node
from penstock.ops.basic import identity
from penstock.ops.elementwise import (
    COMPLEX,
    FLOATS,
    INTEGERS,
    NATIVE,
    NUMBERS,
    REAL,
    add_kernels,
    binary_op,
    conjugate,
    like,
    unbroadcast,
)
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import as_dtype, float32, float64, string
from penstock.tensor.shapes import TensorShape

# --- sums and differences -------------------------------------------------------------------------------

ADD = binary_op(
    "Add",
    "{bfloat16, half, float, double, uint8, int8, int16, int32, int64, complex64, complex128, string}",
    torch.add,
    bits16="infer",
)
ADD.kernel("CPU", T="string")(lambda n: lambda x, y: np.asarray(x + y, object))
ADD_V2 = binary_op("AddV2", NUMBERS, torch.add, np.add, commutative=True, aggregate=True, bits16="infer")
SUB = binary_op("Sub", NUMBERS, torch.sub, np.subtract, bits16="infer")
ADD.value(lift(lambda x, y: x + y))
ADD_V2.value(lift(lambda x, y: x + y))
SUB.value(lift(lambda x, y: x - y))


@ADD.gradient
@ADD_V2.gradient
def add_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return unbroadcast(op, grad, grad)


@SUB.gradient
def sub_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return unbroadcast(op, grad, -grad)


@export("add", "math.add")
def add(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x + y`, broadcasting; strings are concatenated (TF: tf.add)."""
    with name_scope(name, "Add", [x, y]) as scope:
        x, y = _pair(x, y)
        return (ADD if x.dtype.base_dtype == string else ADD_V2)(x, y, name=scope)


@export("sub", "subtract", "math.subtract")
def subtract(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x - y`, broadcasting (TF: tf.subtract; tf.sub)."""
    return SUB(x, y, name=name)


def _pair(x: Any, y: Any) -> tuple[Tensor, Tensor]:
    """Both as tensors; a Python number takes the dtype of the other operand."""
    if isinstance(y, Tensor) and not isinstance(x, Tensor):
        return convert_to_tensor(x, y.dtype.base_dtype, name="x"), y
    x = convert_to_tensor(x, name="x")
    return x, convert_to_tensor(y, x.dtype.base_dtype, name="y")


ADD_N = define_op(
    "AddN",
    "inputs: N * T",
    "sum: T",
    attrs=[
        "N: int >= 1",
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
        "qint16, quint16, uint16, complex128, half, uint32, uint64, variant}",
    ],
    commutative=True,
    aggregate=True,
    shape=shape_rules.same,
    work=1.0,
    bits16="infer",
)
ACCUMULATE_N_V2 = define_op(
    "AccumulateNV2",
    "inputs: N * T",
    "sum: T",
    attrs=["N: int >= 1", "T: numbertype", "shape: shape"],
    commutative=True,
    aggregate=True,
    work=1.0,
    launches=True,
)


@ACCUMULATE_N_V2.shape
@shape_rules.of_first
def accumulate_n_v2_shape(c: ShapeContext, inputs: list[TensorShape]) -> TensorShape:
    return shape_rules.same(c, inputs).merge_with(c.attrs["shape"])


@ADD_N.kernel(T=NATIVE)
@ACCUMULATE_N_V2.kernel(T=NATIVE)
def add_n_kernel(ctx: KernelContext) -> Any:
    return {1: _one, 2: _two}.get(ctx["N"], _many)


@ADD_N.kernel("CPU", T=TORCH_LACKS)
@ACCUMULATE_N_V2.kernel("CPU", T=TORCH_LACKS)
def add_n_numpy_kernel(ctx: KernelContext) -> Any:
    def add_all(inputs: list[np.ndarray]) -> Any:
        return np.sum(np.stack(inputs), axis=0, dtype=inputs[0].dtype)

    return via_numpy(add_all, ctx["T"])


def _one(inputs: list[torch.Tensor]) -> torch.Tensor:
    return inputs[0].clone()


def _two(inputs: list[torch.Tensor]) -> torch.Tensor:
    x, y = inputs
    if x.shape != y.shape:
        raise _unequal(inputs)
    return torch.add(x, y)


def _many(inputs: list[torch.Tensor]) -> torch.Tensor:
    return _add_into([_two(inputs[:2]), *inputs[2:]])


def _add_into(inputs: list[torch.Tensor]) -> torch.Tensor:
    total, *others = inputs
    if any(value.shape != total.shape for value in others):
        raise _unequal(inputs)
    for value in others:
        total.add_(value)
    return total


register_in_place(_two, {0: _add_into})
register_in_place(_many, {0: _add_into})


def _unequal(inputs: list[torch.Tensor]) -> ValueError:
    return ValueError(f"Inputs must all have the same shape, got {', '.join(str(list(x.shape)) for x in inputs)}")


@ADD_N.gradient
@ACCUMULATE_N_V2.gradient
def add_n_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return [grad] * len(op._inputs)


@export("add_n", "math.add_n")
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of a list of tensors of the same shape and dtype (TF: tf.add_n). Raises ValueError for an empty list."""
    tensors = _tensors(inputs)
    if len(tensors) == 1:
        return tensors[0] if name is None else identity(tensors[0], name=name)
    return ADD_N(tensors, name=name)


@export("accumulate_n", "math.accumulate_n")
def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """`add_n`, with optional checks of the shape and dtype (TF: tf.accumulate_n)."""
    tensors = _tensors(inputs)
    if tensor_dtype is not None and tensors[0].dtype.base_dtype != as_dtype(tensor_dtype):
        raise TypeError(f"tensor_dtype is {as_dtype(tensor_dtype).name}, but input is of type {tensors[0].dtype.name}")
    merged = TensorShape(shape)
    for tensor in tensors:
        merged = merged.merge_with(tensor.shape)
    if len(tensors) == 1:
        return tensors[0] if name is None else identity(tensors[0], name=name)
    return ACCUMULATE_N_V2(tensors, shape=merged, name=name)


def _tensors(inputs: Any) -> list[Tensor]:
    if not isinstance(inputs, list | tuple):
        inputs = [inputs]
    if not inputs:
        raise ValueError("inputs must be a list of at least one tensor")
    tensors = [convert_to_tensor(value) for value in inputs]
    if any(t.dtype.base_dtype != tensors[0].dtype.base_dtype for t in tensors):
        raise ValueError(f"inputs must have the same dtype, got {', '.join(t.dtype.name for t in tensors)}")
    return tensors


# --- products and powers --------------------------------------------------------------------------------

MUL = binary_op("Mul", NUMBERS, torch.mul, np.multiply, commutative=True, bits16="infer")
MUL.value(lift(lambda x, y: x * y))


@MUL.gradient
def mul_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op._inputs
    return unbroadcast(op, MUL(grad, conjugate(y)), MUL(conjugate(x), grad))


@export("mul", "multiply", "math.multiply")
def multiply(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x * y` element-wise, broadcasting (TF: tf.multiply; tf.mul)."""
    return MUL(x, y, name=name)


@export("scalar_mul", "math.scalar_mul")
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """`scalar * x`, where x may be `IndexedSlices` (TF: tf.scalar_mul). Raises ValueError if `scalar` is not a
    scalar."""
    from penstock.graph.composite import IndexedSlices

    scalar = convert_to_tensor(scalar, dtype=x.dtype.base_dtype, name="scalar")
    if scalar.shape.ndims not in (0, None):
        raise ValueError(f"Only scalar multiply works, got shape {scalar.shape}")
    if isinstance(x, IndexedSlices):
        return IndexedSlices(MUL(scalar, x.values, name=name), x.indices, x.dense_shape)
    return MUL(scalar, x, name=name)


SQUARED_DIFFERENCE = binary_op(
    "SquaredDifference",
    "{bfloat16, half, float, double, int32, int64, complex64, complex128}",
    commutative=True,
)


@SQUARED_DIFFERENCE.kernel()
def squared_difference_kernel(ctx: KernelContext) -> Any:
    if ctx["T"].is_complex:
        return lambda x, y: torch.sub(x, y).abs().square().to(x.dtype)
    sub, square = torch.sub, torch.square
    return lambda x, y: square(sub(x, y))


@SQUARED_DIFFERENCE.gradient
def squared_difference_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y = op._inputs
    grad_x = MUL(MUL(like(2, x), grad), SUB(x, y))
    return unbroadcast(op, grad_x, -grad_x)


@export("squared_difference", "math.squared_difference")
def squared_difference(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`(x - y)²`, broadcasting; for complex numbers, the squared distance (TF: tf.squared_difference)."""
    return SQUARED_DIFFERENCE(x, y, name=name)


POW = binary_op(
    "Pow", "{bfloat16, float, half, double, int8, int16, int32, int64, complex64, complex128}", work=16.0, bits16="deny"
)
add_kernels(POW, torch.pow, types=f"{FLOATS} {COMPLEX}")


@POW.kernel(T=INTEGERS)
def pow_integers_kernel(ctx: KernelContext) -> Any:
    """TensorFlow rejects negative exponents, even for 1 and -1."""

    def power(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        if (y < 0).any():
            raise ValueError("Integers to negative integer powers are not allowed")
        return torch.pow(x, y)

    return power


@POW.gradient
def pow_gradient(op: Operation, grad: Tensor) -> list[Any]:
    x, y, z = conjugate(op._inputs[0]), conjugate(op._inputs[1]), conjugate(op._outputs[0])
    grad_x = MUL(MUL(grad, y), POW(x, SUB(y, like(1, y))))
    # log(x) where it is defined: 0 to a positive power stays 0, and negative bases have no real derivative.
    defined = get_op("NotEqual" if x.dtype.is_complex else "Greater")(x, like(0, x))
    select, one = get_op("SelectV2"), like(1, x)
    log = select(defined, get_op("Log")(select(defined, x, one)), like(0, x))
    return unbroadcast(op, grad_x, MUL(MUL(grad, z), log))


@export("pow", "math.pow")
def pow(x: Any, y: Any, name: str | None = None) -> Tensor:
    """`x ** y`, broadcasting; integers take no negative exponents (TF: tf.pow)."""
    with name_scope(name, "Pow", [x, y]) as scope:
        return POW(x, y, name=scope)


# --- extrema --------------------------------------------------------------------------------------------

MAXIMUM = binary_op("Maximum", "realnumbertype", commutative=False, bits16="clear")
MINIMUM = binary_op("Minimum", "realnumbertype", commutative=False, bits16="clear")
add_kernels(MAXIMUM, torch.maximum, np.maximum, types=REAL)
add_kernels(MINIMUM, torch.minimum, np.minimum, types=REAL)
MAXIMUM.value(lift(lambda x, y: x if x >= y else y))
MINIMUM.value(lift(lambda x, y: x if x <= y else y))


@MAXIMUM.gradient
def maximum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    """If inputs are equal, the first gets the gradient."""
    return _extremum_gradient(op, grad, "GreaterEqual")


@MINIMUM.gradient
def minimum_gradient(op: Operation, grad: Tensor) -> list[Any]:
    return _extremum_gradient(op, grad, "LessEqual")


def _extremum_gradient(op: Operation, grad: Tensor, first_wins: str) -> list[Any]:
    x, y = op._inputs
    first, zero, select = get_op(first_wins)(x, y), like(0, x), get_op("SelectV2")
    return unbroadcast(op, select(first, grad, zero), select(first, zero, grad))


@export("maximum", "math.maximum")
def maximum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The greater of x and y, broadcasting; NaN where either is NaN NaN (TF: tf.maximum)."""
    return MAXIMUM(x, y, name=name)


@export("minimum", "math.minimum")
def minimum(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The lesser of x and y, broadcasting; NaN where either is NaN NaN (TF: tf.minimum)."""
    return MINIMUM(x, y, name=name)


# --- angles ---------------------------------------------------------------------------------------------

ATAN2 = define_op("Atan2", "y: T, x: T", "z: T", attrs=["T: floattype"], shape=shape_rules.broadcast, work=8.0)
add_kernels(ATAN2, torch.atan2)


@ATAN2.gradient
def atan2_gradient(op: Operation, grad: Tensor) -> list[Any]:
    y, x = op._inputs
    scaled = get_op("RealDiv")(grad, ADD_V2(get_op("Square")(x), get_op("Square")(y)))
    return unbroadcast(op, MUL(x, scaled), MUL(-y, scaled))


@export("atan2", "math.atan2")
def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """The angle of the point (x, y), from -pi to pi (TF: tf.atan2)."""
    return ATAN2(y, x, name=name)


# --- in C -----------------------------------------------------------------------------------------------

expression("SquaredDifference", "({0} - {1}) * ({0} - {1})", "(@)(((#){0} - (#){1}) * ((#){0} - (#){1}))")
expression("Maximum", "maximum_@({0}, {1})", "{0} > {1} ? {0} : {1}")
expression("Minimum", "minimum_@({0}, {1})", "{0} < {1} ? {0} : {1}")
for _op, _sign in (("Add", "+"), ("AddV2", "+"), ("Sub", "-"), ("Mul", "*")):
    expression(_op, f"{{0}} {_sign} {{1}}", f"(@)((#){{0}} {_sign} (#){{1}})")


@expresses("AddN", "AccumulateNV2")
def add_n_expression(node: Node) -> Expression | None:
    """The sum from left to right, like the kernel's."""
    ctype = C_TYPES[node.dtypes[0]]
    if ctype == "u8":
        return None
    unsigned = UNSIGNED.get(ctype, ctype)
    text = " + ".join(f"({unsigned}){{{i}}}" for i in range(len(node.inputs)))
    return Expression(f"({ctype})({text})", ctype, SAME, len(node.inputs) - 1)


_POWERS = {-1.0: "1 / {0}", 1.0: "{0}", 2.0: "{0} * {0}", 3.0: "{0} * {0} * {0}"}


@expresses("Pow", ulps=2)
def pow_expression(node: Node) -> Expression | None:
    """Powers with constant exponents that are a product or a quotient. Roots are excluded: they differ in signs of zero
    and infinity."""
    exponent, base = node.inputs[1].node, node.inputs[0]
    if not exponent.is_constant or exponent.attrs["value"].ndim or base.dtype not in (float32, float64):
        return None
    text = _POWERS.get(float(exponent.attrs["value"]))
    return Expression(text, C_TYPES[base.dtype], BROADCAST, 1) if text else None
