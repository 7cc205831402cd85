"""Columns of categories: ids by vocabulary, by hash, or as they are (TF: tf.feature_column.categorical_column_*)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock import gfile, logging
from penstock.client.lookup_vocabularies import index_table_from_file, index_table_from_tensor
from penstock.export import export
from penstock.feature_column.base import (
    CategoricalColumn,
    Features,
    IdsAndWeights,
    as_sparse_ids,
    check_categories,
    check_key,
    with_values,
)
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.scopes import control_dependencies
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.checks import assert_greater_equal, assert_less
from penstock.ops.parsing import VarLenFeature
from penstock.ops.string_conversions import as_string
from penstock.ops.string_hashing import string_to_hash_bucket_fast
from penstock.tensor.dtypes import DType, as_dtype, float32, int64, string


@dataclass(frozen=True)
class _KeyedColumn(CategoricalColumn):
    """A column whose categories are those of one feature."""

    key: str

    @property
    def name(self) -> str:
        return self.key

    @property
    def feature_dtype(self) -> DType:
        raise NotImplementedError

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.feature_dtype)}

    def categories(self, features: Features) -> SparseTensor:
        """Raises ValueError if the feature has strings and the column ints, or the other way round."""
        found = as_sparse_ids(features.get(self.key))
        dtype = found.values.dtype.base_dtype
        check_categories(dtype, f"column_name: {self.key} input_tensor")
        if self.feature_dtype.is_integer != dtype.is_integer:
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. "
                f"key: {self.key}, column dtype: {self.feature_dtype}, tensor dtype: {dtype}"
            )
        return found


# --- hashes and ids -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class HashedCategoricalColumn(_KeyedColumn):
    hash_bucket_size: int
    dtype: DType

    @property
    def feature_dtype(self) -> DType:
        return self.dtype

    @property
    def num_buckets(self) -> int:
        return self.hash_bucket_size

    def transform(self, features: Features) -> SparseTensor:
        found = self.categories(features)
        text = found.values if self.dtype == string else as_string(found.values)
        return with_values(found, string_to_hash_bucket_fast(text, self.hash_bucket_size, name="lookup"))


@export("feature_column.categorical_column_with_hash_bucket")
def categorical_column_with_hash_bucket(
    key: str, hash_bucket_size: int, dtype: Any = string
) -> HashedCategoricalColumn:
    """Strings or ints whose hashes are their ids (TF: tf.feature_column.categorical_column_with_hash_bucket)."""
    if hash_bucket_size is None:
        raise ValueError(f"hash_bucket_size must be set. key: {key}")
    if hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    kind = as_dtype(dtype)
    check_categories(kind, f"column_name: {check_key(key)}")
    return HashedCategoricalColumn(key, hash_bucket_size, kind)


@dataclass(frozen=True)
class IdentityCategoricalColumn(_KeyedColumn):
    number_buckets: int
    default_value: int | None

    @property
    def feature_dtype(self) -> DType:
        return int64

    @property
    def num_buckets(self) -> int:
        return self.number_buckets

    def transform(self, features: Features) -> SparseTensor:
        found = as_sparse_ids(features.get(self.key))
        if not found.values.dtype.is_integer:
            raise ValueError(f"Invalid input, not integer. key: {self.key} dtype: {found.values.dtype}")
        ids = cast(found.values, int64)
        count, zero = convert_to_tensor(self.number_buckets, int64), convert_to_tensor(0, int64)
        if self.default_value is None:
            below = assert_less(ids, count, [ids, count], name="assert_less_than_num_buckets")
            above = assert_greater_equal(ids, zero, [ids], name="assert_greater_or_equal_0")
            with control_dependencies([below, above]):
                return with_values(found, identity(ids))
        outside = get_op("LogicalOr")(get_op("Less")(ids, zero), get_op("GreaterEqual")(ids, count))
        default = convert_to_tensor(self.default_value, int64)
        return with_values(found, get_op("SelectV2")(outside, default, ids))


@export("feature_column.categorical_column_with_identity")
def categorical_column_with_identity(
    key: str, num_buckets: int, default_value: int | None = None
) -> IdentityCategoricalColumn:
    """Ints in [0, num_buckets), which are ids (TF: tf.feature_column.categorical_column_with_identity).

    Others become `default_value`; without one, they are an error of the step.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return IdentityCategoricalColumn(check_key(key), num_buckets, default_value)


# --- vocabularies ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class VocabularyListCategoricalColumn(_KeyedColumn):
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def feature_dtype(self) -> DType:
        return self.dtype

    @property
    def num_buckets(self) -> int:
        return len(self.vocabulary_list) + self.num_oov_buckets

    def transform(self, features: Features) -> SparseTensor:
        found = self.categories(features)
        whole = found.values.dtype.is_integer
        table = index_table_from_tensor(
            self.vocabulary_list,
            self.num_oov_buckets,
            self.default_value,
            dtype=int64 if whole else self.dtype,
            name=f"{self.key}_lookup",
        )
        return table.lookup(with_values(found, cast(found.values, int64)) if whole else found)


