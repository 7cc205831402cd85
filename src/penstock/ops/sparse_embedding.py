"""Embeddings of rows of ids that may be empty or invalid (TF: tf.nn.safe_embedding_lookup_sparse)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.elementwise import like
from penstock.ops.nn.embedding import embedding_lookup_sparse
from penstock.ops.sparse_functions import sparse_retain
from penstock.ops.sparse_layout import sparse_reshape
from penstock.ops.sparse_rows import sparse_fill_empty_rows
from penstock.tensor.dtypes import int32
from penstock.tensor.shapes import unknown_shape


@export("nn.safe_embedding_lookup_sparse")
def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseTensor,
    sparse_weights: SparseTensor | None = None,
    combiner: str | None = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """`embedding_lookup_sparse` that ignores negative ids, and ids whose weights are not positive.

    Rows without valid ids are zeros, or the embedding of `default_id`. ids and weights are sparse, of rank 2 or more;
    the last dimension is combined, the others are kept. TF: tf.nn.safe_embedding_lookup_sparse.
    """
    if embedding_weights is None:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    whole = isinstance(embedding_weights, list | tuple) or type(embedding_weights).__name__ == "PartitionedVariable"
    parts = list(embedding_weights) if whole else [embedding_weights]
    if not parts:
        raise ValueError(f"Missing embedding_weights {embedding_weights}.")
    with name_scope(name, "embedding_lookup", [*parts, sparse_ids, sparse_weights]) as scope:
        shape = sparse_ids.dense_shape
        rank = shape.shape[0].value
        count = get_op("Size")(shape) if rank is None else np.int32(rank)
        lead = shape[: count - 1]
        rows = get_op("Prod")(lead, np.int32(0))
        ids = sparse_reshape(sparse_ids, get_op("Pack")([rows, shape[count - 1]]))
        weights = None
        if sparse_weights is not None:
            weights = SparseTensor(ids.indices, sparse_weights.values, ids.dense_shape)
        ids, weights = _without_invalid(ids, weights, combiner)
        ids, empty = sparse_fill_empty_rows(ids, default_id or 0)
        if weights is not None:
            weights, _ = sparse_fill_empty_rows(weights, 1.0)
        lookup_name = None if default_id is None else scope
        found = embedding_lookup_sparse(
            parts, ids, weights, partition_strategy, name=lookup_name, combiner=combiner, max_norm=max_norm
        )
        if default_id is None:
            column = get_op("Reshape")(empty, np.array([-1, 1], np.int32))
            found = get_op("SelectV2")(column, like(0, found), found, name=scope)
        dims = [get_op("Cast")(lead, DstT=int32), get_op("Shape")(found)[1:]]
        result = get_op("Reshape")(found, get_op("ConcatV2")(dims, np.int32(0)))
        if rank is not None:
            result.set_shape(unknown_shape(rank - 1).concatenate(found.shape[1:]))
        return result


def _without_invalid(
    ids: SparseTensor, weights: SparseTensor | None, combiner: str | None
) -> tuple[SparseTensor, SparseTensor | None]:
    """Removes negative ids, and those with weights that are not positive unless the combiner is a sum."""
    values = ids.values
    valid = get_op("GreaterEqual")(values, like(0, values))
    if weights is not None and combiner != "sum":
        heavy = convert_to_tensor(weights.values)
        valid = get_op("LogicalAnd")(valid, get_op("Greater")(heavy, like(0, heavy)))
    return sparse_retain(ids, valid), None if weights is None else sparse_retain(weights, valid)
