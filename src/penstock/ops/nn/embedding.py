"""Looking up rows by ids (TF: tf.nn.embedding_lookup), in one table or in a table split into parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import colocate_with, name_scope
from penstock.ops.clip import clip_by_norm
from penstock.ops.gather import gather
from penstock.tensor.dtypes import bfloat16, float16, float32, int32


@export("nn.embedding_lookup")
@of_ragged("rows")
def embedding_lookup(
    params: Any,
    ids: Any,
    partition_strategy: str = "mod",
    name: str | None = None,
    validate_indices: bool = True,
    max_norm: float | None = None,
) -> Tensor:
    """The rows `ids` of `params` (TF: tf.nn.embedding_lookup).

    params: a tensor or variable [rows, …], or a list of parts of one table; ids: int32 or int64 of any shape ->
    [ids.shape…, …]. With several parts, "mod" finds id i in part i % parts; with "div" each part has consecutive ids.
    Rows longer than `max_norm` are scaled to that length. A step raises InvalidArgumentError for an id out of range.
    `validate_indices` is not used, as in TF.
    """
    parts = list(params) if isinstance(params, list | tuple) or _is_partitioned(params) else [params]
    if not parts or params is None:
        raise ValueError("params must be specified and not empty.")
    if partition_strategy not in ("mod", "div"):
        raise ValueError(f"partition_strategy must be 'mod' or 'div', got {partition_strategy!r}")
    with name_scope(name, "embedding_lookup", [*parts, ids]) as scope:
        keys = convert_to_tensor(ids, name="ids")
        if len(parts) == 1:
            with colocate_with(_place(parts[0])):
                rows = _clip(gather(parts[0], keys, name=scope), keys, max_norm)
                return get_op("Identity")(rows)
        return _lookup_in_parts(parts, keys, partition_strategy, max_norm, scope)


def _is_partitioned(params: Any) -> bool:
    return type(params).__name__ == "PartitionedVariable"


def _place(part: Any) -> Any:
    return part if isinstance(part, Tensor) else getattr(part, "op", None) or convert_to_tensor(part)


def _lookup_in_parts(parts: list[Any], ids: Tensor, strategy: str, max_norm: float | None, scope: str) -> Tensor:
    """Look up each id in the part that has its row, and reassemble the rows in the order of the ids."""
    count = len(parts)
    flat = get_op("Reshape")(ids, [-1])
    positions = get_op("Range")(0, get_op("Size")(flat), 1)
    owner, local = (_by_mod if strategy == "mod" else _by_div)(flat, parts)
    owner = owner if owner.dtype == int32 else get_op("Cast")(owner, DstT=int32)
    local_ids = get_op("DynamicPartition")(local, owner, num_partitions=count)
    places = get_op("DynamicPartition")(positions, owner, num_partitions=count)
    rows = []
    for part, wanted in zip(parts, local_ids, strict=True):
        with colocate_with(_place(part)):
            rows.append(gather(part, wanted))
    found = get_op("DynamicStitch")(places, rows, name=scope)
    row_shape = rows[0].shape[1:]
    for more in rows[1:]:
        row_shape = row_shape.merge_with(more.shape[1:])
    row_dims = row_shape if row_shape.is_fully_defined() else get_op("Shape")(rows[0])[1:]
    found = get_op("Reshape")(found, get_op("ConcatV2")([get_op("Shape")(ids), row_dims], 0))
    found.set_shape(ids.shape.concatenate(row_shape))
    return _clip(found, ids, max_norm)


def _by_mod(ids: Tensor, parts: list[Any]) -> tuple[Tensor, Tensor]:
    return ids % len(parts), ids // len(parts)


def _by_div(ids: Tensor, parts: list[Any]) -> tuple[Tensor, Tensor]:
    """The first `extra` parts have one more row than the others."""
    count = len(parts)
    rows = [convert_to_tensor(part).shape[0].value for part in parts]
    if None in rows:
        sizes = [get_op("Cast")(get_op("Shape")(convert_to_tensor(part))[0], DstT=ids.dtype) for part in parts]
        total: Any = get_op("AddN")(sizes)
    else:
        total = convert_to_tensor(sum(rows), ids.dtype)
    each, extra = total // count, total % count
    owner = get_op("Maximum")(ids // (each + 1), (ids - extra) // each)
    local = get_op("Select")(
        get_op("Less")(owner, extra * get_op("OnesLike")(owner)), ids % (each + 1), (ids - extra) % each
    )
    return owner, local


def _clip(rows: Tensor, ids: Tensor, max_norm: float | None) -> Tensor:
    """`rows` with those longer than `max_norm` scaled to it; a row is what one id refers to."""
    if max_norm is None:
        return rows
    if ids.shape.ndims is None or rows.shape.ndims is None:
        raise ValueError(f"max_norm needs known ranks, got ids {ids.shape} and rows {rows.shape}")
    axes = list(range(ids.shape.ndims, rows.shape.ndims))
    return clip_by_norm(rows, max_norm, axes)


@export("nn.embedding_lookup_sparse")
def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseTensor,
    sp_weights: SparseTensor | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """One row for each row of `sp_ids`: the combined rows of `params` at its ids.

    TF: tf.nn.embedding_lookup_sparse.

    sp_ids [n, any] int32 or int64, each row with at least one id (rows after the last id are omitted); sp_weights: None
    for ones, or floats with the same indices. combiner: "sum", "mean" (the default: by the sum of the weights) or
    "sqrtn" (by the root of the sum of their squares). Each id is looked up once, so that the gradient has one row for
    it. Rows of 16 bits are combined, and returned, as float32.
    """
    combiner = combiner or "mean"
    if combiner not in ("sum", "mean", "sqrtn"):
        raise ValueError(f"combiner must be one of 'mean', 'sqrtn' or 'sum', got {combiner!r}")
    parts = list(params) if isinstance(params, list | tuple) or _is_partitioned(params) else [params]
    with name_scope(name, "embedding_lookup_sparse", [*parts, sp_ids.values]) as scope:
        segments = get_op("StridedSlice")(
            sp_ids.indices, [0, 0], [0, 1], [1, 1], begin_mask=1, end_mask=1, shrink_axis_mask=2
        )
        segments = segments if segments.dtype == int32 else get_op("Cast")(segments, DstT=int32)
        ids, which = get_op("Unique")(sp_ids.values)
        rows = embedding_lookup(parts, ids, partition_strategy, max_norm=max_norm)
        if rows.dtype.base_dtype in (float16, bfloat16):
            rows = get_op("Cast")(rows, DstT=float32)
        if sp_weights is None:
            return get_op(f"SparseSegment{_COMBINED[combiner]}")(rows, which, segments, name=scope)
        total = get_op("SegmentSum")
        weights = get_op("Cast")(sp_weights.values, DstT=rows.dtype.base_dtype)
        rows = get_op("GatherV2")(rows, which, np.int32(0))
        rows = rows * _as_column(weights, rows)
        if combiner == "sum":
            return total(rows, segments, name=scope)
        if combiner == "mean":
            divisor = total(weights, segments)
        else:
            divisor = get_op("Sqrt")(total(weights * weights, segments))
        found = total(rows, segments)
        return get_op("DivNoNan")(found, _as_column(divisor, found), name=scope)


_COMBINED = {"sum": "Sum", "mean": "Mean", "sqrtn": "SqrtN"}


def _as_column(vector: Tensor, rows: Tensor) -> Tensor:
    """[n] as [n, 1, …], to broadcast against `rows`."""
    if rows.shape.ndims is None:
        raise ValueError(f"the rank of the embeddings must be known, got {rows}")
    return get_op("Reshape")(vector, [-1] + [1] * (rows.shape.ndims - 1))
