"""Columns of combinations of categories (TF: tf.feature_column.crossed_column)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from penstock.export import export
from penstock.feature_column.base import CategoricalColumn, Features
from penstock.feature_column.categorical import HashedCategoricalColumn
from penstock.graph.composite import SparseTensor
from penstock.ops.parsing import VarLenFeature
from penstock.ops.sparse_cross import sparse_cross_hashed
from penstock.tensor.dtypes import string


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def leaves(self) -> list[Any]:
        """The keys, with those of crossed columns instead of the columns."""
        nested = [key.leaves if isinstance(key, CrossedColumn) else [key] for key in self.keys]
        return [leaf for leaves in nested for leaf in leaves]

    @property
    def name(self) -> str:
        return "_X_".join(sorted(leaf if isinstance(leaf, str) else leaf.name for leaf in self.leaves))

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec.update({key: VarLenFeature(string)} if isinstance(key, str) else key.parse_example_spec)
        return spec

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform(self, features: Features) -> SparseTensor:
        inputs = [features.get(leaf) if isinstance(leaf, str) else _ids(leaf, features) for leaf in self.leaves]
        return sparse_cross_hashed(inputs, self.hash_bucket_size, self.hash_key)


def _ids(column: CategoricalColumn, features: Features) -> SparseTensor:
    ids, weights = column.sparse_tensors(features)
    if weights is not None:
        raise ValueError(
            "crossed_column does not support weight_tensor, but the given column populates weight_tensor. "
            f"Given column: {column.name}"
        )
    return ids


@export("feature_column.crossed_column")
def crossed_column(keys: Any, hash_bucket_size: int, hash_key: int | None = None) -> CrossedColumn:
    """All combinations of the categories of several features, by hash (TF: tf.feature_column.crossed_column).

    keys: names of features, or categorical columns, but not hashed ones: their features are hashed here.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or isinstance(keys, str) or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, str | CategoricalColumn):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedCategoricalColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing will "
                "increase probability of collision. Instead, use the feature name as a string. "
                f"Given: {key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)
