"""Feature columns as buckets: int32 vectors, which trees are split by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from penstock.client.boosted_trees import listed
from penstock.feature_column.base import CategoricalColumn, Features
from penstock.feature_column.dense import IndicatorColumn
from penstock.feature_column.numeric import BucketizedColumn, NumericColumn
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.ops.boosted_trees.quantile_ops import BUCKETIZE
from penstock.ops.cast import cast
from penstock.ops.stacking import unstack
from penstock.tensor.dtypes import int32


def by_name(feature_columns: Iterable[Any]) -> list[Any]:
    """The columns in the order in which their features are numbered. Raises ValueError for what trees cannot use."""
    columns = sorted(feature_columns, key=lambda column: column.name)
    for column in columns:
        if isinstance(column, BucketizedColumn | IndicatorColumn):
            continue
        if isinstance(column, CategoricalColumn):
            raise ValueError(f"CategoricalColumn must be wrapped by IndicatorColumn, got: {column}")
        if not isinstance(column, NumericColumn):
            raise ValueError(f"Encountered unexpected column {column}")
        if not column.dtype.is_floating:
            raise ValueError(
                f"Trees need numbers of a floating-point type, but {column} has {column.dtype.name}. Write "
                "numeric_column(key) without dtype: integers are converted."
            )
        if len(column.shape) > 1:
            raise ValueError(
                f"For now, we only support Dense column with rank of 1, but column `{column.name}` got: {column.shape}"
            )
    return columns


def float_columns(columns: Iterable[Any]) -> list[NumericColumn]:
    """Those whose numbers have no buckets yet."""
    return [column for column in columns if isinstance(column, NumericColumn)]


def size_of(column: Any) -> int:
    """How many features it is."""
    if isinstance(column, IndicatorColumn):
        return column.categorical_column.num_buckets
    if isinstance(column, BucketizedColumn):
        return 1
    size: int = column.variable_shape.num_elements()
    return size


def number_of_features(columns: Iterable[Any]) -> int:
    return sum(map(size_of, columns))


def names_of_features(columns: Iterable[Any]) -> list[str]:
    """The name of the column of each feature."""
    names = []
    for column in columns:
        name = column.categorical_column.name if isinstance(column, IndicatorColumn) else column.name
        names += [name] * size_of(column)
    return names


def groups_by_buckets(columns: Iterable[Any], num_quantiles: int) -> dict[int, list[int]]:
    """The numbers of features by how many buckets these have: two for indicators, `num_quantiles` for numbers, and for
    all columns with buckets those of the one with the most."""
    groups: dict[int, list[int]] = {}
    bucketized: list[int] = []
    most, feature = 2, 0
    for column in columns:
        if isinstance(column, BucketizedColumn):
            most = max(most, len(column.boundaries) + 1)
            bucketized.append(feature)
            feature += 1
            continue
        held = groups.setdefault(2 if isinstance(column, IndicatorColumn) else num_quantiles, [])
        held += range(feature, feature + size_of(column))
        feature += size_of(column)
    if bucketized or most in groups:
        groups.setdefault(most, []).extend(bucketized)
    return groups


# --- tensors --------------------------------------------------------------------------------------------


def numbers(features: Any, columns: Sequence[Any]) -> list[Tensor]:
    """A vector of numbers for each feature of numeric columns."""
    known = Features(features)
    return [each for column in columns for each in _columns_of(known.get(column), size_of(column))]


def buckets(features: Any, columns: Sequence[Any], boundaries: Sequence[Tensor]) -> list[Tensor]:
    """An int32 vector for each feature. `boundaries`: of the features of the numeric columns."""
    known, left, found = Features(features), list(boundaries), []
    for column in columns:
        value, size = known.get(column), size_of(column)
        if isinstance(column, BucketizedColumn):
            found.append(_of_one(value, column))
        elif isinstance(column, IndicatorColumn):
            found += _columns_of(cast(value, int32), size)
        else:
            limits, left = left[:size], left[size:]
            found += listed(BUCKETIZE(_columns_of(value, size), limits))
    return found


def _of_one(value: Tensor, column: BucketizedColumn) -> Tensor:
    squeezed: Tensor = get_op("Squeeze")(value, squeeze_dims=[1])
    if squeezed.shape.ndims is not None and squeezed.shape.ndims > 1:
        raise ValueError(
            f"For now, only supports features equivalent to rank 1 but column `{column.source_column.name}` got: "
            f"{value.shape}"
        )
    return squeezed


def _columns_of(value: Tensor, size: int) -> list[Tensor]:
    """The columns of a matrix [examples, size]."""
    if value.shape.ndims is not None and value.shape.ndims > 2:
        raise ValueError(f"Features of trees have one dimension beside that of examples, got shape {value.shape}")
    found: list[Tensor] = unstack(value, size, axis=1)
    return found
