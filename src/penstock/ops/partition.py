"""Ops whose result's size depends on values: where, dynamic_partition, dynamic_stitch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.emit.indices import move_row
from penstock.emit.registry import emits
from penstock.emit.site import Site, local
from penstock.emit.tools import block, check_indices, fill, loop
from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import RESHAPE, reshape, shape as shape_of_tensor, size
from penstock.ops.kernel_tools import TORCH_LACKS, TORCH_TYPES, as_signed
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

# --- Where ----------------------------------------------------------------------------------------------

WHERE = define_op(
    "Where",
    "input: T",
    "index: int64",
    attrs=[
        "T: {float, double, int32, uint8, int16, int8, complex64, int64, qint8, quint8, qint32, bfloat16, "
        "qint16, quint16, uint16, complex128, half, uint32, uint64, bool} = bool"
    ],
    work=32.0,
)
WHERE.not_differentiable()
WHERE.kernel(T=f"{TORCH_LACKS} quint16")(lambda n: lambda x: (x != 0).nonzero())
WHERE.kernel()(lambda n: torch.nonzero)


@WHERE.shape
def where_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    return TensorShape([None, x.ndims])


@export("where")
@of_ragged("rows")
def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """The indices [count, rank], int64, of the true elements of `condition`; or elements of `x` and `y`.

    With `x` and `y`, of the same shape: `x` where `condition` is true, otherwise `y`. `condition` also has that shape,
    or is a vector that selects rows. TF: tf.where.
    """
    if x is None and y is None:
        return WHERE(convert_to_tensor(condition, name="condition"), name=name)
    if x is None or y is None:
        raise ValueError("x and y must both be non-None or both be None.")
    return get_op("Select")(condition, x, y, name=name)


@export("where_v2")
def where_v2(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """As `where`, but `condition`, `x` and `y` are broadcast against each other (TF: tf.where_v2)."""
    if x is None or y is None:
        return where(condition, x, y, name)
    return get_op("SelectV2")(condition, x, y, name=name)


# --- DynamicPartition -----------------------------------------------------------------------------------

DYNAMIC_PARTITION = define_op(
    "DynamicPartition",
    "data: T, partitions: int32",
    "outputs: num_partitions * T",
    attrs=["num_partitions: int >= 1", "T: type"],
    allocates=False,
    work=64.0,
)


@DYNAMIC_PARTITION.shape
def dynamic_partition_shape(c: ShapeContext, data: TensorShape, partitions: TensorShape) -> list[TensorShape]:
    part = UNKNOWN
    if data.ndims is not None and partitions.ndims is not None:
        data[: partitions.ndims].assert_is_compatible_with(partitions)
        part = TensorShape([None]).concatenate(data[partitions.ndims :])
    return [part] * c.attrs["num_partitions"]


@DYNAMIC_PARTITION.kernel("CPU", T="string")
@DYNAMIC_PARTITION.kernel(T=TORCH_TYPES)
def dynamic_partition_kernel(ctx: KernelContext) -> Any:
    num, strings = ctx["num_partitions"], ctx["T"].torch is None

    def partition(data: Any, partitions: torch.Tensor) -> Any:
        if tuple(data.shape[: partitions.ndim]) != tuple(partitions.shape):
            raise errors.InvalidArgumentError(
                None, None, f"data of shape {list(data.shape)} must start with {list(partitions.shape)}"
            )
        which = partitions.reshape(-1)
        if which.numel() and not 0 <= which.min() <= which.max() < num:
            at = ((partitions < 0) | (partitions >= num)).nonzero()[0].tolist()
            where = f"[{','.join(map(str, at))}]" if at else ""
            bad = int(partitions[tuple(at)])
            raise errors.InvalidArgumentError(None, None, f"partitions{where} = {bad} is not in [0, {num})")
        rows = data.reshape((which.numel(), *data.shape[partitions.ndim :]))
        order = which.argsort(stable=True)
        counts = torch.bincount(which, minlength=num).tolist()
        if strings:
            return tuple(np.split(rows[order.numpy()], np.cumsum(counts)[:-1]))
        return as_signed(rows).index_select(0, order).view(rows.dtype).split(counts)

    return partition


@DYNAMIC_PARTITION.gradient
def dynamic_partition_gradient(op: Operation, *grads: Any) -> list[Any]:
    data, partitions = op._inputs
    places = RESHAPE(get_op("Range")(0, size(partitions), 1), shape_of_tensor(partitions))
    indices = DYNAMIC_PARTITION(places, partitions, num_partitions=op.attrs["num_partitions"])
    stitched = DYNAMIC_STITCH(indices, list(grads))
    return [reshape(stitched, shape_of_tensor(data)), None]


@export("dynamic_partition")
def dynamic_partition(data: Any, partitions: Any, num_partitions: int, name: str | None = None) -> list[Tensor]:
    """Distributes the slices of `data` to `num_partitions` tensors, according to `partitions`.

    partitions [p1…pk] int32, data [p1…pk, ...] -> [count, ...] each, in order. TF: tf.dynamic_partition.
    """
    return DYNAMIC_PARTITION(data, partitions, num_partitions=num_partitions, name=name)


# --- DynamicStitch --------------------------------------------------------------------------------------

DYNAMIC_STITCH = define_op(
    "DynamicStitch", "indices: N * int32, data: N * T", "merged: T", attrs=["N: int >= 1", "T: type"], work=32.0
)


@DYNAMIC_STITCH.shape
def dynamic_stitch_shape(c: ShapeContext, indices: list[TensorShape], data: list[TensorShape]) -> TensorShape:
    rest = UNKNOWN
    for index, values in zip(indices, data, strict=True):
        if index.ndims is not None and values.ndims is not None:
            values[: index.ndims].assert_is_compatible_with(index)
            rest = rest.merge_with(values[index.ndims :])
    known = [constant_value(t) for t in c.op._inputs[: len(indices)]]
    count = None
    if all(k is not None for k in known):
        count = max((int(k.max()) + 1 for k in known if k.size), default=0)  # type: ignore[union-attr]
    return TensorShape([count]).concatenate(rest)


@DYNAMIC_STITCH.kernel("CPU", T="string")
@DYNAMIC_STITCH.kernel(T=TORCH_TYPES)
def dynamic_stitch_kernel(ctx: KernelContext) -> Any:
    """If there are several values for a row, the last one is used; a row without a value is zero."""
    strings = ctx["T"].torch is None

    def stitch(indices: list[torch.Tensor], data: list[Any]) -> Any:
        tail = tuple(data[0].shape[indices[0].ndim :])
        for index, values in zip(indices, data, strict=True):
            if tuple(values.shape) != (*index.shape, *tail):
                raise errors.InvalidArgumentError(
                    None,
                    None,
                    f"data of shape {list(values.shape)} must be {[*index.shape, *tail]}, as its indices",
                )
        which = torch.cat([i.reshape(-1) for i in indices]).long()
        rows = [v.reshape((i.numel(), *tail)) for i, v in zip(indices, data, strict=True)]
        if which.numel() and which.min() < 0:
            raise errors.InvalidArgumentError(None, None, f"indices has {which.min()}, which is out of range")
        count = int(which.max().item()) + 1 if which.numel() else 0
        last = torch.full((count,), -1, dtype=torch.int64, device=which.device)
        last.scatter_reduce_(0, which, torch.arange(len(which), device=which.device), "amax")
        if strings:
            return np.concatenate([*rows, np.full((1, *tail), b"", object)])[last.numpy()]
        found = torch.cat(rows)
        if count and (last < 0).any():
            found = torch.cat([found, found.new_zeros((1, *tail))])
            last = torch.where(last < 0, len(which), last)
        return as_signed(found).index_select(0, last).view(found.dtype)

    return stitch


@DYNAMIC_STITCH.gradient
def dynamic_stitch_gradient(op: Operation, grad: Any) -> list[Any]:
    count = op.attrs["N"]
    grad = convert_to_tensor(grad)
    return [None] * count + [get_op("GatherV2")(grad, index, 0) for index in op._inputs[:count]]


@export("dynamic_stitch")
def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Tensor:
    """One tensor of all slices in `data`, with slice i of data[m] at row indices[m][i]; later ones win.

    indices[m] [m1…mk] int32, data[m] [m1…mk, ...] -> [max index + 1, ...]. TF: tf.dynamic_stitch.
    """
    return DYNAMIC_STITCH(indices, data, name=name)


# --- in C -----------------------------------------------------------------------------------------------


@emits("DynamicStitch", "ParallelDynamicStitch")
def dynamic_stitch_in_c(s: Site) -> str | None:
    """If there are several values for a row, the last one is used; constant indices determine the number of rows."""
    half = len(s.inputs) // 2
    indices, data, (y,) = s.inputs[:half], s.inputs[half:], s.outputs
    tail = data[0].shape[len(indices[0].shape) :]
    if any(s.const(i) is None for i in range(half)):
        return None
    if any(v.shape != i.shape + tail or i.ctype != "i32" for i, v in zip(indices, data, strict=True)):
        return None
    size, lines = math.prod(tail), []
    for index, values in zip(indices, data, strict=True):
        i = local("i")
        move = move_row(y, f"{index.element(i)} * {size}", values, f"{i} * {size}", size)
        lines += [check_indices(s, index, y.shape[0]), loop(i, index.size, move)]
    return block(fill(y), *lines)
