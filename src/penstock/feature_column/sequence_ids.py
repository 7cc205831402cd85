"""Columns of sequences of categories (TF: tf.feature_column.sequence_categorical_column_with_*)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.export import export
from penstock.feature_column.base import CategoricalColumn, Features, IdsAndWeights
from penstock.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_file,
    categorical_column_with_vocabulary_list,
)
from penstock.graph.composite import SparseTensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.ops.array import shape as shape_of
from penstock.ops.sparse_layout import sparse_reshape
from penstock.tensor.dtypes import string


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """Steps, each with the categories that `categorical_column` finds: one, if the feature has two dimensions."""

    categorical_column: CategoricalColumn

    @property
    def name(self) -> str:
        return self.categorical_column.name

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.categorical_column.parse_example_spec

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> IdsAndWeights:
        ids, weights = self.categorical_column.sparse_tensors(features)
        return IdsAndWeights(_steps(ids), None if weights is None else _steps(weights))

    def sparse_tensors(self, features: Features) -> IdsAndWeights:
        return features.get(self)


def _steps(sparse: SparseTensor) -> SparseTensor:
    dims = shape_of(sparse)
    return sparse_reshape(sparse, get_op("Pack")([dims[0], dims[1], -1]))


def sequence_length(sparse: SparseTensor, each: int = 1) -> Tensor:
    """[batch] int64: how many steps each row of the sparse tensor has, of `each` elements."""
    rows, steps = sparse.indices[:, 0], sparse.indices[:, 1]
    last = get_op("UnsortedSegmentMax")(steps, rows, sparse.dense_shape[0])
    zero = get_op("ZerosLike")(last)
    return get_op("Maximum")((get_op("Maximum")(last, zero - 1) + each) // each, zero)


@export(
    "feature_column.sequence_categorical_column_with_identity",
    "contrib.feature_column.sequence_categorical_column_with_identity",
)
def sequence_categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> SequenceCategoricalColumn:
    """Sequences of `categorical_column_with_identity`."""
    return SequenceCategoricalColumn(categorical_column_with_identity(key, num_buckets, default_value))


@export(
    "feature_column.sequence_categorical_column_with_hash_bucket",
    "contrib.feature_column.sequence_categorical_column_with_hash_bucket",
)
def sequence_categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = string
) -> SequenceCategoricalColumn:
    """Sequences of `categorical_column_with_hash_bucket`."""
    return SequenceCategoricalColumn(categorical_column_with_hash_bucket(key, hash_bucket_size, dtype))


@export(
    "feature_column.sequence_categorical_column_with_vocabulary_file",
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_file",
)
def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = string,
) -> SequenceCategoricalColumn:
    """Sequences of `categorical_column_with_vocabulary_file`."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_file(
            key, vocabulary_file, vocabulary_size, num_oov_buckets, default_value, dtype
        )
    )


@export(
    "feature_column.sequence_categorical_column_with_vocabulary_list",
    "contrib.feature_column.sequence_categorical_column_with_vocabulary_list",
)
def sequence_categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> SequenceCategoricalColumn:
    """Sequences of `categorical_column_with_vocabulary_list`."""
    return SequenceCategoricalColumn(
        categorical_column_with_vocabulary_list(key, vocabulary_list, dtype, default_value, num_oov_buckets)
    )
