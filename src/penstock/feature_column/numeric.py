"""Columns of numbers, as they are or in buckets (TF: tf.feature_column.numeric_column, bucketized_column)."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.export import export
from penstock.feature_column.base import (
    CategoricalColumn,
    DenseColumn,
    Features,
    IdsAndWeights,
    Weights,
    check_key,
)
from penstock.graph.composite import SparseTensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.ops.array import reshape, shape as shape_of
from penstock.ops.cast import cast
from penstock.ops.filling import one_hot
from penstock.ops.parsing import FixedLenFeature
from penstock.tensor.dtypes import DType, as_dtype, float32, int64
from penstock.tensor.shapes import TensorShape


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape(self.shape)

    def transform(self, features: Features) -> Tensor:
        found = features.get(self.key)
        if isinstance(found, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not supported. "
                f"key: {self.key}"
            )
        return cast(found if self.normalizer_fn is None else self.normalizer_fn(found), float32)

    def dense_tensor(self, features: Features, weights: Weights) -> Tensor:
        return features.get(self)


@export("feature_column.numeric_column")
def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> NumericColumn:
    """The numbers of feature `key`, each example's of `shape`, as float32 (TF: tf.feature_column.numeric_column).

    `default_value`, one number or an array of the shape, is for examples without the feature; `normalizer_fn` is
    applied to the tensor.
    """
    dims, kind = checked_numbers(key, shape, dtype, normalizer_fn)
    return NumericColumn(key, dims, _checked_default(default_value, dims, kind, key), kind, normalizer_fn)


def checked_numbers(key: Any, shape: Any, dtype: Any, normalizer_fn: Any) -> tuple[tuple[int, ...], DType]:
    """The shape and dtype of a column of numbers."""
    dims, kind = _checked_shape(check_key(key), shape), as_dtype(dtype)
    if not (kind.is_integer or kind.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn}")
    return dims, kind


def _checked_shape(key: str, shape: Any) -> tuple[int, ...]:
    dims = tuple(shape) if hasattr(shape, "__iter__") else (shape,)
    for dim in dims:
        try:
            size = operator.index(dim)
        except TypeError:
            raise TypeError(f"shape dimensions must be integer. shape: {shape}, key: {key}") from None
        if size < 1:
            raise ValueError(f"shape dimensions must be greater than 0. shape: {shape}, key: {key}")
    return tuple(operator.index(dim) for dim in dims)


def _checked_default(default: Any, shape: tuple[int, ...], dtype: DType, key: str) -> Any:
    """The default as nested tuples of `shape`."""
    if default is None:
        return None
    array = np.array(default)
    if array.dtype.kind not in "iuf" or (array.dtype.kind == "f" and dtype.is_integer):
        raise TypeError(
            f"default_value must be compatible with dtype. default_value: {default}, dtype: {dtype}, key: {key}"
        )
    if array.ndim and array.shape != shape:
        raise ValueError(
            "The shape of default_value must be equal to given shape. "
            f"default_value: {default}, shape: {shape}, key: {key}"
        )

    def nested(values: Any) -> Any:
        return tuple(map(nested, values)) if isinstance(values, list) else values

    return nested(np.broadcast_to(array, shape).astype(dtype.as_numpy_dtype).tolist())


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    source_column: NumericColumn
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return self.source_column.parse_example_spec

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape([*self.source_column.shape, len(self.boundaries) + 1])

    @property
    def num_buckets(self) -> int:
        """The buckets of each of the source's numbers, one after the other."""
        return (len(self.boundaries) + 1) * self.source_column.shape[0]

    def transform(self, features: Features) -> Tensor:
        return get_op("Bucketize")(features.get(self.source_column), boundaries=list(self.boundaries))

    def dense_tensor(self, features: Features, weights: Weights) -> Tensor:
        return one_hot(cast(features.get(self), int64), len(self.boundaries) + 1, 1.0, 0.0)

    def sparse_tensors(self, features: Features) -> IdsAndWeights:
        found = features.get(self)
        batch, width = shape_of(found)[0], self.source_column.shape[0]
        flat = reshape(found, [-1])
        rows = reshape(get_op("Range")(0, batch * width, 1), [-1])
        column = rows % width
        ids = flat + (len(self.boundaries) + 1) * column
        indices = cast(get_op("Pack")([rows // width, column], axis=1), int64)
        dims = cast(get_op("Pack")([batch, width]), int64)
        return IdsAndWeights(SparseTensor(indices, ids, dims), None)


@export("feature_column.bucketized_column")
def bucketized_column(source_column: NumericColumn, boundaries: Any) -> BucketizedColumn:
    """Which interval a number is in: below, between (from each boundary on) or above (TF: the same name)."""
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    limits = tuple(boundaries) if isinstance(boundaries, list | tuple) else ()
    if not limits or any(low >= high for low, high in itertools.pairwise(limits)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, limits)