@export("feature_column.categorical_column_with_vocabulary_list")
def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Any, dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> VocabularyListCategoricalColumn:
    """Strings or ints whose ids are their places in a list (TF: the same name).

    Others get `default_value` (-1: they do not count), or one of `num_oov_buckets` ids after the list, by hash.
    """
    if vocabulary_list is None or len(vocabulary_list) < 1:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    words = tuple(vocabulary_list)
    if len(set(words)) != len(words):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    array = np.array(words)
    own = string if array.dtype.kind in "USO" else as_dtype(array.dtype)
    _check_outside(default_value, num_oov_buckets, key)
    check_categories(own, f"column_name: {check_key(key)} vocabulary")
    kind = own if dtype is None else as_dtype(dtype)
    if kind.is_integer != own.is_integer:
        raise ValueError(f"dtype {kind} and vocabulary dtype {own} do not match, column_name: {key}")
    check_categories(kind, f"column_name: {key}")
    return VocabularyListCategoricalColumn(key, words, kind, default_value, num_oov_buckets)


def _check_outside(default_value: int | None, num_oov_buckets: int, key: str) -> None:
    """Checks what is said of words outside of a vocabulary."""
    if num_oov_buckets:
        if default_value not in (None, -1):
            raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
        if num_oov_buckets < 0:
            raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")


@dataclass(frozen=True)
class VocabularyFileCategoricalColumn(_KeyedColumn):
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int

    @property
    def feature_dtype(self) -> DType:
        return self.dtype

    @property
    def num_buckets(self) -> int:
        return self.vocabulary_size + self.num_oov_buckets

    def transform(self, features: Features) -> SparseTensor:
        found = self.categories(features)
        whole = found.values.dtype.is_integer
        table = index_table_from_file(
            self.vocabulary_file,
            self.num_oov_buckets,
            self.vocabulary_size,
            self.default_value,
            key_dtype=int64 if whole else self.dtype,
            name=f"{self.key}_lookup",
        )
        return table.lookup(with_values(found, cast(found.values, int64)) if whole else found)


@export("feature_column.categorical_column_with_vocabulary_file")
def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = string,
) -> VocabularyFileCategoricalColumn:
    """Like `categorical_column_with_vocabulary_list`, with the lines of a file as the list (TF: the same name).

    `vocabulary_size` is how many of them count, by default all.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        if not gfile.Exists(vocabulary_file):
            raise ValueError(f"vocabulary_file in {key} does not exist.")
        with gfile.GFile(vocabulary_file, "rb") as file:
            vocabulary_size = sum(1 for _ in file)
        logging.info(
            "vocabulary_size = %d in %s is inferred from the number of elements in the vocabulary_file %s.",
            vocabulary_size,
            key,
            vocabulary_file,
        )
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_outside(default_value, num_oov_buckets, key)
    kind = as_dtype(dtype)
    check_categories(kind, f"column_name: {check_key(key)}")
    return VocabularyFileCategoricalColumn(
        key, vocabulary_file, vocabulary_size, num_oov_buckets, kind, -1 if default_value is None else default_value
    )


# --- weights --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WeightedCategoricalColumn(CategoricalColumn):
    categorical_column: CategoricalColumn
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        spec = self.categorical_column.parse_example_spec
        if self.weight_feature_key in spec:
            raise ValueError(f"Parse config {spec} already exists for {self.weight_feature_key}.")
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        return self.categorical_column.num_buckets

    def transform(self, features: Features) -> IdsAndWeights:
        weights = features.get(self.weight_feature_key)
        kind = (weights.values if isinstance(weights, SparseTensor) else weights).dtype.base_dtype
        if kind != self.dtype.base_dtype:
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {kind}.")
        sparse = as_sparse_ids(weights if isinstance(weights, SparseTensor) else cast(weights, float32))
        if not kind.is_floating:
            sparse = with_values(sparse, cast(sparse.values, float32))
        return IdsAndWeights(features.get(self.categorical_column), sparse)

    def sparse_tensors(self, features: Features) -> IdsAndWeights:
        return features.get(self)


@export("feature_column.weighted_categorical_column")
def weighted_categorical_column(
    categorical_column: CategoricalColumn, weight_feature_key: str, dtype: Any = float32
) -> WeightedCategoricalColumn:
    """Categories with weights, which are another feature of the same shape (TF: the same name)."""
    kind = None if dtype is None else as_dtype(dtype)
    if kind is None or not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype {dtype} is not convertible to float.")
    return WeightedCategoricalColumn(categorical_column, weight_feature_key, kind)
