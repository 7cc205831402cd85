"""Dense columns of categories: indicators and embeddings (TF: tf.feature_column.indicator_column, embedding_column)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.client.initializers import truncated_normal_initializer
from penstock.client.variable_scope import get_variable
from penstock.export import export
from penstock.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    Features,
    IdsAndWeights,
    SequenceDenseColumn,
    Weights,
)
from penstock.feature_column.sequence_ids import SequenceCategoricalColumn, sequence_length
from penstock.graph.operation import Tensor
from penstock.graph.scopes import get_default_graph, name_scope
from penstock.ops.filling import one_hot
from penstock.ops.reduce import reduce_sum
from penstock.ops.sparse_embedding import safe_embedding_lookup_sparse
from penstock.ops.sparse_functions import sparse_merge
from penstock.ops.sparse_layout import sparse_slice
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.tensor.shapes import TensorShape
from penstock.train.checkpoint_utils import init_from_checkpoint


@dataclass(frozen=True)
class _OfCategories(DenseColumn, SequenceDenseColumn):
    """What a column of categories is turned into, for each example or each step of a sequence."""

    categorical_column: CategoricalColumn

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    def combined(self, features: Features, weights: Weights) -> Tensor:
        """The last dimension of the ids, combined to `variable_shape`."""
        raise NotImplementedError

    def dense_tensor(self, features: Features, weights: Weights) -> Tensor:
        if isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {type(self).__name__}: {self.name}. categorical_column must not be of type "
                "_SequenceCategoricalColumn. Suggested fix A: If you wish to use input_layer, use a non-sequence "
                "categorical_column_with_*. Suggested fix B: If you wish to create sequence input, use "
                "sequence_input_layer instead of input_layer. "
                f"Given (type {type(self.categorical_column)}): {self.categorical_column}"
            )
        return self.combined(features, weights)

    def sequence_tensor(self, features: Features, weights: Weights) -> tuple[Tensor, Tensor]:
        if not isinstance(self.categorical_column, SequenceCategoricalColumn):
            raise ValueError(
                f"In {type(self).__name__}: {self.name}. categorical_column must be of type "
                "_SequenceCategoricalColumn to use sequence_input_layer. Suggested fix: Use one of "
                "sequence_categorical_column_with_*. "
                f"Given (type {type(self.categorical_column)}): {self.categorical_column}"
            )
        found = self.combined(features, weights)
        return found, sequence_length(self.categorical_column.sparse_tensors(features).ids)


# --- indicators -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class IndicatorColumn(_OfCategories):
    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([1, self.categorical_column.num_buckets])

    def transform(self, features: Features) -> Tensor:
        ids, weights = self.categorical_column.sparse_tensors(features)
        depth = self.categorical_column.num_buckets
        if weights is not None:
            merged = sparse_merge(ids, weights, depth)
            inside = sparse_slice(merged, [0, 0], merged.dense_shape)  # without the ids of -1
            return sparse_tensor_to_dense(inside)
        return reduce_sum(one_hot(sparse_tensor_to_dense(ids, -1), depth, 1.0, 0.0), -2)

    def combined(self, features: Features, weights: Weights) -> Tensor:
        return features.get(self)


@export("feature_column.indicator_column")
def indicator_column(categorical_column: CategoricalColumn) -> IndicatorColumn:
    """How often each category occurs, or the sum of its weights (TF: tf.feature_column.indicator_column)."""
    return IndicatorColumn(categorical_column)


# --- embeddings -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Embedded(_OfCategories):
    dimension: int
    combiner: str
    initializer: Callable[..., Any]
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([self.dimension])

    def transform(self, features: Features) -> IdsAndWeights:
        return self.categorical_column.sparse_tensors(features)

    def _create(self, weights: Weights) -> Any:
        """The variable, in the current scope, or that of a scope that reuses."""
        table = get_variable(
            "embedding_weights",
            shape=[self.categorical_column.num_buckets, self.dimension],
            initializer=self.initializer,
            trainable=self.trainable and weights.trainable,
            collections=weights.collections,
        )
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        return table

    def table(self, weights: Weights) -> Any:
        return self._create(weights)

    def combined(self, features: Features, weights: Weights) -> Tensor:
        ids, id_weights = features.get(self)
        return safe_embedding_lookup_sparse(
            self.table(weights), ids, id_weights, self.combiner, name=f"{self.name}_weights", max_norm=self.max_norm
        )


@dataclass(frozen=True)
class EmbeddingColumn(_Embedded):
    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_embedding"


@dataclass(frozen=True)
class SharedEmbeddingColumn(_Embedded):
    """One of several columns whose table is found in a collection of the graph, which names the scope too."""

    shared_embedding_collection_name: str

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_shared_embedding"

    @property
    def var_scope_name(self) -> str:
        return self.shared_embedding_collection_name

    def table(self, weights: Weights) -> Any:
        graph, key = get_default_graph(), self.shared_embedding_collection_name
        existing = graph.get_collection(key)
        if not existing:
            table = self._create(weights)
            graph.add_to_collection(key, table)
            return table
        if len(existing) > 1:
            raise ValueError(
                f"Collection {existing} can only contain one variable. Suggested fix A: Choose a unique name for this "
                "collection. Suggested fix B: Do not add any variables to this collection. The feature_column library "
                "already adds a variable under the hood."
            )
        shape = TensorShape([self.categorical_column.num_buckets, self.dimension])
        if existing[0].get_shape() != shape:
            raise ValueError(
                f"Shared embedding collection {key} contains variable {existing[0].name} of unexpected shape "
                f"{existing[0].get_shape()}. Expected shape is {shape}. Suggested fix A: Choose a unique name for "
                "this collection. Suggested fix B: Do not add any variables to this collection. The feature_column "
                "library already adds a variable under the hood."
            )
        return existing[0]

    def combined(self, features: Features, weights: Weights) -> Tensor:
        with name_scope(None, self.name):
            return super().combined(features, weights)


@export("feature_column.embedding_column")
def embedding_column(
    categorical_column: CategoricalColumn,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> EmbeddingColumn:
    """The combined rows of a variable [num_buckets, dimension] at the ids (TF: tf.feature_column.embedding_column).

    combiner: "mean", "sqrtn" or "sum". The variable begins with a truncated normal of deviation 1 / sqrt(dimension), or
    with a tensor of a checkpoint. Rows longer than `max_norm` are scaled to it.
    """
    initializer = _checked(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, categorical_column)
    return EmbeddingColumn(
        categorical_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm,
        trainable,
    )  # fmt: skip


@export("feature_column.shared_embedding_columns", "contrib.feature_column.shared_embedding_columns")
def shared_embedding_columns(
    categorical_columns: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Callable[..., Any] | None = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[SharedEmbeddingColumn]:
    """`embedding_column`s of one variable, for columns of equally many ids (TF: the same name)."""
    initializer = _checked(dimension, initializer, ckpt_to_load_from, tensor_name_in_ckpt, categorical_columns)
    columns = sorted(categorical_columns, key=lambda column: column.name)
    first = columns[0]
    for column in columns[1:]:
        if column.num_buckets != first.num_buckets:
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same number of buckets. "
                f"Given column: {first} with buckets: {first.num_buckets} does  not match column: {column} "
                f"with buckets: {column.num_buckets}"
            )
        if _plain_type(column) is not _plain_type(first):
            raise ValueError(
                "To use shared_embedding_column, all categorical_columns must have the same type, or be "
                f"weighted_categorical_column or sequence column of the same type. Given column: {first} of type: "
                f"{type(first)} does not match given column: {column} of type: {type(column)}"
            )
    shared = shared_embedding_collection_name
    shared = shared or "_".join(column.name for column in columns) + "_shared_embedding"
    return [
        SharedEmbeddingColumn(
            column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable,
            shared,
        )
        for column in categorical_columns
    ]  # fmt: skip


def _plain_type(column: Any) -> type:
    """The type of a column, or of that which it has in it."""
    while hasattr(column, "categorical_column"):
        column = column.categorical_column
    return type(column)


def _checked(dimension: Any, initializer: Any, checkpoint: Any, tensor_name: Any, of: Any) -> Callable[..., Any]:
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (checkpoint is None) != (tensor_name is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is None:
        return truncated_normal_initializer(0.0, 1 / math.sqrt(dimension))
    if not callable(initializer):
        names = [column.name for column in of] if isinstance(of, list | tuple) else of.name
        raise ValueError(f"initializer must be callable if specified. Embedding of column_name: {names}")
    return initializer
