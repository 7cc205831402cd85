"""Functions of sparse tensors that are composed of several ops (TF: tf.sparse_retain, tf.sparse_merge, …)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.constants import constant_value
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.basic import identity, placeholder, placeholder_with_default
from penstock.ops.cast import cast
from penstock.ops.checks import assert_equal, assert_less_equal
from penstock.ops.filling import ones
from penstock.ops.gather_nd import gather_nd
from penstock.ops.sorting import setdiff1d
from penstock.ops.sparse_layout import sparse_reorder
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.ops.sparse_tools import as_sparse
from penstock.tensor.dtypes import bool as bool_, float32, int32, int64
from penstock.tensor.shapes import Dimension, TensorShape


@export("sparse_placeholder", "sparse.placeholder")
def sparse_placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> SparseTensor:
    """A sparse tensor to feed in each step: a SparseTensorValue, or indices, values, dense_shape.

    `shape` may have None or -1 for dimensions that each feed chooses, or be a tensor; with a known one, the feed may
    omit the dense shape. TF: tf.sparse_placeholder.
    """

    def part(of: str) -> str | None:
        return None if name is None else f"{name}/{of}"

    rank: Any = None
    static: TensorShape | None = None
    known = False  # then it is a constant, so that what is made of the parts has this shape, too
    if shape is None:
        dense_shape = placeholder(int64, [None], name=part("shape"))
    else:
        if isinstance(shape, Tensor):
            default = shape
            rank = shape.shape[0].value
        else:
            dims = [d.value if isinstance(d, Dimension) else d for d in shape]
            dims = [None if d is None or d < 0 else int(d) for d in dims]
            rank, static = len(dims), TensorShape(dims)
            known = None not in dims
            named = part("shape" if known else "shape_default") or "Const"
            default = constant([-1 if d is None else d for d in dims], int64, name=named)
        dense_shape = default if known else placeholder_with_default(cast(default, int64), default.shape, part("shape"))
    values = placeholder(dtype, [None], name=part("values"))
    found = SparseTensor(placeholder(int64, [None, rank], name=part("indices")), values, dense_shape)
    found._static_shape = static
    return found


# --- from and to dense tensors --------------------------------------------------------------------------


@export("sparse_to_indicator", "sparse.to_indicator")
def sparse_to_indicator(sp_input: Any, vocab_size: int, name: str | None = None) -> Tensor:
    """Ids [..., n], int32 or int64, as bools [..., vocab_size]: True at the ids (TF: tf.sparse_to_indicator).

    A step raises InvalidArgumentError for ids out of [0, vocab_size).
    """
    sp_input = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", [sp_input.values]) as scope:
        ones = get_op("Fill")(get_op("Shape")(sp_input.values), constant(True, bool_))
        whole = SparseTensor(sp_input.indices, ones, sp_input.dense_shape)
        merged = sparse_merge(sp_input, whole, vocab_size, name=scope)
        return sparse_tensor_to_dense(merged, False, validate_indices=False, name=scope)


@export("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> Any:
    """The elements of a dense tensor that are not 0 (or not empty) as a SparseTensor (TF: tf.sparse.from_dense)."""
    with name_scope(name, "dense_to_sparse", [tensor]):
        tensor = convert_to_tensor(tensor)
        indices = get_op("Where")(get_op("NotEqual")(tensor, get_op("ZerosLike")(tensor)))
        return SparseTensor(indices, gather_nd(tensor, indices), get_op("Shape")(tensor, out_type="int64"))


# --- selecting elements ----------------------------------------------------------------------------------


@export("sparse_retain", "sparse.retain")
def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The elements for which the bools `to_retain` [n] are True (TF: tf.sparse_retain)."""
    sp_input = as_sparse(sp_input)
    to_retain = convert_to_tensor(to_retain, bool_)
    to_retain.shape.with_rank(1).assert_is_compatible_with(sp_input.values.shape.with_rank(1))
    kept = get_op("Reshape")(get_op("Where")(to_retain), np.array([-1], np.int32))
    gather = get_op("GatherV2")
    return SparseTensor(
        gather(sp_input.indices, kept, np.int32(0)),
        gather(sp_input.values, kept, np.int32(0)),
        identity(sp_input.dense_shape),
    )


@export("sparse_mask", "sparse.mask")
def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """The slices of `a` whose indices are not among `mask_indices` (TF: tf.sparse_mask)."""
    with name_scope(name, "sparse_mask", [a, mask_indices]) as scope:
        indices, kept = setdiff1d(a.indices, mask_indices)
        values = get_op("GatherV2")(a.values, kept, np.int32(0), name=scope)
        return IndexedSlices(values, indices, a.dense_shape)


# --- other indices and shapes ---------------------------------------------------------------------------


