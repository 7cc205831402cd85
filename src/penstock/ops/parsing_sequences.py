"""Batches of tf.train.SequenceExample to tensors (TF: ParseSequenceExampleV2, and its first version)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.ops.parsing import (
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    by_key,
    default_tensors,
    raw_features,
)
from penstock.ops.parsing_batch import parse_message, read_features
from penstock.ops.parsing_columns import Column, Where, dense, read_column, sparse, to_value
from penstock.ops.parsing_ops import PARSED_TYPES, Spec, check_default, dense_specs
from penstock.ops.parsing_sequence import item_shapes
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, bool as boolean, string
from penstock.tensor.example_protos import WireSequenceExample
from penstock.tensor.shapes import TensorShape

_SPLITS = "list(indextype) >= 0 = []"
_SHAPES = "list(shape) >= 0 = []"
_CONTEXT = (
    "context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense"
)
_LISTS = (
    "feature_list_sparse_indices: Nfeature_list_sparse * int64, feature_list_sparse_values: feature_list_sparse_types, "
    "feature_list_sparse_shapes: Nfeature_list_sparse * int64, feature_list_dense_values: feature_list_dense_types, "
    "feature_list_dense_lengths: Nfeature_list_dense * int64"
)


def _counts(*names: str) -> list[str]:
    return [f"{name}: int >= 0 = 0" for name in names]


def _types(*names: str) -> list[str]:
    return [f"{name}: {PARSED_TYPES} = []" for name in names]


PARSE_SEQUENCE_EXAMPLE = define_op(
    "ParseSequenceExample",
    "serialized: string, debug_name: string, context_dense_defaults: Tcontext_dense",
    f"{_CONTEXT}, {_LISTS}",
    attrs=[
        *(
            f"{keys}: list(string) >= 0"
            for keys in (
                "feature_list_dense_missing_assumed_empty",
                "context_sparse_keys",
                "context_dense_keys",
                "feature_list_sparse_keys",
                "feature_list_dense_keys",
            )
        ),
        *_counts("Ncontext_sparse", "Ncontext_dense", "Nfeature_list_sparse", "Nfeature_list_dense"),
        *_types("context_sparse_types", "Tcontext_dense", "feature_list_dense_types"),
        f"context_dense_shapes: {_SHAPES}",
        *_types("feature_list_sparse_types"),
        f"feature_list_dense_shapes: {_SHAPES}",
    ],
)
PARSE_SEQUENCE_EXAMPLE.not_differentiable()

PARSE_SEQUENCE_EXAMPLE_V2 = define_op(
    "ParseSequenceExampleV2",
    "serialized: string, debug_name: string, context_sparse_keys: string, context_dense_keys: string, "
    "context_ragged_keys: string, feature_list_sparse_keys: string, feature_list_dense_keys: string, "
    "feature_list_ragged_keys: string, feature_list_dense_missing_assumed_empty: bool, "
    "context_dense_defaults: Tcontext_dense",
    f"{_CONTEXT}, context_ragged_values: context_ragged_value_types, "
    f"context_ragged_row_splits: context_ragged_split_types, {_LISTS}, "
    "feature_list_ragged_values: feature_list_ragged_value_types, "
    "feature_list_ragged_outer_splits: feature_list_ragged_split_types, "
    "feature_list_ragged_inner_splits: feature_list_ragged_split_types",
    attrs=[
        *_counts("Ncontext_sparse"),
        *_types("Tcontext_dense", "context_sparse_types", "context_ragged_value_types"),
        f"context_ragged_split_types: {_SPLITS}",
        f"context_dense_shapes: {_SHAPES}",
        *_counts("Nfeature_list_sparse", "Nfeature_list_dense"),
        *_types("feature_list_dense_types", "feature_list_sparse_types", "feature_list_ragged_value_types"),
        f"feature_list_ragged_split_types: {_SPLITS}",
        f"feature_list_dense_shapes: {_SHAPES}",
    ],
)
PARSE_SEQUENCE_EXAMPLE_V2.not_differentiable()

# --- shapes ---------------------------------------------------------------------------------------------


def _sparse_shapes(count: int, rank: int | None) -> list[TensorShape]:
    parts = (TensorShape([None, rank]), TensorShape([None]), TensorShape([rank]))
    return [part for part in parts for _ in range(count)]


def _shapes(c: ShapeContext, serialized: TensorShape, ragged: bool) -> list[TensorShape]:
    attrs, known = c.attrs, serialized.ndims is not None
    rank = serialized.ndims if known else None

    def more(dims: int) -> int | None:
        return None if rank is None else rank + dims

    lists = [serialized.concatenate([None]).concatenate(shape) for shape in attrs["feature_list_dense_shapes"]]
    found = [
        *_sparse_shapes(attrs["Ncontext_sparse"], more(1)),
        *(serialized.concatenate(shape) for shape in attrs["context_dense_shapes"]),
    ]
    if ragged:
        found += [TensorShape([None])] * 2 * len(attrs["context_ragged_value_types"])
    found += [
        *_sparse_shapes(attrs["Nfeature_list_sparse"], more(2)),
        *lists,
        *[serialized] * attrs["Nfeature_list_dense"],
    ]
    if ragged:
        found += [TensorShape([None])] * 3 * len(attrs["feature_list_ragged_value_types"])
    return found


@PARSE_SEQUENCE_EXAMPLE.shape
def parse_sequence_example_shape(c: ShapeContext, serialized: TensorShape, *_: Any) -> list[TensorShape]:
    return _shapes(c, serialized.with_rank(1), ragged=False)


@PARSE_SEQUENCE_EXAMPLE_V2.shape
def parse_sequence_example_v2_shape(c: ShapeContext, serialized: TensorShape, *_: Any) -> list[TensorShape]:
    return _shapes(c, serialized.with_rank_at_most(1), ragged=True)


# --- kernels --------------------------------------------------------------------------------------------


class _Keys(NamedTuple):
    context_sparse: list[str]
    context_dense: list[str]
    context_ragged: list[str]
    list_sparse: list[str]
    list_dense: list[str]
    list_ragged: list[str]
    may_lack: list[bool]


class _Batch:
    """Sequence examples, read by key."""

    def __init__(self, serialized: list[bytes], names: list[bytes]) -> None:
        if names and len(names) != len(serialized):
            raise invalid("example_names must be empty or have the correct number of elements")
        self._names = names or [b""] * len(serialized)
        self._examples = [
            parse_message(text, WireSequenceExample, f"Name: {name.decode(errors='replace') or '<unknown>'}.  ")
            for text, name in zip(serialized, self._names, strict=True)
        ]

    def context(self, key: str, dtype: DType) -> tuple[Column, Where]:
        """A row for each example."""
        where = Where(key, self._names, "Context feature", [(i, 0) for i in range(len(self._examples))])
        return read_column([example.context.feature.get(key) for example in self._examples], dtype, where), where

    def lists(self, key: str, dtype: DType, may_lack: bool = True) -> tuple[Column, Where, np.ndarray]:
        """A row for each feature of the key's lists, and the number of features in each example."""
        found = [example.feature_lists.feature_list.get(key) for example in self._examples]
        if not may_lack and None in found:
            name = self._names[found.index(None)].decode(errors="replace") or "<unknown>"
            raise invalid(
                f"Name: {name}, Feature list '{key}' is required but could not be found.  Did you mean to include it "
                "in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
            )
        features: list[list[bytes]] = [[] if each is None else each.feature[:] for each in found]
        places = [(example, i) for example, each in enumerate(features) for i in range(len(each))]
        where = Where(key, self._names, "Feature list", places)
        column = read_features([feature for each in features for feature in each], dtype, where)
        return column, where, np.array([len(each) for each in features], np.int64)


