"""tf.train.SequenceExample to tensors (TF: ParseSingleSequenceExample)."""

from __future__ import annotations

from typing import Any

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
    Raw,
    VarLenFeature,
    by_key,
    default_tensors,
    raw_features,
)
from penstock.ops.parsing_batch import parse_message, read_features
from penstock.ops.parsing_columns import Column, Where, dense, read_column, sparse, to_value
from penstock.ops.parsing_ops import (
    PARSED_TYPES,
    Spec,
    check_default,
    dense_specs,
    single_sparse,
    texts,
)
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, string
from penstock.tensor.example_protos import WireSequenceExample
from penstock.tensor.shapes import TensorShape

PARSE_SINGLE_SEQUENCE_EXAMPLE = define_op(
    "ParseSingleSequenceExample",
    "serialized: string, feature_list_dense_missing_assumed_empty: string, "
    "context_sparse_keys: Ncontext_sparse * string, context_dense_keys: Ncontext_dense * string, "
    "feature_list_sparse_keys: Nfeature_list_sparse * string, feature_list_dense_keys: Nfeature_list_dense * string, "
    "context_dense_defaults: Tcontext_dense, debug_name: string",
    "context_sparse_indices: Ncontext_sparse * int64, context_sparse_values: context_sparse_types, "
    "context_sparse_shapes: Ncontext_sparse * int64, context_dense_values: Tcontext_dense, "
    "feature_list_sparse_indices: Nfeature_list_sparse * int64, "
    "feature_list_sparse_values: feature_list_sparse_types, feature_list_sparse_shapes: Nfeature_list_sparse * int64, "
    "feature_list_dense_values: feature_list_dense_types",
    attrs=[
        "Ncontext_sparse: int >= 0 = 0",
        "Ncontext_dense: int >= 0 = 0",
        "Nfeature_list_sparse: int >= 0 = 0",
        "Nfeature_list_dense: int >= 0 = 0",
        f"context_sparse_types: {PARSED_TYPES} = []",
        f"Tcontext_dense: {PARSED_TYPES} = []",
        f"feature_list_dense_types: {PARSED_TYPES} = []",
        "context_dense_shapes: list(shape) >= 0 = []",
        f"feature_list_sparse_types: {PARSED_TYPES} = []",
        "feature_list_dense_shapes: list(shape) >= 0 = []",
    ],
)
PARSE_SINGLE_SEQUENCE_EXAMPLE.not_differentiable()


@PARSE_SINGLE_SEQUENCE_EXAMPLE.shape
def parse_single_sequence_example_shape(c: ShapeContext, serialized: TensorShape, *_: Any) -> list[TensorShape]:
    serialized.assert_has_rank(0)

    def sparse_shapes(count: int, rank: int) -> list[TensorShape]:
        return [
            *[TensorShape([None, rank])] * count,
            *[TensorShape([None])] * count,
            *[TensorShape([rank])] * count,
        ]

    return [
        *sparse_shapes(c.attrs["Ncontext_sparse"], 1),
        *c.attrs["context_dense_shapes"],
        *sparse_shapes(c.attrs["Nfeature_list_sparse"], 2),
        *(TensorShape([None]).concatenate(shape) for shape in c.attrs["feature_list_dense_shapes"]),
    ]


