"""Rows by index: taken, put, and one for each class."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.exporting.onnx.rules import Site, lowers


@lowers("Gather", "ResourceGather")
def gather(s: Site) -> Any:
    return s.op("Gather", s.inputs(0, 1), axis=0)


@lowers("GatherV2")
def gather_v2(s: Site) -> Any:
    axis, batch_dims = int(s.known(2, "the axis")), s.node.attrs.get("batch_dims", 0)
    if not batch_dims:
        return s.op("Gather", s.inputs(0, 1), axis=axis)
    if axis % s.rank(0) != batch_dims:
        raise LookupError(f"it gathers along dimension {axis} with {batch_dims} dimensions of batches")
    indices = s.op("Unsqueeze", [s.int64(1), s.ints(-1)])
    return s.op("GatherND", [s.input(0), indices], batch_dims=batch_dims)


@lowers("GatherNd", "ResourceGatherNd")
def gather_nd(s: Site) -> Any:
    return s.op("GatherND", [s.input(0), s.int64(1)])


@lowers("OneHot")
def one_hot(s: Site) -> Any:
    """By comparing, since ONNX's counts negative indices from the end."""
    axis, rank = s["axis"], s.rank(0)
    axis = rank if axis == -1 else axis
    depth = s.op("Reshape", [s.int64(1), s.ints()])
    zero, one = (s.lowering.constant(np.array(n, np.int64)) for n in (0, 1))
    classes = s.op("Range", [zero, depth, one])
    if rank - axis:
        classes = s.op("Unsqueeze", [classes, s.ints(*range(1, rank - axis + 1))])
    equal = s.op("Equal", [s.op("Unsqueeze", [s.int64(0), s.ints(axis)]), classes])
    return s.where(equal, s.input(2), s.input(3), s.node.dtypes[0])


@lowers("ScatterNd")
def scatter_nd(s: Site) -> Any:
    zeros = s.op("Expand", [s.constant(0, 1), s.vector(2)])
    return s.op("ScatterND", [zeros, s.int64(0), s.input(1)], reduction="add")


@lowers("TensorScatterUpdate", "TensorScatterAdd")
def tensor_scatter(s: Site) -> Any:
    adds = s.node.op.name == "TensorScatterAdd"
    return s.op("ScatterND", [s.input(0), s.int64(1), s.input(2)], reduction="add" if adds else "none")


@lowers("Where")
def where(s: Site) -> Any:
    truth = s.input(0)
    if s.dtype(0).name != "bool":
        truth = s.op("Not", [s.op("Equal", [truth, s.constant(0)])])
    return s.op("Transpose", [s.op("NonZero", [truth])], perm=[1, 0])