def _dense_lists(batch: _Batch, key: str, spec: Spec, may_lack: bool) -> tuple[np.ndarray, np.ndarray]:
    """[batch, longest, *shape], zeros after shorter lists; and the lists' lengths."""
    column, where, lengths = batch.lists(key, spec.dtype, may_lack)
    rows = dense(column, spec.shape, None, spec.dtype, where)
    longest = int(lengths.max(initial=0))
    found = np.zeros((len(lengths), longest, *spec.shape), rows.dtype)
    if rows.dtype == object:
        found.fill(b"")
    found[np.arange(longest) < lengths[:, None]] = rows
    return found, lengths


def _sparse_lists(batch: _Batch, key: str, dtype: DType) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Indices (example, place in its list, place in that feature), values and the dense shape."""
    column, _, lengths = batch.lists(key, dtype)
    places, values, shape = sparse(column)
    example = np.repeat(np.arange(len(lengths)), lengths)
    place = np.arange(len(example)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    rows = places[:, 0]
    indices = np.stack([example[rows], place[rows], places[:, 1]], 1).astype(np.int64)
    return indices, values, np.array([len(lengths), lengths.max(initial=0), shape[1]], np.int64)


def _splits(counts: np.ndarray, dtype: DType) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)]).astype(dtype.np)


Arrays = list[np.ndarray]


class _Parser:
    """The computation of both ops: `(context, its ragged features, lists, their ragged features)`."""

    def __init__(self, ctx: KernelContext) -> None:
        self._context_sparse = ctx["context_sparse_types"]
        self._context_dense = dense_specs(ctx, "Tcontext_dense", "context_dense_shapes")
        self._list_sparse = ctx["feature_list_sparse_types"]
        self._list_dense = dense_specs(ctx, "feature_list_dense_types", "feature_list_dense_shapes")
        if any(spec.padded for spec in (*self._context_dense, *self._list_dense)):
            raise invalid("context_dense_shapes and feature_list_dense_shapes must be fully defined")
        attrs = ctx.node.attrs
        self._ragged = {
            part: list(zip(attrs.get(f"{part}_value_types", ()), attrs.get(f"{part}_split_types", ()), strict=True))
            for part in ("context_ragged", "feature_list_ragged")
        }

    def parse(self, batch: _Batch, keys: _Keys, defaults: Any) -> tuple[Arrays, Arrays, Arrays, Arrays]:
        pairs = zip(keys.context_sparse, self._context_sparse, strict=True)
        in_context = [sparse(batch.context(key, dtype)[0]) for key, dtype in pairs]
        dense_context = []
        for i, (key, spec, given) in enumerate(zip(keys.context_dense, self._context_dense, defaults, strict=True)):
            column, where = batch.context(key, spec.dtype)
            dense_context.append(dense(column, spec.shape, check_default(i, spec, given), spec.dtype, where))
        pairs = zip(keys.list_sparse, self._list_sparse, strict=True)
        in_lists = [_sparse_lists(batch, key, dtype) for key, dtype in pairs]
        triples = zip(keys.list_dense, self._list_dense, keys.may_lack, strict=True)
        dense_lists = [_dense_lists(batch, *triple) for triple in triples]
        return (
            [*_by_part(in_context), *dense_context],
            self._ragged_context(batch, keys.context_ragged),
            [*_by_part(in_lists), *(part[which] for which in range(2) for part in dense_lists)],
            self._ragged_lists(batch, keys.list_ragged),
        )

    def _ragged_context(self, batch: _Batch, keys: list[str]) -> Arrays:
        values, splits = [], []
        for key, (dtype, index) in zip(keys, self._ragged["context_ragged"], strict=True):
            column, _ = batch.context(key, dtype)
            values.append(column.values)
            splits.append(_splits(column.counts, index))
        return [*values, *splits]

    def _ragged_lists(self, batch: _Batch, keys: list[str]) -> Arrays:
        values, outer, inner = [], [], []
        for key, (dtype, index) in zip(keys, self._ragged["feature_list_ragged"], strict=True):
            column, _, lengths = batch.lists(key, dtype)
            values.append(column.values)
            outer.append(_splits(lengths, index))
            inner.append(_splits(column.counts, index))
        return [*values, *outer, *inner]


def _by_part(parts: list[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> Arrays:
    """All indices, then all values, then all shapes."""
    return [part[which] for which in range(3) for part in parts]


@PARSE_SEQUENCE_EXAMPLE.kernel("CPU")
def parse_sequence_example_kernel(ctx: KernelContext) -> Kernel:
    parser = _Parser(ctx)
    sparse_context, dense_context, sparse_lists, dense_lists, empty = (
        [key.decode() for key in ctx[attr]]
        for attr in (
            "context_sparse_keys",
            "context_dense_keys",
            "feature_list_sparse_keys",
            "feature_list_dense_keys",
            "feature_list_dense_missing_assumed_empty",
        )
    )
    may_lack = [key in empty for key in dense_lists]
    keys = _Keys(sparse_context, dense_context, [], sparse_lists, dense_lists, [], may_lack)

    def parse(serialized: np.ndarray, names: np.ndarray, defaults: Any) -> tuple[Any, ...]:
        if serialized.ndim != 1:
            raise invalid(f"Expected serialized to be a vector, got shape: {list(serialized.shape)}")
        batch = _Batch(serialized.tolist(), names.reshape(-1).tolist())
        context, _, lists, _ = parser.parse(batch, keys, defaults)
        return tuple(map(to_value, [*context, *lists]))

    return parse


@PARSE_SEQUENCE_EXAMPLE_V2.kernel("CPU")
def parse_sequence_example_v2_kernel(ctx: KernelContext) -> Kernel:
    """A vector of examples, or a scalar for one: the outputs then have no axis of examples."""
    parser = _Parser(ctx)
    first_dense = 3 * ctx["Ncontext_sparse"]
    first_list = 3 * ctx["Nfeature_list_sparse"]

    def parse(serialized: np.ndarray, names: np.ndarray, *inputs: Any) -> tuple[Any, ...]:
        if serialized.ndim > 1:
            raise invalid(f"Expected serialized to be a scalar or vector, got shape: {list(serialized.shape)}")
        *given, may_lack, defaults = inputs
        keys = _Keys._make([*([key.decode() for key in part.tolist()] for part in given), may_lack.tolist()])
        batch = _Batch(serialized.reshape(-1).tolist(), names.reshape(-1).tolist())
        parts = parser.parse(batch, keys, defaults)
        if not serialized.ndim:
            context, ragged, lists, ragged_lists = parts
            of_context = [_only(i, array, first_dense) for i, array in enumerate(context)]
            of_lists = [_only(i, array, first_list) for i, array in enumerate(lists)]
            parts = of_context, ragged, of_lists, ragged_lists
        return tuple([to_value(array) for part in parts for array in part])

    return parse


def _only(i: int, array: np.ndarray, first_dense: int) -> np.ndarray:
    """What output i is without the axis of examples: in thirds of indices, values and shapes before `first_dense`."""
    if i >= first_dense:
        return array[0, ...]
    if 3 * i < first_dense:
        return array[:, 1:]
    return array if 3 * i < 2 * first_dense else array[1:]


# --- the function ---------------------------------------------------------------------------------------


@export("parse_sequence_example", "io.parse_sequence_example")
def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """A batch of serialized tf.train.SequenceExample: (context, feature lists, lengths of lists), each by key.

    serialized [batch] string. Context features are FixedLenFeature, [batch, *shape], or VarLenFeature, a SparseTensor
    [batch, longest]. Sequences are FixedLenSequenceFeature, [batch, longest, *shape] with zeros after the shorter ones,
    whose lengths [batch] are the third result; or VarLenFeature, a SparseTensor [batch, longest, most]. `example_names`
    [batch] appear in errors. See `parse_single_sequence_example`. TF: tf.parse_sequence_example.
    """
    if not context_features and not sequence_features:
        raise ValueError(
            "Both `context_features` and `sequence_features` argument are None, but at least one should have values."
        )
    context = raw_features(context_features, (VarLenFeature, FixedLenFeature))
    sequences = raw_features(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    none = convert_to_tensor(np.zeros(0, object), string)
    with name_scope(name, "ParseSequenceExample", [serialized, example_names]):
        found = PARSE_SEQUENCE_EXAMPLE_V2(
            serialized=convert_to_tensor(serialized, string, name="serialized"),
            debug_name=none if example_names is None else convert_to_tensor(example_names, string),
            context_sparse_keys=convert_to_tensor(list(context.sparse), string),
            context_dense_keys=convert_to_tensor(list(context.dense), string),
            context_ragged_keys=none,
            feature_list_sparse_keys=convert_to_tensor(list(sequences.sparse), string),
            feature_list_dense_keys=convert_to_tensor(list(sequences.dense), string),
            feature_list_ragged_keys=none,
            feature_list_dense_missing_assumed_empty=convert_to_tensor(
                [bool(sequence_features[key].allow_missing) for key in sequences.dense], boolean
            ),
            context_dense_defaults=default_tensors(context.dense),
            Ncontext_sparse=len(context.sparse),
            Nfeature_list_sparse=len(sequences.sparse),
            Nfeature_list_dense=len(sequences.dense),
            context_sparse_types=list(context.sparse.values()),
            Tcontext_dense=[dtype for dtype, _, _ in context.dense.values()],
            feature_list_dense_types=[dtype for dtype, _, _ in sequences.dense.values()],
            context_dense_shapes=[shape for _, shape, _ in context.dense.values()],
            feature_list_sparse_types=list(sequences.sparse.values()),
            feature_list_dense_shapes=item_shapes(sequences),
        )
        lists = by_key(sequences.sparse, sequences.dense, found[6:10])
        return (
            by_key(context.sparse, context.dense, found[:4]),
            lists,
            dict(zip(sequences.dense, found[10], strict=True)),
        )
