"""tf.train.Example to tensors: features by name, and the functions that parse them (TF: tf.parse_example and related
ops)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.parsing_ops import PARSE_EXAMPLE, PARSE_SINGLE_EXAMPLE
from penstock.tensor.dtypes import DType, as_dtype, int64, string
from penstock.tensor.shapes import TensorShape


@export("FixedLenFeature", "io.FixedLenFeature")
class FixedLenFeature(NamedTuple):
    """A feature with the same `shape` in all examples, returned as a dense tensor; if examples may lack it, it needs a
    default.

    `dtype` is string, float32 or int64, here and below. TF: tf.FixedLenFeature.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


@export("VarLenFeature", "io.VarLenFeature")
class VarLenFeature(NamedTuple):
    """A feature of any length, returned as a sparse tensor (TF: tf.VarLenFeature)."""

    dtype: Any


@export("SparseFeature", "io.SparseFeature")
class SparseFeature(NamedTuple):
    """A sparse vector in two features: the indices and the values of its elements (TF: tf.SparseFeature).

    `size` is the vector's length. With lists for `index_key` and `size` it has several dims. The elements are sorted
    unless `already_sorted`.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


@export("FixedLenSequenceFeature", "io.FixedLenSequenceFeature")
class FixedLenSequenceFeature(NamedTuple):
    """A feature that is a sequence of items with the same `shape`, returned as a dense tensor (TF:
    tf.FixedLenSequenceFeature).

    In a batch, shorter sequences are padded with `default_value` (0 or ""). An example without the feature has an
    empty sequence if `allow_missing`.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


# --- features to attributes -----------------------------------------------------------------------------


class Raw(NamedTuple):
    """Features sorted by name, as the ops' attributes and inputs."""

    sparse: dict[str, DType]
    dense: dict[str, tuple[DType, TensorShape, Any]]


def raw_features(features: Any, allowed: tuple[type, ...]) -> Raw:
    """Raises ValueError, naming the feature, if it lacks a type or shape, or if its kind is not `allowed`."""
    raw = Raw({}, {})
    for key in sorted(features or {}):
        feature: Any = features[key]
        if type(feature) not in allowed:
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for key {key!r}.")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}.")
        dtype = as_dtype(feature.dtype)
        if isinstance(feature, VarLenFeature):
            _add_sparse(raw, key, dtype)
        elif isinstance(feature, SparseFeature):
            _add_sparse_parts(raw, key, feature, dtype)
        else:
            raw.dense[key] = (dtype, _dense_shape(key, feature), feature.default_value)
    both = raw.sparse.keys() & raw.dense.keys()
    if both:
        raise ValueError(f"Dense and sparse keys must not intersect; intersection: {both}")
    return raw._replace(sparse=dict(sorted(raw.sparse.items())))


def _add_sparse(raw: Raw, key: str, dtype: DType) -> None:
    if raw.sparse.setdefault(key, dtype) != dtype:
        raise ValueError(f"Conflicting type {raw.sparse[key].name} vs {dtype.name} for feature {key}.")


def _add_sparse_parts(raw: Raw, key: str, feature: SparseFeature, dtype: DType) -> None:
    for name in ("index_key", "value_key"):
        if not getattr(feature, name):
            raise ValueError(f"Missing {name} for SparseFeature {feature}")
    for index_key in sorted(_listed(feature.index_key)):
        _add_sparse(raw, index_key, int64)
    _add_sparse(raw, feature.value_key, dtype)


def _dense_shape(key: str, feature: Any) -> TensorShape:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}.")
    shape = TensorShape(feature.shape)
    if isinstance(feature, FixedLenSequenceFeature):
        return TensorShape([None]).concatenate(shape)
    if shape.ndims and shape.tuple[0] is None:
        raise ValueError(f"First dimension of shape for feature {key} unknown. Consider using FixedLenSequenceFeature.")
    if not shape.is_fully_defined():
        raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {feature.shape}.")
    return shape


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def default_tensors(dense: Mapping[str, tuple[DType, TensorShape, Any]], names: str = "key_") -> list[Tensor]:
    """The default of each dense feature for the ops: with its shape, one element if that varies, or empty."""
    found = []
    for key, (dtype, shape, default) in dense.items():
        if shape.ndims and shape.tuple[0] is None:
            filler = ("" if dtype == string else 0) if default is None else default
            found.append(get_op("Reshape")(convert_to_tensor(filler, dtype), []))
        elif default is None:
            found.append(constant([], dtype))
        elif isinstance(default, Tensor):
            found.append(default)
        else:
            label = names + re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
            found.append(get_op("Reshape")(convert_to_tensor(default, dtype, name=label), shape.as_list()))
    return found


# --- the functions --------------------------------------------------------------------------------------

