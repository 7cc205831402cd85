"""Sequences of numbers, and sequence columns as one tensor (TF: tf.contrib.feature_column.sequence_input_layer)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.feature_column.base import (
    Features,
    SequenceDenseColumn,
    Weights,
    checked_columns,
)
from penstock.feature_column.numeric import checked_numbers
from penstock.feature_column.sequence_ids import sequence_length
from penstock.graph.composite import SparseTensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, name_scope
from penstock.ops.array import expand_dims, reshape, shape as shape_of
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.checks import assert_equal
from penstock.ops.joining import concat
from penstock.ops.parsing import VarLenFeature
from penstock.ops.reversing import tile
from penstock.ops.shape_checks import assert_rank
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.tensor.dtypes import DType, float32
from penstock.tensor.shapes import TensorShape


@dataclass(frozen=True)
class SequenceNumericColumn(SequenceDenseColumn):
    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> TensorShape:
        return TensorShape(self.shape)

    def transform(self, features: Features) -> SparseTensor:
        found = features.get(self.key)
        return found if self.normalizer_fn is None else self.normalizer_fn(found)

    def sequence_tensor(self, features: Features, weights: Weights) -> tuple[Tensor, Tensor]:
        sparse = features.get(self)
        dense = cast(sparse_tensor_to_dense(sparse, self.default_value), float32)
        dense = reshape(dense, [shape_of(sparse)[0], -1, *self.shape])
        flat = sparse.dense_shape.shape[0].value == 2
        return dense, sequence_length(sparse, math.prod(self.shape) if flat else 1)


@export("feature_column.sequence_numeric_column", "contrib.feature_column.sequence_numeric_column")
def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> SequenceNumericColumn:
    """Sequences of numbers, each step's of `shape`, padded with `default_value` (TF: the same name)."""
    dims, kind = checked_numbers(key, shape, dtype, normalizer_fn)
    return SequenceNumericColumn(key, dims, default_value, kind, normalizer_fn)


@export("contrib.feature_column.sequence_input_layer")
def sequence_input_layer(
    features: Any, feature_columns: Any, weight_collections: Any = None, trainable: bool = True
) -> tuple[Tensor, Tensor]:
    """[batch, steps, n] and lengths [batch]: the sequence columns side by side, by their names (TF: the same name).

    A step raises InvalidArgumentError if the lengths of two columns differ.
    """
    refusal = (
        "All feature_columns must be of type _SequenceDenseColumn. You can wrap a sequence_categorical_column with an "
        "embedding_column or indicator_column."
    )
    columns = checked_columns(feature_columns, (SequenceDenseColumn,), refusal, features)
    weights = Weights(weight_collections, trainable)
    known = Features(features)
    with variable_scope(None, default_name="sequence_input_layer", values=features.values()):
        tensors, lengths = [], []
        for column in columns:
            with variable_scope(None, default_name=column.var_scope_name):
                dense, length = column.sequence_tensor(known, weights)
                dims = shape_of(dense)
                tensors.append(reshape(dense, [dims[0], dims[1], column.variable_shape.num_elements()]))
                lengths.append(length)
        return concat(tensors, -1), _all_equal(lengths)


def _all_equal(lengths: list[Tensor]) -> Tensor:
    with name_scope(None, "assert_all_equal", lengths):
        checks = [assert_equal(lengths[0], other) for other in lengths[1:]]
        with control_dependencies(checks):
            return identity(lengths[0])


@export("contrib.feature_column.concatenate_context_input")
def concatenate_context_input(context_input: Tensor, sequence_input: Tensor) -> Tensor:
    """[batch, n] beside each step of [batch, steps, m] -> [batch, steps, m + n] (TF: the same name)."""
    ranks = [
        assert_rank(sequence_input, 3, message="sequence_input must have rank 3"),
        assert_rank(context_input, 2, message="context_input must have rank 2"),
    ]
    with control_dependencies(ranks):
        steps = shape_of(sequence_input)[1]
        repeated = tile(expand_dims(context_input, 1), get_op("Pack")([1, steps, 1]))
        return concat([sequence_input, repeated], 2)