@export("sparse_merge", "sparse.merge")
def sparse_merge(
    sp_ids: Any, sp_values: Any, vocab_size: Any, name: str | None = None, already_sorted: bool = False
) -> SparseTensor:
    """Values indexed by ids: the ids [..., n] replace the last index (TF: tf.sparse_merge).

    sp_ids and sp_values have the same indices; ids are int32 or int64, in [0, vocab_size). Several `sp_ids`, with the
    same number of `vocab_size`, are one index each. The result is sorted unless `already_sorted`.
    """
    if not isinstance(sp_ids, list | tuple) or hasattr(sp_ids, "dense_shape"):
        sp_ids, vocab_size = [sp_ids], [vocab_size]
    elif not isinstance(vocab_size, list | tuple):
        raise TypeError("vocab_size has to be a list of Tensors or Python ints.")
    ids = [as_sparse(sp, "sp_ids") for sp in sp_ids]
    if len(ids) != len(vocab_size):
        raise ValueError("sp_ids and vocab_size have to have equal lengths.")
    with name_scope(name, "SparseMerge", [*ids, sp_values]):
        sp_values = as_sparse(sp_values, "sp_values")
        slice_, join = get_op("StridedSlice"), get_op("ConcatV2")
        columns = [get_op("ExpandDims")(cast(sp.values, int64), np.int32(1)) for sp in ids]
        lead = slice_(ids[0].indices, [0, 0], [0, -1], [1, 1], begin_mask=3, end_mask=1)
        sizes = [cast(convert_to_tensor(size), int64) for size in vocab_size]
        dims = slice_(ids[0].dense_shape, [0], [-1], [1], begin_mask=1)
        shape = join([dims, get_op("Pack")(sizes)], np.int32(0))
        merged = SparseTensor(join([lead, *columns], np.int32(1)), sp_values.values, shape)
        if already_sorted:
            return merged
        ordered = sparse_reorder(merged)
        return SparseTensor(ordered.indices, ordered.values, shape)


@export("sparse_reset_shape", "sparse.reset_shape")
def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same elements in a new shape, by default the smallest that holds them (TF: tf.sparse_reset_shape).

    Raises ValueError or (in a step) InvalidArgumentError if `new_shape` is smaller than the present one, or has a
    different rank.
    """
    sp_input = as_sparse(sp_input)
    indices, values, old = identity(sp_input.indices), identity(sp_input.values), identity(sp_input.dense_shape)
    if new_shape is None:
        least = get_op("Max")(indices, np.int32(0))
        return SparseTensor(indices, values, get_op("Maximum")(np.int64(0), least + np.int64(1)))
    wanted = cast(new_shape, int64)
    wanted.shape.assert_has_rank(1)
    rank = old.shape.merge_with(wanted.shape)
    static, target = sp_input.shape, constant_value(wanted)
    if static.is_fully_defined() and target is not None:
        if any(have > want for have, want in zip(static.as_list(), target.tolist(), strict=True)):
            raise ValueError(
                "Requested new_shape should have dimension sizes >= sp_input.shape. "
                f"Found new_shape ({target.tolist()}), sp_input.shape ({static})."
            )
        return SparseTensor(indices, values, wanted)
    same_rank = assert_equal(get_op("Shape")(old), get_op("Shape")(wanted))
    with control_dependencies([same_rank]):
        fits = assert_less_equal(old, wanted)
    with control_dependencies([fits]):
        shape = identity(wanted)
    shape.set_shape(rank)
    return SparseTensor(indices, values, shape)


@export("sparse.expand_dims")
def sparse_expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """The same elements with an additional dimension of size 1 at `axis`, by default the last (TF:
    tf.sparse.expand_dims).

    Raises ValueError for an axis beyond [-rank - 1, rank].
    """
    sp_input = as_sparse(sp_input)
    axis = -1 if axis is None else int(axis)
    rank = sp_input.dense_shape.shape[0].value
    with name_scope(name, "expand_dims", [sp_input]):
        if rank is not None:
            if not -rank - 1 <= axis <= rank:
                raise ValueError(f"axis {axis} is out of range [{-rank - 1}, {rank}]")
            at: Any = np.int32(axis % (rank + 1))
        else:
            size = get_op("Size")(sp_input.dense_shape)
            at = np.int32(axis) if axis >= 0 else size + np.int32(axis + 1)
        count = get_op("Shape")(sp_input.indices)[0]
        column = get_op("Fill")(get_op("Pack")([count, np.int32(1)]), np.int64(0))
        dims = sp_input.dense_shape
        indices = get_op("ConcatV2")([sp_input.indices[:, :at], column, sp_input.indices[:, at:]], np.int32(1))
        shape = get_op("ConcatV2")([dims[:at], np.array([1], np.int64), dims[at:]], np.int32(0))
        return SparseTensor(indices, sp_input.values, shape)


@export("sparse.eye")
def sparse_eye(num_rows: Any, num_columns: Any = None, dtype: Any = float32, name: str | None = None) -> SparseTensor:
    """Ones on the diagonal of a matrix (TF: tf.sparse.eye)."""
    with name_scope(name, "eye", [num_rows, num_columns]):
        rows = cast(convert_to_tensor(num_rows, int32 if isinstance(num_rows, int) else None), int64)
        columns = rows if num_columns is None else cast(convert_to_tensor(num_columns), int64)
        size = get_op("Minimum")(rows, columns)
        diagonal = get_op("Range")(np.int64(0), size, np.int64(1))
        whole = ones(get_op("Reshape")(size, [1]), dtype)
        return SparseTensor(get_op("Pack")([diagonal, diagonal], axis=1), whole, get_op("Pack")([rows, columns]))
