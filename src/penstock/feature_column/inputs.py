"""Dense columns as one matrix (TF: tf.feature_column.input_layer)."""

from __future__ import annotations

from typing import Any

from penstock.client.variable_scope import get_variable_scope, variable_scope
from penstock.export import export
from penstock.feature_column.base import (
    DenseColumn,
    Features,
    Weights,
    check_batches,
    checked_columns,
    flattened,
)
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.ops.joining import concat


@export("feature_column.input_layer")
def input_layer(
    features: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    cols_to_vars: dict[Any, Any] | None = None,
    cols_to_output_tensors: dict[Any, Any] | None = None,
) -> Tensor:
    """[batch, n]: the tensors of dense columns side by side, by the columns' names (TF: the same name).

    features: a dict of raw features. `cols_to_vars` and `cols_to_output_tensors` are filled with the variables and the
    tensor [batch, k] of each column.
    """
    refusal = (
        "Items of feature_columns must be a _DenseColumn. You can wrap a categorical column with an embedding_column "
        "or indicator_column."
    )
    columns = checked_columns(feature_columns, (DenseColumn,), refusal, features)
    weights = Weights(weight_collections, trainable)
    known = Features(features)
    with variable_scope(None, default_name="input_layer", values=features.values()):
        tensors = []
        for column in columns:
            with variable_scope(None, default_name=column.var_scope_name):
                flat = flattened(column.dense_tensor(known, weights), column)
                tensors.append(flat)
                if cols_to_vars is not None:
                    scope = get_variable_scope().name
                    cols_to_vars[column] = get_collection(GraphKeys.GLOBAL_VARIABLES, scope=f"{scope}/")
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = flat
        check_batches(tensors, columns)
        return concat(tensors, 1)
