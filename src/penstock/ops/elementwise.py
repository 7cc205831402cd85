"""What broadcasting and element-wise ops share: their definition, and the reduction of gradients to input shapes."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock.emit.registry import emits
from penstock.emit.site import Site
from penstock.emit.tools import constants
from penstock.graph import shape_rules
from penstock.graph.convert import constant
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, as_dtype
from penstock.tensor.shapes import TensorShape

REAL = "bfloat16 half float double uint8 int8 int16 int32 int64"
"""The real types that torch supports in computations."""

NATIVE = f"{REAL} complex64 complex128"
"""The number types that torch supports in computations; kernels for other integers use NumPy."""

FLOATS = "bfloat16 half float double"
NUMBERS = (
    "{bfloat16, half, float, double, uint8, int8, uint16, int16, int32, uint32, uint64, int64, complex64, complex128}"
)
"""The types that OpDefs allow for ordinary arithmetic."""

SIGNED = "{bfloat16, half, float, double, int8, int16, int32, int64, complex64, complex128}"
"""The same without unsigned types."""

INTEGERS = "uint8 int8 int16 int32 int64"
COMPLEX = "complex64 complex128"


def add_kernels(op: OpDef, torch_fn: Kernel, numpy_fn: Callable[..., Any] | None = None, types: str = NATIVE) -> None:
    """Make `torch_fn` itself the kernel of `op` for `types`, and `numpy_fn` that for types that torch lacks."""
    op.kernel(T=types)(lambda n: torch_fn)
    if numpy_fn is not None:
        fn, output = numpy_fn, op.outputs[0]
        op.kernel("CPU", T=TORCH_LACKS)(lambda n: via_numpy(fn, output.dtypes(n.node.attrs)[0]))


def unary_op(
    name: str,
    allowed: str,
    torch_fn: Kernel,
    numpy_fn: Callable[..., Any] | None = None,
    types: str = NATIVE,
    *,
    work: float = 1.0,
    **traits: Any,
) -> OpDef:
    """Define an element-wise op of one input, `x: T -> y: T`, with T among `allowed`. `traits`: see `Traits`."""
    attrs = [f"T: {allowed}"]
    op = define_op(name, "x: T", "y: T", attrs=attrs, shape=shape_rules.unchanged, work=work, **traits)
    add_kernels(op, torch_fn, numpy_fn, types)
    return op


def binary_op(
    name: str,
    allowed: str,
    torch_fn: Kernel | None = None,
    numpy_fn: Callable[..., Any] | None = None,
    output: str = "T",
    *,
    work: float = 1.0,
    **more: Any,
) -> OpDef:
    """Define a broadcasting op, `x: T, y: T -> z: output`, with T among `allowed`; kernels may follow.

    `more`: further arguments of `define_op`.
    """
    attrs = [f"T: {allowed}"]
    op = define_op(name, "x: T, y: T", f"z: {output}", attrs=attrs, shape=shape_rules.broadcast, work=work, **more)
    if torch_fn is not None:
        add_kernels(op, torch_fn, numpy_fn)
    return op


# --- the gradient of broadcasting -----------------------------------------------------------------------

BROADCAST_GRADIENT_ARGS = define_op(
    "BroadcastGradientArgs", "s0: T, s1: T", "r0: T, r1: T", attrs=["T: indextype = int32"], work=1.0
)
BROADCAST_GRADIENT_ARGS.not_differentiable()


@BROADCAST_GRADIENT_ARGS.shape
def broadcast_gradient_args_shape(c: ShapeContext, s0: TensorShape, s1: TensorShape) -> list[TensorShape]:
    s0.assert_has_rank(1)
    s1.assert_has_rank(1)
    dims = c.constant("s0"), c.constant("s1")
    if dims[0] is not None and dims[1] is not None:
        with contextlib.suppress(ValueError):  # the step raises the error
            return [TensorShape([len(axes)]) for axes in reduced_axes(dims[0].tolist(), dims[1].tolist())]
    return [TensorShape([None]), TensorShape([None])]


@BROADCAST_GRADIENT_ARGS.value
def broadcast_gradient_args_value(op: Operation, s0: Any, s1: Any) -> list[np.ndarray] | None:
    if s0 is None or s1 is None or None in (*s0, *s1):
        return None
    return [np.array(axes, object) for axes in reduced_axes(s0.tolist(), s1.tolist())]


@BROADCAST_GRADIENT_ARGS.kernel(host=("s0", "s1", "r0", "r1"))
def broadcast_gradient_args_kernel(ctx: KernelContext) -> Any:
    dtype = ctx.torch_dtype()
    none = torch.empty(0, dtype=dtype)  # which has no elements that could be changed

    def reduced(s0: torch.Tensor, s1: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        dims0, dims1 = s0.tolist(), s1.tolist()
        if dims0 == dims1:
            return none, none
        r0, r1 = reduced_axes(dims0, dims1)
        return torch.tensor(r0, dtype=dtype), torch.tensor(r1, dtype=dtype)

    return reduced


def reduced_axes(s0: list[int], s1: list[int]) -> tuple[list[int], list[int]]:
    """The axes of the broadcast of shapes s0 and s1 along which each of the two was repeated.

    An axis of size 1 in both counts for both. Raises ValueError if they cannot be broadcast.
    """
    if s0 == s1:
        return [], []
    rank = max(len(s0), len(s1))
    a, b = [1] * (rank - len(s0)) + s0, [1] * (rank - len(s1)) + s1
    if any(x != y and x != 1 and y != 1 for x, y in zip(a, b, strict=True)):
        raise ValueError(f"Incompatible shapes for broadcasting: {s0} and {s1}")
    return [i for i in range(rank) if a[i] == 1], [i for i in range(rank) if b[i] == 1]


def sum_to(grad: Any, x: Tensor, *others: Tensor) -> Any:
    """`grad`, of the shape that x was broadcast to with `others`, summed to the shape of x.

    Uses static shapes: no node if x was not repeated, constant axes if these are known. For variables the result is
    Reshape(Sum(...)), as in TensorFlow 1.15: programs that walk from the gradients of variables to what these were
    summed from (factors of K-FAC) count on both nodes. The plan of a step leaves the reshape out.
    """
    dims = x.shape.tuple
    if grad is None or (x.shape.is_fully_defined() and x.shape == grad.shape):
        return grad
    if not others:
        others = (grad,)
    if all(other.shape.ndims == 0 for other in others):
        return grad
    if dims == ():
        return _shaped(_sum_all(grad), x)
    axes = _static_axes(dims, [other.shape.tuple for other in others])
    if axes is None:
        shape = get_op("Shape")(x)
        axes_of_x, _ = BROADCAST_GRADIENT_ARGS(shape, get_op("Shape")(grad))
        return get_op("Reshape")(get_op("Sum")(grad, axes_of_x), shape)
    missing, single = axes
    if missing:
        grad = get_op("Sum")(grad, np.array(missing, np.int32))
    if single:
        grad = get_op("Sum")(grad, np.array(single, np.int32), keep_dims=True)
    return _shaped(grad, x) if missing or single else grad


def _shaped(summed: Tensor, x: Tensor) -> Tensor:
    """`summed` through a Reshape to the shape of x, if that is known."""
    if not x.shape.is_fully_defined():
        return summed
    return get_op("Reshape")(summed, np.array(x.shape.as_list(), np.int32))


def _static_axes(dims: Any, others: list[Any]) -> tuple[list[int], list[int]] | None:
    """The leading axes missing from `dims`, and the axes (counted in `dims`) where it is 1; None if they are not known
    statically."""
    if dims is None or None in others:
        return None
    rank = max(len(dims), *map(len, others))
    single = []
    for i, size in enumerate(dims):
        beside = [other[i - len(dims)] if len(dims) - i <= len(other) else 1 for other in others]
        if all(d == 1 for d in beside):
            continue
        if size == 1:
            single.append(i)
        elif size is None:
            return None  # perhaps 1 in some steps
    return list(range(rank - len(dims))), single


def _sum_all(grad: Tensor) -> Tensor:
    rank = grad.shape.ndims
    if rank == 0:
        return grad
    if rank is not None:
        return get_op("Sum")(grad, np.arange(rank, dtype=np.int32))
    return get_op("Sum")(get_op("Reshape")(grad, np.array([-1], np.int32)), np.array([0], np.int32))


def unbroadcast(op: Operation, grad_x: Any, grad_y: Any) -> list[Any]:
    """The gradients of the two inputs of `op`, summed to their shapes."""
    x, y = op._inputs[:2]
    return [sum_to(grad_x, x, y), sum_to(grad_y, y, x)]


# --- helpers of gradients ---------------------------------------------------------------------------


def conjugate(x: Tensor) -> Tensor:
    """The complex conjugate; a real tensor is returned unchanged."""
    return get_op("Conj")(x) if x.dtype.base_dtype.is_complex else x


def like(value: float, x: Tensor) -> Tensor:
    """A scalar constant of the dtype of `x`."""
    dtype: DType = as_dtype(x.dtype).base_dtype
    return constant(np.array(value).astype(dtype.np), dtype)


# --- in C -----------------------------------------------------------------------------------------------


@emits("BroadcastGradientArgs")
def broadcast_gradient_args_in_c(s: Site) -> str | None:
    first, second = s.numbers(0), s.numbers(1)
    if first is None or second is None:
        return None
    return "\n".join(constants(y, axes) for y, axes in zip(s.outputs, reduced_axes(first, second), strict=True))
