"""A weighted sum of columns (TF: tf.feature_column.linear_model)."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.partitioned_variable import PartitionedVariable
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.export import export
from penstock.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    Features,
    Weights,
    check_batches,
    checked_columns,
    flattened,
)
from penstock.graph.operation import Tensor
from penstock.nn import bias_add
from penstock.ops.add_n import add_n
from penstock.ops.array import shape as shape_of
from penstock.ops.matrix import matmul
from penstock.ops.sparse_embedding import safe_embedding_lookup_sparse
from penstock.ops.sparse_layout import sparse_reshape


@export("feature_column.linear_model")
def linear_model(
    features: Any,
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
) -> Tensor:
    """[batch, units]: the sum of columns times their weights, plus a bias (TF: tf.feature_column.linear_model).

    Each column has a variable `weights`: [num_buckets, units] for categories, whose rows at the ids are combined by
    `sparse_combiner`, and [numbers, units] for dense columns. All begin with zeros. `cols_to_vars` is filled with the
    variables of each column, and those of "bias".
    """
    refusal = "Items of feature_columns must be either a _DenseColumn or _CategoricalColumn."
    columns = checked_columns(feature_columns, (DenseColumn, CategoricalColumn), refusal, features)
    weights = Weights(weight_collections, trainable)
    known = Features(features)
    scopes = [_unique_scope(column) for column in columns]
    with variable_scope(None, default_name="linear_model", values=features.values()):
        sums = []
        for column, scope in zip(columns, scopes, strict=True):
            with variable_scope(scope):
                table = _variable("weights", [_height(column), units], weights)
                sums.append(_weighted_sum(column, known, weights, table, sparse_combiner))
            if cols_to_vars is not None:
                cols_to_vars[column] = _parts(table)
        check_batches(sums, columns)
        bias = _variable("bias_weights", [units], weights)
        if cols_to_vars is not None:
            cols_to_vars["bias"] = _parts(bias)
        return bias_add(add_n(sums, name="weighted_sum_no_bias"), bias, name="weighted_sum")


def _unique_scope(column: Any) -> str:
    """A second model beside the first has columns "age_1", as in TensorFlow, where it is another layer "age"."""
    with variable_scope(None, default_name=column.var_scope_name) as scope:
        return scope.name.rpartition("/")[2]


def _variable(name: str, shape: list[int], weights: Weights) -> Any:
    return get_variable(
        name,
        shape=shape,
        initializer=zeros_initializer(),
        trainable=weights.trainable,
        collections=weights.collections,
    )


def _parts(variable: Any) -> list[Any]:
    return list(variable) if isinstance(variable, PartitionedVariable) else [variable]


def _height(column: Any) -> int:
    return column.num_buckets if isinstance(column, CategoricalColumn) else column.variable_shape.num_elements()


def _weighted_sum(column: Any, features: Features, weights: Weights, table: Any, combiner: str) -> Tensor:
    if isinstance(column, CategoricalColumn):
        ids, id_weights = column.sparse_tensors(features)
        if ids.dense_shape.shape[0].value != 2:
            rows = [shape_of(ids)[0], -1]
            ids = sparse_reshape(ids, rows)
            id_weights = None if id_weights is None else sparse_reshape(id_weights, rows)
        return safe_embedding_lookup_sparse(table, ids, id_weights, combiner, name="weighted_sum")
    return matmul(flattened(column.dense_tensor(features, weights), column), table, name="weighted_sum")
