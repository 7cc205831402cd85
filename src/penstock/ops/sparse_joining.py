"""Concatenating and splitting sparse tensors along a dimension (TF: SparseConcat, SparseSplit)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.array import one_of
from penstock.ops.kernel_tools import invalid
from penstock.ops.sparse_tools import (
    ANY,
    as_sparse,
    check_parts,
    join,
    known_parts,
    row_keys,
    sorted_order,
    sparse_shapes,
    take,
    tensor,
)
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int64
from penstock.tensor.shapes import TensorShape

# --- SparseConcat ---------------------------------------------------------------------------------------

SPARSE_CONCAT = define_op(
    "SparseConcat",
    "indices: N * int64, values: N * T, shapes: N * int64",
    "output_indices: int64, output_values: T, output_shape: int64",
    attrs=["concat_dim: int", "N: int >= 2", "T: type"],
    work=SERIAL,
)
SPARSE_CONCAT.not_differentiable()


@SPARSE_CONCAT.shape
def sparse_concat_shape(
    c: ShapeContext, indices: list[TensorShape], values: list[TensorShape], shapes: list[TensorShape]
) -> list[TensorShape]:
    rank = TensorShape([None])
    counts: list[int | None] = []
    for parts in zip(indices, values, shapes, strict=True):
        count, columns = known_parts(*parts)
        counts.append(count)
        rank = rank.merge_with([columns])
    total = None if None in counts else sum(count for count in counts if count is not None)
    return sparse_shapes(total, rank.tuple[0])


@SPARSE_CONCAT.kernel("CPU", T=ANY)
def sparse_concat_kernel(ctx: KernelContext) -> Kernel:
    axis = ctx["concat_dim"]

    def concat(indices: list[torch.Tensor], values: list[Any], shapes: list[torch.Tensor]) -> tuple[Any, ...]:
        for i, parts in enumerate(zip(indices, values, shapes, strict=True)):
            check_parts(*parts, f"input {i}")
        dims = shapes[0].tolist()
        at = axis + len(dims) if axis < 0 else axis
        if not 0 <= at < len(dims):
            raise invalid(f"Concat dimension must be in range [{-len(dims)}, {len(dims)}), got {axis}")
        rows, start = [], 0
        for i, (part, shape) in enumerate(zip(indices, shapes, strict=True)):
            other = shape.tolist()
            if len(other) != len(dims):
                raise invalid(
                    f"Ranks of all input tensors must match: expected {len(dims)} but got {len(other)} at position {i}"
                )
            if any(d != o for j, (d, o) in enumerate(zip(dims, other, strict=True)) if j != at):
                raise invalid(f"Input shapes must match except in dimension {at}: {dims} and {other} at position {i}")
            moved = part.numpy().copy()
            moved[:, at] += start
            rows.append(moved)
            start += other[at]
        whole = np.concatenate(rows)
        elements = join(values)
        order = sorted_order(row_keys(whole)[0])
        if order is not None:
            whole, elements = whole[order], take(elements, order)
        return tensor(whole), elements, torch.tensor([*dims[:at], start, *dims[at + 1 :]], dtype=torch.int64)

    return concat


@export("sparse_concat", "sparse.concat")
def sparse_concat(
    axis: int,
    sp_inputs: Any,
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: Any = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Sparse tensors concatenated along `axis`, with elements in row-major order (TF: tf.sparse_concat).

    Other dimensions must be equal, or (with `expand_nonconcat_dims`) become the largest. A single tensor is returned
    unchanged. A step raises InvalidArgumentError if shapes do not match.
    """
    expand = expand_nonconcat_dim if expand_nonconcat_dims is None else expand_nonconcat_dims
    axis = one_of("axis", axis, "concat_dim", concat_dim)
    if not isinstance(sp_inputs, list | tuple):
        sp_inputs = [sp_inputs]
    inputs = [as_sparse(sp, "sp_inputs") for sp in sp_inputs]
    if len(inputs) == 1:
        return inputs[0]
    shapes = [sp.dense_shape for sp in inputs]
    static = _static_concat(axis, [sp.shape for sp in inputs], expand)
    if expand:
        largest = get_op("Max")(get_op("Pack")(shapes), np.int32(0))
        rank = get_op("Size")(largest)
        at = get_op("FloorMod")(np.int32(axis), rank)
        there = get_op("Equal")(get_op("Range")(np.int32(0), rank, np.int32(1)), at)
        shapes = [get_op("SelectV2")(there, shape, largest) for shape in shapes]
    parts = SPARSE_CONCAT(
        [sp.indices for sp in inputs], [sp.values for sp in inputs], shapes, concat_dim=axis, name=name
    )
    return SparseTensor(parts[0], parts[1], parts[2] if static is None else static)


