"""Passing sparse tensors through a queue: they stay in the session, and their handles are enqueued."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.graph.composite import SparseTensor
from penstock.graph.constants import constant_value
from penstock.graph.convert import constant
from penstock.graph.operation import Operation, Tensor
from penstock.ops.array import expand_dims, shape as shape_of, squeeze
from penstock.ops.basic import with_dependencies
from penstock.ops.control_flow.cond import cond
from penstock.ops.filling import ones
from penstock.ops.gather import gather
from penstock.ops.sparse_functions import sparse_retain
from penstock.ops.sparse_maps import (
    add_many_sparse_to_tensors_map,
    add_sparse_to_tensors_map,
    take_many_sparse_from_tensors_map,
)
from penstock.tensor.dtypes import int64

_ADDS = ("AddSparseToTensorsMap", "AddManySparseToTensorsMap")


class Kept(NamedTuple):
    """The storage of a component's sparse tensors: the op that keeps them, and their rank as elements of the queue."""

    op: Operation
    rank: int | None


def when(keep: Tensor, then: Callable[[], Any], otherwise: Callable[[], Any]) -> Any:
    """`then()` where `keep` is true, otherwise `otherwise()`; only one of them is built if `keep` is known."""
    known = constant_value(keep)
    return cond(keep, then, otherwise) if known is None else (then if known else otherwise)()


def keep_sparse(
    tensors: list[Any], many: bool, keep: Tensor, shared: list[Kept | None] | None = None
) -> tuple[list[Tensor], list[Kept | None]]:
    """`tensors` with handles, [1] or [n, 1], for those that are sparse, which are kept unless `keep` is false.

    Consumers of the queue look them up in `shared`, if it is given.
    """
    found: list[Tensor] = []
    kept: list[Kept | None] = []
    for tensor, place in zip(tensors, shared or [None] * len(tensors), strict=True):
        if not isinstance(tensor, SparseTensor):
            found.append(tensor)
            kept.append(None)
            continue
        rank = tensor.dense_shape.shape.with_rank(1).as_list()[0]
        handles = _handles(tensor, many, keep, None if place is None else place.op.name)
        adding = [op for op in (handles.op, *(x.op for x in handles.op.inputs)) if op.type in _ADDS]
        kept.append(Kept(adding[0] if place is None else place.op, rank if rank is None else rank - many))
        found.append(expand_dims(handles, [-1]))
    return found, kept


def _handles(tensor: SparseTensor, many: bool, keep: Tensor, name: str | None) -> Tensor:
    if keep.shape.ndims == 1:
        tensor = sparse_retain(tensor, gather(keep, tensor.indices[:, 0]))
        return add_many_sparse_to_tensors_map(tensor, shared_name=name)
    if not many:
        return when(keep, lambda: add_sparse_to_tensors_map(tensor, shared_name=name), lambda: constant(-1, int64))
    handles = when(
        keep,
        lambda: add_many_sparse_to_tensors_map(tensor, shared_name=name),
        lambda: -1 * ones(shape_of(tensor)[0:1], int64),
    )
    handles.set_shape([None])
    return handles


def keep_sparse_of_all(
    lists: list[list[Any]], many: bool, keep: Tensor
) -> tuple[list[list[Tensor]], list[Kept | None]]:
    """Like `keep_sparse` for each of several lists, whose components share their storage."""
    first, kept = keep_sparse(lists[0], many, keep)
    found = [first]
    for tensors in lists[1:]:
        if [isinstance(tensor, SparseTensor) for tensor in tensors] != [place is not None for place in kept]:
            raise ValueError(f"Inconsistent SparseTensors list: {lists[0]} vs. {tensors}")
        stored, others = keep_sparse(tensors, many, keep, kept)
        ranks = {(a.rank, b.rank) for a, b in zip(kept, others, strict=True) if a is not None and b is not None}
        if any(a != b and None not in (a, b) for a, b in ranks):
            raise ValueError(f"Inconsistent SparseTensors list: {lists[0]} vs. {tensors}")
        found.append(stored)
    return found, kept


def taken_sparse(batch: list[Tensor], kept: list[Kept | None]) -> list[Any]:
    """The dequeued components, with sparse tensors instead of their handles.

    A step that uses part of it takes all of it; otherwise parts that are not fetched would be kept forever.
    """
    if not any(kept):
        return batch
    found = [
        value
        if place is None
        else take_many_sparse_from_tensors_map(
            place.op, squeeze(value, [1]), None if place.rank is None else place.rank + 1
        )
        for value, place in zip(batch, kept, strict=True)
    ]
    if len(found) == 1:
        return found
    values = [value.values if isinstance(value, SparseTensor) else value for value in found]

    def after_all(value: Tensor) -> Tensor:
        return with_dependencies(values, value)

    return [
        SparseTensor(*map(after_all, (value.indices, value.values, value.dense_shape)))
        if isinstance(value, SparseTensor)
        else after_all(value)
        for value in found
    ]
