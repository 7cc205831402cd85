"""Sums the contributions of several paths to one gradient, or selects that of one of two branches."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.composite import IndexedSlices
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.tensor.dtypes import DType, int32, int64, resource


@export("AggregationMethod")
class AggregationMethod:
    """How `gradients` adds contributions (TF: tf.AggregationMethod)."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def aggregate(parts: list[Tensor | IndexedSlices], method: int | None) -> Tensor | IndexedSlices:
    """The sum of `parts`; sparse if all of them are."""
    method = AggregationMethod.DEFAULT if method is None else method
    if method not in (0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {method}.")
    if len(parts) == 1:
        return parts[0]
    slices = [part for part in parts if isinstance(part, IndexedSlices)]
    if len(slices) == len(parts):
        return _concatenated(slices)
    dense = [convert_to_tensor(part) for part in parts]
    if method == AggregationMethod.EXPERIMENTAL_TREE:
        while len(dense) > 1:
            dense = [
                get_op("AddN")(dense[i : i + 2]) if i + 1 < len(dense) else dense[i] for i in range(0, len(dense), 2)
            ]
        return dense[0]
    if method == AggregationMethod.EXPERIMENTAL_ACCUMULATE_N and all(t.shape.is_fully_defined() for t in dense):
        return get_op("AccumulateNV2")(dense, shape=dense[0].shape)
    return get_op("AddN")(dense)


def _concatenated(slices: list[IndexedSlices]) -> IndexedSlices:
    """Concatenates all slices: duplicate rows are added when they are applied."""
    indices = [part.indices for part in slices]
    if len({tensor.dtype for tensor in indices}) > 1:
        indices = [t if t.dtype != int32 else get_op("Cast")(t, DstT="int64") for t in indices]
    axis = convert_to_tensor(0, int32)
    shape = next((part.dense_shape for part in slices if part.dense_shape is not None), None)
    return IndexedSlices(
        get_op("ConcatV2")([part.values for part in slices], axis), get_op("ConcatV2")(indices, axis), shape
    )


# --- rows of conditionals -------------------------------------------------------------------------------


def are_rows(grads: list[Any]) -> bool:
    """Whether there are gradients and all of them are rows of known size."""
    found = [grad for grad in grads if grad is not None]
    return bool(found) and all(isinstance(g, IndexedSlices) and g.values.shape[1:].is_fully_defined() for g in found)


def shape_outside(tensor: Tensor) -> Tensor:
    """The shape of a tensor, or of the variable that a reference or handle stands for."""
    return get_op("VariableShape" if tensor.dtype == resource else "Shape")(tensor)


def rows_of_branch(value: Tensor, pred: Tensor, grads: list[Any]) -> IndexedSlices:
    """The rows from the branch that was taken; a branch without a gradient has none."""
    some = next(grad for grad in grads if grad is not None)
    kind = int32 if all(g is None or g.indices.dtype == int32 for g in grads) else int64
    none_values = np.empty((0, *some.values.shape[1:].as_list()), some.values.dtype.as_numpy_dtype)
    none = get_op("Switch")(none_values, pred), get_op("Switch")(np.empty(0, kind.np), pred)
    values = [none[0][branch] if g is None else g.values for branch, g in enumerate(grads)]
    indices = [none[1][branch] if g is None else _of_kind(g.indices, kind) for branch, g in enumerate(grads)]
    return IndexedSlices(get_op("Merge")(values)[0], get_op("Merge")(indices)[0], shape_outside(value))


def _of_kind(indices: Tensor, kind: DType) -> Tensor:
    if indices.dtype == kind:
        return indices
    context = indices.op._control_flow_context
    with context.entered():
        return get_op("Cast")(indices, DstT=kind)