_EXAMPLE_FEATURES = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def _prepare(features: Any) -> Raw:
    if not features:
        raise ValueError(f"Missing: features was {features}.")
    for key, feature in features.items():
        if isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise ValueError(
                f"Unsupported: FixedLenSequenceFeature requires allow_missing to be True, also that of {key!r}."
            )
    return raw_features(features, _EXAMPLE_FEATURES)


@export("parse_example", "io.parse_example")
def parse_example(serialized: Any, features: Any, name: str | None = None, example_names: Any = None) -> dict[str, Any]:
    """Parses a batch of serialized tf.train.Example: returns {key: tensor} for `features`, {key: how to read it}.

    serialized [batch] string -> FixedLenFeature: [batch, *shape]; FixedLenSequenceFeature: [batch, longest, *shape];
    VarLenFeature: SparseTensor [batch, longest]; SparseFeature: SparseTensor [batch, size]. `example_names` [batch]
    appear in errors. Raises InvalidArgumentError, naming example and feature, for invalid examples. TF:
    tf.parse_example.
    """
    raw = _prepare(features)
    with name_scope(name, "ParseExample", [serialized, example_names]):
        found = PARSE_EXAMPLE(
            serialized=convert_to_tensor(serialized, string, name="serialized"),
            names=convert_to_tensor([] if example_names is None else example_names, string, name="names"),
            sparse_keys=list(raw.sparse),
            dense_keys=list(raw.dense),
            dense_defaults=default_tensors(raw.dense),
            sparse_types=list(raw.sparse.values()),
            Tdense=[dtype for dtype, _, _ in raw.dense.values()],
            dense_shapes=[shape for _, shape, _ in raw.dense.values()],
        )
        return _merged(features, by_key(raw.sparse, raw.dense, found))


@export("parse_single_example", "io.parse_single_example")
def parse_single_example(
    serialized: Any, features: Any, name: str | None = None, example_names: Any = None
) -> dict[str, Any]:
    """Parses one serialized tf.train.Example: like `parse_example`, without the axis of examples.

    serialized: a scalar string; so is `example_names`. TF: tf.parse_single_example.
    """
    raw = _prepare(features)
    with name_scope(name, "ParseSingleExample", [serialized, example_names]):
        one = convert_to_tensor(serialized, string, name="serialized")
        if example_names is not None:  # the op for one example has no name input
            names = get_op("ExpandDims")(convert_to_tensor(example_names, string), 0)
            batch = parse_example(get_op("ExpandDims")(one, 0), features, example_names=names)
            return {key: _only_row(value) for key, value in batch.items()}
        found = PARSE_SINGLE_EXAMPLE(
            serialized=one,
            dense_defaults=default_tensors(raw.dense),
            num_sparse=len(raw.sparse),
            sparse_keys=list(raw.sparse),
            dense_keys=list(raw.dense),
            sparse_types=list(raw.sparse.values()),
            Tdense=[dtype for dtype, _, _ in raw.dense.values()],
            dense_shapes=[shape for _, shape, _ in raw.dense.values()],
        )
        return _merged(features, by_key(raw.sparse, raw.dense, found))


def by_key(sparse: Sequence[str] | dict[str, Any], dense: Sequence[str] | dict[str, Any], found: Any) -> dict[str, Any]:
    """The outputs (indices, values, shapes, dense values) under the names of the features."""
    indices, values, shapes, dense_values = found
    tensors: dict[str, Any] = {
        key: SparseTensor(*parts) for key, *parts in zip(sparse, indices, values, shapes, strict=True)
    }
    tensors.update(zip(dense, dense_values, strict=True))
    return tensors


def _only_row(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return SparseTensor(value.indices[:, 1:], value.values, value.dense_shape[1:])
    return get_op("Squeeze")(value, squeeze_dims=[0])


def _merged(features: Any, tensors: dict[str, Any]) -> dict[str, Any]:
    """Combines the parts of each SparseFeature, and removes parts that were not requested separately."""
    found = {key: value for key, value in tensors.items() if key in features}
    for key in sorted(features):
        feature = features[key]
        if isinstance(feature, SparseFeature):
            ids = [tensors[index_key] for index_key in _listed(feature.index_key)]
            found[key] = _merge(ids, tensors[feature.value_key], feature, key)
    return found


def _merge(ids: list[SparseTensor], values: SparseTensor, feature: SparseFeature, name: str) -> SparseTensor:
    with name_scope(None, "SparseMerge", [*ids, values]):
        columns = [get_op("ExpandDims")(one.values, 1) for one in ids]
        indices = get_op("ConcatV2")([ids[0].indices[:, :-1], *columns], 1)
        sizes = convert_to_tensor(_listed(feature.size), int64)
        shape = get_op("ConcatV2")([ids[0].dense_shape[:-1], sizes], 0)
        if feature.already_sorted:
            return SparseTensor(indices, values.values, shape)
        indices, elements = get_op("SparseReorder")(indices, values.values, shape)
        return SparseTensor(indices, elements, shape)