def _static_concat(axis: int, shapes: list[TensorShape], expand: bool) -> list[int] | None:
    """The shape of the concatenation, if all shapes are known and match; otherwise the step raises the error."""
    if not all(shape.is_fully_defined() for shape in shapes):
        return None
    rank = len(shapes[0])
    if any(len(shape) != rank for shape in shapes) or not -rank <= axis < rank:
        return None
    sizes = list(zip(*(shape.as_list() for shape in shapes), strict=True))
    if not expand and any(len(set(dims)) > 1 for i, dims in enumerate(sizes) if i != axis % rank):
        return None
    return [sum(dims) if i == axis % rank else max(dims) for i, dims in enumerate(sizes)]


# --- SparseSplit ----------------------------------------------------------------------------------------

SPARSE_SPLIT = define_op(
    "SparseSplit",
    "split_dim: int64, indices: int64, values: T, shape: int64",
    "output_indices: num_split * int64, output_values: num_split * T, output_shape: num_split * int64",
    attrs=["num_split: int >= 1", "T: type"],
    work=SERIAL,
)
SPARSE_SPLIT.not_differentiable()


@SPARSE_SPLIT.shape
def sparse_split_shape(
    c: ShapeContext, axis: TensorShape, indices: TensorShape, values: TensorShape, shape: TensorShape
) -> list[TensorShape]:
    count = c.attrs["num_split"]
    return [
        *[TensorShape([None, shape.num_elements()])] * count,
        *[TensorShape([None])] * count,
        *[shape] * count,
    ]


@SPARSE_SPLIT.kernel("CPU", T=ANY)
def sparse_split_kernel(ctx: KernelContext) -> Kernel:
    """The first parts have one more element if the dimension does not split evenly."""
    count = ctx["num_split"]

    def split(axis: torch.Tensor, indices: torch.Tensor, values: Any, shape: torch.Tensor) -> tuple[Any, ...]:
        if axis.numel() != 1:
            raise invalid(f"split_dim must be a scalar, got shape {list(axis.shape)}")
        check_parts(indices, values, shape)
        at, dims = int(axis), shape.tolist()
        if not -len(dims) <= at < len(dims):
            raise invalid(f"Input split_dim should be between {-len(dims)} and rank ({len(dims)}), got {at}")
        at %= len(dims)
        if count > dims[at]:
            raise invalid(
                f"Input num_split should be between 1 and the splitting dimension size ({dims[at]}), got {count}"
            )
        each, more = divmod(dims[at], count)
        edges = np.cumsum([0] + [each + (i < more) for i in range(count)])
        rows = indices.numpy()
        owner = np.searchsorted(edges, rows[:, at], side="right") - 1
        found: list[list[Any]] = [[], [], []]
        for i in range(count):
            inside = (owner == i).nonzero()[0]
            part = rows[inside]
            part[:, at] -= edges[i]
            size = [*dims[:at], int(edges[i + 1] - edges[i]), *dims[at + 1 :]]
            for output, value in zip(
                found, (tensor(part), take(values, inside), torch.tensor(size, dtype=torch.int64)), strict=True
            ):
                output.append(value)
        return (*found[0], *found[1], *found[2])

    return split


@export("sparse_split", "sparse.split")
def sparse_split(
    keyword_required: Any = None,
    sp_input: Any = None,
    num_split: int | None = None,
    axis: Any = None,
    name: str | None = None,
    split_dim: Any = None,
) -> list[SparseTensor]:
    """`num_split` parts of a sparse tensor along `axis`, the first ones longer by 1 if necessary (TF: tf.sparse_split).

    Raises ValueError unless arguments are given by keyword. A step raises InvalidArgumentError for an invalid axis, or
    one shorter than `num_split`.
    """
    if keyword_required is not None:
        raise ValueError("Keyword arguments are required for this function.")
    axis = one_of("axis", axis, "split_dim", split_dim, needed=False)
    for argument, given in (("sp_input", sp_input), ("num_split", num_split), ("axis", axis)):
        if given is None:
            raise ValueError(f"{argument} is required")
    sp_input = as_sparse(sp_input)
    at = convert_to_tensor(axis, int64)
    parts = SPARSE_SPLIT(at, sp_input.indices, sp_input.values, sp_input.dense_shape, num_split=num_split, name=name)
    return [SparseTensor(*three) for three in zip(*parts, strict=True)]
