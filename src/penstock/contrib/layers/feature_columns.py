"""Feature columns by their older names (TF: tf.contrib.layers.real_valued_column, …): those of tf.feature_column."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.feature_column.categorical import (
    HashedCategoricalColumn,
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
    weighted_categorical_column,
)
from penstock.feature_column.crossed import crossed_column as core_crossed_column
from penstock.feature_column.dense import embedding_column as core_embedding_column, indicator_column
from penstock.feature_column.inputs import input_layer
from penstock.feature_column.numeric import bucketized_column as core_bucketized_column, numeric_column
from penstock.feature_column.parsing import make_parse_example_spec
from penstock.graph.operation import Tensor
from penstock.tensor.dtypes import float32, int64, string

UNNAMED = "features"
"""What features are called that have no name."""

_SUM_ONLY = "{name!r}: combiner={combiner!r} has no effect in Penstock's linear models, which add up weights"


@export("contrib.layers.real_valued_column")
def real_valued_column(
    column_name: str,
    dimension: int | None = 1,
    default_value: Any = None,
    dtype: Any = float32,
    normalizer: Callable[[Any], Any] | None = None,
    is_sparse: bool = False,
) -> Any:
    """`tf.feature_column.numeric_column`; the name may be empty for features that are one tensor.

    Raises NotImplementedError for a `dimension` of None and for sparse features.
    """
    if dimension is None or is_sparse:
        raise NotImplementedError(f"real_valued_column {column_name!r}: a number of values is needed, not sparse ones")
    return numeric_column(column_name or UNNAMED, (dimension,), default_value, dtype, normalizer)


@export("contrib.layers.bucketized_column")
def bucketized_column(source_column: Any, boundaries: Any) -> Any:
    """`tf.feature_column.bucketized_column`; the boundaries need not be sorted."""
    return core_bucketized_column(source_column, sorted(set(boundaries)))


@export("contrib.layers.sparse_column_with_hash_bucket")
def sparse_column_with_hash_bucket(
    column_name: str,
    hash_bucket_size: int,
    combiner: str = "sum",
    dtype: Any = string,
    hash_keys: Any = None,
) -> Any:
    """`tf.feature_column.categorical_column_with_hash_bucket`."""
    _check_sum(column_name, combiner)
    if hash_keys is not None:
        raise NotImplementedError(f"sparse_column_with_hash_bucket {column_name!r}: leave hash_keys out")
    return categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


@export("contrib.layers.sparse_column_with_integerized_feature")
def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = int64
) -> Any:
    """`tf.feature_column.categorical_column_with_identity`."""
    _check_sum(column_name, combiner)
    return categorical_column_with_identity(column_name, bucket_size)


@export("contrib.layers.sparse_column_with_keys")
def sparse_column_with_keys(
    column_name: str, keys: Any, default_value: int = -1, combiner: str = "sum", dtype: Any = string
) -> Any:
    """`tf.feature_column.categorical_column_with_vocabulary_list`."""
    _check_sum(column_name, combiner)
    return categorical_column_with_vocabulary_list(column_name, keys, dtype, default_value)


@export("contrib.layers.sparse_column_with_vocabulary_file")
def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = string,
) -> Any:
    """`tf.feature_column.categorical_column_with_vocabulary_file`."""
    _check_sum(column_name, combiner)
    default = None if num_oov_buckets else default_value
    return categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default, dtype
    )


@export("contrib.layers.weighted_sparse_column")
def weighted_sparse_column(sparse_id_column: Any, weight_column_name: str, dtype: Any = float32) -> Any:
    """`tf.feature_column.weighted_categorical_column`."""
    return weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


@export("contrib.layers.crossed_column")
def crossed_column(
    columns: Iterable[Any],
    hash_bucket_size: int,
    combiner: str = "sum",
    ckpt_to_load_from: Any = None,
    tensor_name_in_ckpt: Any = None,
    hash_key: int | None = None,
) -> Any:
    """`tf.feature_column.crossed_column`; of hashed columns, the features are crossed."""
    keys = [column.key if isinstance(column, HashedCategoricalColumn) else column for column in columns]
    _check_sum(str(keys), combiner)
    return core_crossed_column(keys, hash_bucket_size, hash_key)


@export("contrib.layers.embedding_column")
def embedding_column(
    sparse_id_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> Any:
    """`tf.feature_column.embedding_column`."""
    return core_embedding_column(
        sparse_id_column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
    )


@export("contrib.layers.one_hot_column")
def one_hot_column(sparse_id_column: Any) -> Any:
    """`tf.feature_column.indicator_column`."""
    return indicator_column(sparse_id_column)


@export("contrib.layers.input_from_feature_columns")
def input_from_feature_columns(
    columns_to_tensors: Any,
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: dict[Any, Any] | None = None,
) -> Tensor:
    """`tf.feature_column.input_layer`, in a variable scope ("input_from_feature_columns")."""
    with variable_scope(scope, default_name="input_from_feature_columns", values=list(columns_to_tensors.values())):
        return input_layer(
            columns_to_tensors, feature_columns, weight_collections, trainable, cols_to_output_tensors=cols_to_outs
        )


@export("contrib.layers.create_feature_spec_for_parsing")
def create_feature_spec_for_parsing(feature_columns: Any) -> dict[str, Any]:
    """`tf.feature_column.make_parse_example_spec`."""
    return make_parse_example_spec(feature_columns)


def _check_sum(name: str, combiner: str) -> None:
    if combiner != "sum":
        raise NotImplementedError(_SUM_ONLY.format(name=name, combiner=combiner))
