"""Feature columns as a layer (TF: tf.keras.layers.DenseFeatures)."""

from __future__ import annotations

from typing import Any

from penstock.client.variable_scope import VariableScope, variable_scope
from penstock.export import export
from penstock.feature_column.base import DenseColumn, Features, Weights, check_batches, checked_columns, flattened
from penstock.graph.scopes import GraphKeys, get_collection
from penstock.keras.engine.layer import Layer
from penstock.ops.joining import concat


@export("keras.layers.DenseFeatures")
class DenseFeatures(Layer):
    """[batch, n]: the numbers of dense columns side by side, by the columns' names, of a dict of raw features."""

    def __init__(self, feature_columns: Any, trainable: bool = True, name: str | None = None, **kwargs: Any) -> None:
        super().__init__(trainable=trainable, name=name, **kwargs)
        self._feature_columns = feature_columns
        self._variables_in: VariableScope | None = None

    def call(self, features: Any, cols_to_output_tensors: dict[Any, Any] | None = None) -> Any:
        refusal = (
            "Items of feature_columns must be a DenseColumn. You can wrap a categorical column with an "
            "embedding_column or indicator_column."
        )
        columns = checked_columns(self._feature_columns, (DenseColumn,), refusal, features)
        known, weights = Features(features), Weights(None, self.trainable)
        before = {id(variable) for variable in get_collection(GraphKeys.GLOBAL_VARIABLES)}
        again = self._variables_in is not None
        with variable_scope(self._variables_in or self.name, reuse=again or None, auxiliary_name_scope=False) as scope:
            tensors = []
            for column in columns:
                with variable_scope(column.var_scope_name):
                    tensors.append(flattened(column.dense_tensor(known, weights), column))
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = tensors[-1]
        if not again:
            self._variables_in = scope
            trained = {id(variable) for variable in get_collection(GraphKeys.TRAINABLE_VARIABLES)}
            for variable in get_collection(GraphKeys.GLOBAL_VARIABLES):
                if id(variable) not in before:
                    own = self._trainable_weights if id(variable) in trained else self._non_trainable_weights
                    own.append(variable)
        check_batches(tensors, columns)
        return concat(tensors, 1)

    def get_config(self) -> dict[str, Any]:
        raise NotImplementedError("Feature columns have no description: save the model's weights.")
