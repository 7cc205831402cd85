"""Sequences of numbers: Range and LinSpace."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock.emit.registry import emits
from penstock.emit.site import Site, local
from penstock.emit.tools import loop
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Bound, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.cast import cast
from penstock.ops.elementwise import FLOATS, REAL
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import as_dtype, float32, float64, int32, int64
from penstock.tensor.shapes import TensorShape

RANGE = define_op(
    "Range",
    "start: Tidx, limit: Tidx, delta: Tidx",
    "output: Tidx",
    attrs=["Tidx: {bfloat16, half, float, double, int8, int16, int32, int64, uint16, uint32, uint64} = int32"],
    work=1.0,
)
RANGE.not_differentiable()


def _length(start: Any, limit: Any, delta: Any) -> int:
    """The number of elements; raises ValueError for a step of 0 or in the wrong direction.

    All three are ints, or floats in the range's own precision: in a wider one 0.3 / 0.1 exceeds 3.
    """
    if delta == 0:
        raise ValueError("Requires delta != 0: 0")
    if delta > 0 and start > limit:
        raise ValueError(f"Requires start <= limit when delta > 0: {start}/{limit}")
    if delta < 0 and start < limit:
        raise ValueError(f"Requires start >= limit when delta < 0: {start}/{limit}")
    if isinstance(start, int):
        return -((start - limit) // delta) if delta > 0 else -((limit - start) // -delta)
    return math.ceil(abs((limit - start) / delta))


@RANGE.shape
def range_shape(c: ShapeContext, *inputs: TensorShape) -> TensorShape:
    for shape in inputs:
        shape.with_rank(0)
    known = [c.constant(name) for name in ("start", "limit", "delta")]
    return TensorShape([None if any(k is None for k in known) else _length(*(_scalar(k) for k in known))])


def _scalar(value: Any) -> Any:
    """An int, or a float that keeps its precision."""
    value = value.reshape(())
    if isinstance(value, torch.Tensor):
        return value if value.is_floating_point() else value.item()
    return int(value) if value.dtype.kind in "iu" else value[()]


@RANGE.value
def range_value(op: Operation, start: Any, limit: Any, delta: Any) -> Any:
    if start is None or limit is None or delta is None:
        return None
    first, last, step = start[()], limit[()], delta[()]
    if first is None or last is None or step is None:
        return None
    return first + step * np.arange(_length(first, last, step)).astype(object)


@RANGE.kernel(Tidx=REAL, host=("start", "limit", "delta"))
def range_kernel(ctx: KernelContext) -> Any:
    dtype, device = ctx.torch_dtype("Tidx"), ctx.device

    def make(start: Any, limit: Any, delta: Any) -> torch.Tensor:
        first, step = start.item(), delta.item()
        count = _length(_scalar(start), _scalar(limit), _scalar(delta))
        if dtype.is_floating_point:
            return torch.arange(count, dtype=torch.float64, device=device).mul_(step).add_(first).to(dtype)
        return torch.arange(first, first + count * step, step, dtype=dtype, device=device)

    known = [ctx.const(name) for name in ("start", "limit", "delta")]
    return make if any(k is None for k in known) else Bound(make(*known))


@RANGE.kernel("CPU", Tidx=TORCH_LACKS)
def range_numpy_kernel(ctx: KernelContext) -> Any:
    def make(start: np.ndarray, limit: np.ndarray, delta: np.ndarray) -> np.ndarray:
        first, step = int(start), int(delta)
        return first + step * np.arange(_length(first, int(limit), step), dtype=np.uint64)

    return via_numpy(make, ctx["Tidx"])


@export("range")
def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """start, start + delta, … below `limit`; with one argument, from 0 up to it (TF: tf.range).

    The dtype is the widest among the arguments (int32, int64, float32, float64), or `dtype`. Raises ValueError (in a
    step InvalidArgumentError) for a delta of 0 or in the wrong direction.
    """
    if limit is None:
        start, limit = 0, start
    with name_scope(name, "Range", [start, limit, delta]) as scope:
        wanted = None if dtype is None else as_dtype(dtype).base_dtype
        names = ("start", "limit", "delta")
        tensors = [
            convert_to_tensor(v, _plain(v, wanted), name=k) for v, k in zip((start, limit, delta), names, strict=True)
        ]
        if wanted is None:
            order = [int32, int64, float32, float64]
            wanted = max((t.dtype.base_dtype for t in tensors), key=order.index)
        return RANGE(*(cast(t, wanted) for t in tensors), name=scope)


def _plain(value: Any, wanted: Any) -> Any:
    """The dtype to convert `value` to: tensors are cast instead."""
    return None if isinstance(value, Tensor) or hasattr(value, "_as_graph_element") else wanted


LIN_SPACE = define_op(
    "LinSpace", "start: T, stop: T, num: Tidx", "output: T", attrs=["T: floattype", "Tidx: indextype = int32"], work=4.0
)
LIN_SPACE.not_differentiable()


@LIN_SPACE.shape
def lin_space_shape(c: ShapeContext, *inputs: TensorShape) -> TensorShape:
    for shape in inputs:
        shape.with_rank(0)
    num = c.constant("num")
    if num is not None and num <= 0:
        raise ValueError(f"Requires num > 0: {num}")
    return TensorShape([None if num is None else int(num)])


@LIN_SPACE.kernel(T=FLOATS, host=("start", "stop", "num"))
def lin_space_kernel(ctx: KernelContext) -> Any:
    dtype, device = ctx.torch_dtype(), ctx.device

    def make(start: torch.Tensor, stop: torch.Tensor, num: torch.Tensor) -> torch.Tensor:
        count = int(num)
        if count <= 0:
            raise ValueError(f"Requires num > 0: {count}")
        if count == 1:
            return start.reshape(1).to(device, copy=True)
        found = (
            torch.arange(count, dtype=dtype, device=device).mul_((stop - start).item() / (count - 1)).add_(start.item())
        )
        found[-1] = stop.item()
        return found

    return make


@export("lin_space", "linspace")
def linspace(start: Any, stop: Any, num: Any, name: str | None = None) -> Tensor:
    """`num` numbers evenly spaced from `start` to `stop`, both included (TF: tf.linspace; tf.lin_space).

    Integers become floats. Raises ValueError (in a step InvalidArgumentError) unless num is positive.
    """
    with name_scope(name, "LinSpace", [start, stop]) as scope:
        start = convert_to_tensor(start, name="start")
        stop = convert_to_tensor(stop, None if isinstance(stop, Tensor) else start.dtype.base_dtype, name="stop")
        if start.dtype.is_integer:
            start, stop = cast(start, float64), cast(stop, float64)
        return LIN_SPACE(start, stop, num, name=scope)


# --- in C -----------------------------------------------------------------------------------------------


@emits("Range")
def range_of_in_c(s: Site) -> str | None:
    """Uses float64 for floats, like the kernel."""
    start, limit, delta = s.const(0), s.const(1), s.const(2)
    (y,) = s.outputs
    if start is None or limit is None or delta is None:
        return None
    exact = "f64" if y.is_float else "i64"
    first, step = (float(v).hex() if y.is_float else f"{int(v)}LL" for v in (start, delta))
    i = local("i")
    return loop(i, y.size, f"{y.element(i)} = ({y.ctype})(({exact}){i} * {step} + {first});")
