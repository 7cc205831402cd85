"""Datasets of existing tensors: TensorDataset, TensorSliceDataset, SparseTensorSliceDataset, RangeDataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State
from penstock.ops.datasets.blocks import Block
from penstock.ops.datasets.define import METADATA, TYPES, dataset_kernel, define_dataset, scalar
from penstock.ops.kernel_tools import invalid
from penstock.ops.sparse_serialize import rows_of
from penstock.ops.sparse_tools import tensor as as_tensor
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, int64
from penstock.tensor.shapes import TensorShape

_COMPONENTS = ["Toutput_types: list(type) >= 1", "output_shapes: list(shape) >= 1"]

TENSOR_DATASET = define_dataset("TensorDataset", "components: Toutput_types", _COMPONENTS, stateful=True, typed=False)
TENSOR_SLICE_DATASET = define_dataset(
    "TensorSliceDataset",
    "components: Toutput_types",
    [*_COMPONENTS, "is_files: bool = false", METADATA, "replicate_on_split: bool = false"],
    stateful=True,
    typed=False,
)
SPARSE_TENSOR_SLICE_DATASET = define_dataset(
    "SparseTensorSliceDataset",
    "indices: int64, values: Tvalues, dense_shape: int64",
    ["Tvalues: type"],
    stateful=True,
    typed=False,
    metadata=False,
)
RANGE_DATASET = define_dataset(
    "RangeDataset",
    "start: int64, stop: int64, step: int64",
    [*TYPES, METADATA, "replicate_on_split: bool = false"],
    stateful=True,
)


class Slices(DatasetState):
    """The rows of `columns`, which have equal numbers of rows. Elements share their memory."""

    def __init__(self, dtypes: Sequence[DType], shapes: Sequence[TensorShape], block: Block) -> None:
        super().__init__(dtypes, shapes)
        self.block = block

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _SlicesIterator(self.block)


class _SlicesIterator(ElementIterator):
    def __init__(self, block: Block) -> None:
        self._block = block
        self._at = 0

    def _one(self) -> tuple[Any, ...] | None:
        at = self._at
        if at == self._block.size:
            return None
        self._at = at + 1
        return self._block.row(at)

    def _many(self, count: int) -> Block | None:
        begin, size = self._at, self._block.size
        if begin == size:
            return None
        self._at = end = min(begin + count, size)
        return self._block.part(begin, end)

    def _save(self) -> State:
        return {"at": self._at}

    def _restore(self, state: State) -> None:
        self._at = state["at"]


class _Range(DatasetState):
    def __init__(self, dtype: DType, numbers: range) -> None:
        super().__init__([dtype], [TensorShape([])])
        self.numbers = numbers

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _RangeIterator(self.numbers, self.dtypes[0])


class _RangeIterator(ElementIterator):
    def __init__(self, numbers: range, dtype: DType) -> None:
        self._numbers, self._dtype = numbers, dtype.torch
        self._at, self._size = 0, _length(numbers)

    def _one(self) -> tuple[Any, ...] | None:
        at = self._at
        if at == self._size:
            return None
        self._at = at + 1
        return (torch.tensor(self._numbers.start + at * self._numbers.step, dtype=self._dtype),)

    def _many(self, count: int) -> Block | None:
        begin, step = self._at, self._numbers.step
        if begin == self._size:
            return None
        self._at = end = min(begin + count, self._size)
        first = self._numbers.start + begin * step
        found = torch.arange(first, first + (end - begin) * step, step, dtype=torch.int64)
        return Block(end - begin, (found.to(self._dtype),))

    def _save(self) -> State:
        return {"at": self._at}

    def _restore(self, state: State) -> None:
        self._at = state["at"]


def _length(numbers: range) -> int:
    """`len`, for any size."""
    start, stop, step = numbers.start, numbers.stop, numbers.step
    return max(0, -((start - stop) // step))


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(TENSOR_DATASET)
def tensor_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["Toutput_types"], ctx["output_shapes"]
    return lambda components: Slices(dtypes, shapes, Block(1, (value[None] for value in components)))


@dataset_kernel(TENSOR_SLICE_DATASET)
def tensor_slice_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["Toutput_types"], ctx["output_shapes"]

    def slices(components: list[Any]) -> DatasetState:
        if any(not value.ndim for value in components):
            raise invalid("All components must be at least 1-dimensional")
        sizes = [value.shape[0] for value in components]
        if len(set(sizes)) > 1:
            at = next(i for i, size in enumerate(sizes) if size != sizes[0])
            raise invalid(
                f"All components must have the same size in the 0th dimension: component 0 has {sizes[0]} rows, "
                f"component {at} has {sizes[at]}"
            )
        return Slices(dtypes, shapes, Block(sizes[0], components))

    return slices


@dataset_kernel(SPARSE_TENSOR_SLICE_DATASET)
def sparse_tensor_slice_dataset(ctx: KernelContext) -> Any:
    dtype = ctx["Tvalues"]

    def slices(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> DatasetState:
        """Each row as its indices, values and shape: three components that differ in size from row to row."""
        places = indices[:, 0] if indices.ndim == 2 and indices.shape[1] else indices
        if bool((places[1:] < places[:-1]).any()):
            raise errors.UnimplementedError(
                None,
                None,
                "The SparseTensor must be ordered in the batch dimension; handling arbitrarily ordered input is not "
                "currently supported.",
            )
        rows = rows_of(indices, values, shape)
        rank = max(len(shape) - 1, 0)
        columns: list[list[Any]] = [
            [as_tensor(np.ascontiguousarray(at)) for at, _, _ in rows],
            [found for _, found, _ in rows],
            [torch.tensor(dims, dtype=torch.int64) for _, _, dims in rows],
        ]
        shapes = [TensorShape([None, rank]), TensorShape([None]), TensorShape([rank])]
        return Slices([int64, dtype, int64], shapes, Block(len(rows), columns))

    return slices


@dataset_kernel(RANGE_DATASET)
def range_dataset(ctx: KernelContext) -> Any:
    (dtype,) = ctx["output_types"]

    def numbers(start: Any, stop: Any, step: Any) -> DatasetState:
        by = scalar("step", step)
        if not by:
            raise invalid("step must be a non-zero integer.")
        return _Range(dtype, range(scalar("start", start), scalar("stop", stop), by))

    return numbers