@PARSE_SINGLE_SEQUENCE_EXAMPLE.kernel("CPU")
def parse_single_sequence_example_kernel(ctx: KernelContext) -> Kernel:
    context_specs = dense_specs(ctx, "Tcontext_dense", "context_dense_shapes")
    list_specs = dense_specs(ctx, "feature_list_dense_types", "feature_list_dense_shapes")
    if any(spec.padded for spec in (*context_specs, *list_specs)):
        raise invalid("context_dense_shapes and feature_list_dense_shapes must be fully defined")
    context_sparse_types, list_sparse_types = ctx["context_sparse_types"], ctx["feature_list_sparse_types"]

    def parse(
        serialized: np.ndarray,
        may_lack: np.ndarray,
        context_sparse: Any,
        context_dense: Any,
        list_sparse: Any,
        list_dense: Any,
        defaults: Any,
        debug_name: np.ndarray,
    ) -> tuple[Any, ...]:
        if serialized.ndim:
            raise invalid(f"Expected serialized to be a scalar, got shape: {list(serialized.shape)}")
        example = parse_message(serialized.item(), WireSequenceExample)
        context, lists, names = example.context.feature, example.feature_lists.feature_list, [debug_name.item()]
        empty = set(texts(may_lack.reshape(-1)))

        def context_column(key: str, dtype: DType) -> Column:
            return read_column([context.get(key)], dtype, Where(key, names, "Context feature"))

        def list_column(key: str, dtype: DType) -> Column:
            found = lists.get(key)
            return read_features([] if found is None else found.feature[:], dtype, Where(key, names, "Feature list"))

        def context_values(i: int, spec: Spec, key: str, default: Any) -> np.ndarray:
            where = Where(key, names, "Context feature")
            column = context_column(key, spec.dtype)
            return dense(column, spec.shape, check_default(i, spec, default), spec.dtype, where)[0, ...]

        def list_values(spec: Spec, key: str) -> np.ndarray:
            if key not in empty and lists.get(key) is None:
                name = names[0].decode(errors="replace") or "<unknown>"
                raise invalid(
                    f"Name: {name}, Feature list '{key}' is required but could not be found.  Did you mean to include "
                    "it in feature_list_dense_missing_assumed_empty or feature_list_dense_defaults?"
                )
            where = Where(key, names, "Feature list")
            return dense(list_column(key, spec.dtype), spec.shape, None, spec.dtype, where)

        pairs = zip(texts(context_sparse), context_sparse_types, strict=True)
        of_context = [single_sparse(context_column(key, dtype)) for key, dtype in pairs]
        triples = zip(context_specs, texts(context_dense), defaults, strict=True)
        dense_context = [context_values(i, *triple) for i, triple in enumerate(triples)]
        pairs = zip(texts(list_sparse), list_sparse_types, strict=True)
        of_lists = [sparse(list_column(key, dtype)) for key, dtype in pairs]
        dense_lists = [list_values(spec, key) for spec, key in zip(list_specs, texts(list_dense), strict=True)]
        arrays = [
            *(part[which] for which in range(3) for part in of_context),
            *dense_context,
            *(part[which] for which in range(3) for part in of_lists),
            *dense_lists,
        ]
        return tuple(map(to_value, arrays))

    return parse


@export("parse_single_sequence_example", "io.parse_single_sequence_example")
def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parses one serialized tf.train.SequenceExample: returns (tensors of its context, tensors of its feature lists),
    by key.

    Context features are FixedLenFeature or VarLenFeature, as in `parse_single_example`. Sequences of length t are
    FixedLenSequenceFeature, [t, *shape] (a missing one is an error, or empty if `allow_missing`), or VarLenFeature, a
    SparseTensor [t, longest]. TF: tf.parse_single_sequence_example.
    """
    if not context_features and not sequence_features:
        raise ValueError("Missing features.")
    context = raw_features(context_features, (VarLenFeature, FixedLenFeature))
    sequences = raw_features(sequence_features, (VarLenFeature, FixedLenSequenceFeature))
    shapes = item_shapes(sequences)
    empty = [key for key in sequences.dense if sequence_features[key].allow_missing]
    with name_scope(name, "ParseSingleSequenceExample", [serialized, example_name]):
        found = PARSE_SINGLE_SEQUENCE_EXAMPLE(
            serialized=convert_to_tensor(serialized, string, name="serialized"),
            feature_list_dense_missing_assumed_empty=convert_to_tensor(
                empty, string, name="feature_list_dense_missing_assumed_empty"
            ),
            context_sparse_keys=list(context.sparse),
            context_dense_keys=list(context.dense),
            feature_list_sparse_keys=list(sequences.sparse),
            feature_list_dense_keys=list(sequences.dense),
            context_dense_defaults=default_tensors(context.dense),
            debug_name=convert_to_tensor("" if example_name is None else example_name, string, name="debug_name"),
            context_sparse_types=list(context.sparse.values()),
            Tcontext_dense=[dtype for dtype, _, _ in context.dense.values()],
            feature_list_dense_types=[dtype for dtype, _, _ in sequences.dense.values()],
            context_dense_shapes=[shape for _, shape, _ in context.dense.values()],
            feature_list_sparse_types=list(sequences.sparse.values()),
            feature_list_dense_shapes=shapes,
        )
        return by_key(context.sparse, context.dense, found[:4]), by_key(sequences.sparse, sequences.dense, found[4:])


def item_shapes(sequences: Raw) -> list[TensorShape]:
    """The shape of an item of each dense sequence. Raises ValueError for unknown dims, and for a default."""
    found: list[TensorShape] = []
    for key, (_, shape, default) in sequences.dense.items():
        if default is not None:
            raise ValueError(f"Value feature_list.dense_defaults[{key}] must be None")
        if not shape[1:].is_fully_defined():
            raise ValueError(f"All dimensions of shape for feature {key} need to be known but received {shape[1:]}.")
        found.append(shape[1:])
    return found
