"""What feature columns are: recipes from raw features to tensors, which can be compared and hashed.

A `DenseColumn` gives numbers, a `CategoricalColumn` ids in [0, num_buckets). `Features` applies each recipe once.
"""

from __future__ import annotations

import abc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies
from penstock.ops.array import expand_dims, rank, reshape, shape as shape_of
from penstock.ops.basic import identity
from penstock.ops.checks import assert_positive
from penstock.ops.control_flow.cond import cond
from penstock.ops.sparse_layout import sparse_reshape
from penstock.tensor.dtypes import DType, int64, string
from penstock.tensor.shapes import TensorShape


class FeatureColumn(abc.ABC):
    """A recipe for one input of a model. Subclasses are frozen dataclasses."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """Names variables and scopes; the columns of one model have different names."""

    @property
    def var_scope_name(self) -> str:
        return self.name

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """How to read the raw features from a tf.train.Example."""

    @abc.abstractmethod
    def transform(self, features: Features) -> Any:
        """The tensors that need no variables; through `features.get(column)` they are made only once."""


class DenseColumn(FeatureColumn):
    """A column of numbers: a tensor [batch, *variable_shape]."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> TensorShape: ...

    @abc.abstractmethod
    def dense_tensor(self, features: Features, weights: Weights) -> Tensor:
        """The numbers; variables are made in the current variable scope."""


class IdsAndWeights(NamedTuple):
    """Sparse ids, and None or their weights, with the same indices."""

    ids: SparseTensor
    weights: SparseTensor | None


class CategoricalColumn(FeatureColumn):
    """A column of ids, any number for each example."""

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int: ...

    def sparse_tensors(self, features: Features) -> IdsAndWeights:
        return IdsAndWeights(features.get(self), None)


class SequenceDenseColumn(FeatureColumn):
    """A column of sequences of numbers."""

    @property
    @abc.abstractmethod
    def variable_shape(self) -> TensorShape: ...

    @abc.abstractmethod
    def sequence_tensor(self, features: Features, weights: Weights) -> tuple[Tensor, Tensor]:
        """The numbers [batch, steps, *variable_shape], and the length of each sequence [batch]."""


@dataclass
class Weights:
    """How columns make their variables: in which collections, and whether they are trained."""

    given: Iterable[str] | None = None
    trainable: bool = True
    collections: list[str] = field(init=False)

    def __post_init__(self) -> None:
        always = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES)
        given = list(self.given or ())
        self.collections = given + [name for name in always if name not in given]


# --- features -------------------------------------------------------------------------------------------


class Features:
    """Raw features by key, and what columns made of them so far."""

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._raw = features
        self._found: dict[Any, Any] = {}

    def get(self, key: str | FeatureColumn) -> Any:
        """A raw feature, with at least two dimensions, or a column's `transform`.

        Raises ValueError for a key that is not there.
        """
        if key not in self._found:
            if key in self._raw:
                self._found[key] = _with_two_dims(key, self._raw[key])
            elif isinstance(key, FeatureColumn):
                self._found[key] = key.transform(self)
            elif not isinstance(key, str):
                raise TypeError(f'"key" must be either a "str" or "_FeatureColumn". Provided type: {type(key)}.')
            else:
                raise ValueError(f"Feature {key} is not in features dictionary.")
        return self._found[key]


def _with_two_dims(key: Any, feature: Any) -> Any:
    """Vectors [batch] as [batch, 1]."""
    if isinstance(feature, SparseTensorValue):
        feature = SparseTensor.from_value(feature)
    if isinstance(feature, SparseTensor):
        count = feature.dense_shape.shape[0].value
        return sparse_reshape(feature, [shape_of(feature)[0], 1]) if count == 1 else feature
    tensor = convert_to_tensor(feature)
    dims = tensor.shape.ndims
    refusal = f"Feature (key: {key}) cannot have rank 0. Given: {tensor}"
    if dims == 0:
        raise ValueError(refusal)
    if dims == 1:
        return expand_dims(tensor, -1)
    if dims is not None:
        return tensor
    some = assert_positive(rank(tensor), message=refusal)
    with control_dependencies([some]):
        return cond(get_op("Equal")(1, rank(tensor)), lambda: expand_dims(tensor, -1), lambda: identity(tensor))


def as_sparse_ids(value: Any) -> SparseTensor:
    """Dense categories as sparse ones: without those that say "none", which are -1, "" and (for weights) 0."""
    if isinstance(value, SparseTensor):
        return value
    dtype = value.dtype.base_dtype
    nothing: Any = "" if dtype == string else -1 if dtype.is_integer else 0
    there = get_op("Where")(get_op("NotEqual")(value, convert_to_tensor(nothing, dtype)))
    return SparseTensor(there, get_op("GatherNd")(value, there), get_op("Shape")(value, out_type=int64))


def with_values(sparse: SparseTensor, values: Tensor) -> SparseTensor:
    return SparseTensor(sparse.indices, values, sparse.dense_shape)


# --- checks of arguments --------------------------------------------------------------------------------


def check_key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}")
    return key


def check_categories(dtype: DType, prefix: str) -> None:
    if not (dtype == string or dtype.is_integer):
        raise ValueError(f"{prefix} dtype must be string or integer. dtype: {dtype}.")


def checked_columns(feature_columns: Any, kinds: tuple[type, ...], refusal: str, features: Any) -> list[Any]:
    """The columns by name. Raises ValueError if there are none, two have the same name, one is not of these kinds, or
    the features are no dict."""
    columns = _listed(feature_columns)
    for column in columns:
        if not isinstance(column, kinds):
            raise ValueError(f"{refusal} Given (type {type(column)}): {column}")
    if not isinstance(features, Mapping):
        raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
    return sorted(columns, key=lambda column: column.name)


def _listed(feature_columns: Any) -> list[Any]:
    if isinstance(feature_columns, FeatureColumn):
        feature_columns = [feature_columns]
    if isinstance(feature_columns, Mapping):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    columns = list(feature_columns)
    for column in columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(
                f"Items of feature_columns must be a _FeatureColumn. Given (type {type(column)}): {column}."
            )
    if not columns:
        raise ValueError("feature_columns must not be empty.")
    seen: dict[str, Any] = {}
    for column in columns:
        if column.name in seen:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {seen[column.name]}. This usually "
                "means that these columns refer to same base feature. Either one must be discarded or a duplicated "
                "but renamed item must be inserted in features dict."
            )
        seen[column.name] = column
    return columns


def flattened(dense: Tensor, column: Any) -> Tensor:
    """[batch, n]: the numbers of a dense column."""
    flat = reshape(dense, [shape_of(dense)[0], column.variable_shape.num_elements()])
    flat.set_shape([None if dense.shape.ndims is None else dense.shape[0], flat.shape[1]])
    return flat


def check_batches(tensors: list[Tensor], columns: list[Any]) -> None:
    """Raises ValueError if two columns have batches of different sizes, as far as is known."""
    first: tuple[Any, int] | None = None
    for tensor, column in zip(tensors, columns, strict=True):
        size = None if tensor.shape.ndims is None else tensor.shape.as_list()[0]
        if size is None:
            continue
        if first is not None and first[1] != size:
            raise ValueError(
                "Batch size (first dimension) of each feature must be same. Batch size of columns "
                f"({first[0].name}, {column.name}): ({first[1]}, {size})"
            )
        first = first or (column, size)
