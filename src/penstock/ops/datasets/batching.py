"""Batches: BatchDataset, PaddedBatchDataset, DenseToSparseBatchDataset, and UnbatchDataset, which undoes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Block, Column, Element, joined, stack, values_of
from penstock.ops.datasets.define import TYPES, at_least, dataset_kernel, define_dataset, scalar
from penstock.ops.kernel_tools import as_signed, invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, string
from penstock.tensor.shapes import TensorShape

BATCH_DATASET = define_dataset("BatchDataset", "input_dataset: variant, batch_size: int64")
BATCH_DATASET_V2 = define_dataset(
    "BatchDatasetV2",
    "input_dataset: variant, batch_size: int64, drop_remainder: bool",
    ["parallel_copy: bool = false", *TYPES],
)
_PADDED = "input_dataset: variant, batch_size: int64, padded_shapes: N * int64, padding_values: Toutput_types"
_PADDED_ATTRS = ["Toutput_types: list(type) >= 1", "output_shapes: list(shape) >= 1", "N: int >= 1"]
PADDED_BATCH_DATASET = define_dataset("PaddedBatchDataset", _PADDED, _PADDED_ATTRS, typed=False)
PADDED_BATCH_DATASET_V2 = define_dataset(
    "PaddedBatchDatasetV2",
    f"{_PADDED}, drop_remainder: bool",
    ["parallel_copy: bool = false", *_PADDED_ATTRS],
    typed=False,
)
DENSE_TO_SPARSE_BATCH_DATASET = define_dataset(
    "DenseToSparseBatchDataset",
    "input_dataset: variant, batch_size: int64, row_shape: int64",
    metadata=False,
)
UNBATCH_DATASET = define_dataset("UnbatchDataset", "input_dataset: variant")

Collate = Callable[[Block], Element]
"""A function from the elements of a batch to the batch."""


class Batches(DatasetState):
    """`size` elements of `source` combined by `collate`; the last batch may be smaller unless `drop_remainder`."""

    def __init__(
        self,
        source: DatasetState,
        size: int,
        drop_remainder: bool,
        collate: Collate,
        dtypes: Sequence[DType],
        shapes: Sequence[TensorShape],
    ) -> None:
        super().__init__(dtypes, shapes)
        self.source, self.size, self.drop_remainder, self.collate = source, size, drop_remainder, collate

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _BatchIterator(self, ctx)


class _BatchIterator(ElementIterator):
    """Elements collected before an error are kept for the next batch."""

    def __init__(self, dataset: Batches, ctx: IterationContext) -> None:
        self._input = dataset.source.iterate(ctx)
        self._dataset = dataset
        self._waiting: list[Block] = []

    def _one(self) -> Element | None:
        waiting, size = self._waiting, self._dataset.size
        have = sum(block.size for block in waiting)
        while have < size:
            block = self._input.next_many(size - have)
            if block is None:
                break
            waiting.append(block)
            have += block.size
        self._waiting = []
        if not have or (self._dataset.drop_remainder and have < size):
            return None
        return self._dataset.collate(joined(waiting))

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        return {"waiting": self._waiting, "input": self._input.save()}

    def _restore(self, state: State) -> None:
        self._waiting = state["waiting"]
        self._input.restore(state["input"])


def stacked(block: Block, refusal: str = "Cannot batch tensors with different shapes") -> Element:
    """The elements, stacked. Raises InvalidArgumentError if their shapes differ: `refusal`, and which they are."""
    return tuple([_stacked(column, i, refusal) for i, column in enumerate(block.columns)])


def _stacked(column: Column, component: int, refusal: str) -> Any:
    found = stack(column)
    if not isinstance(found, list):
        return found
    first = list(found[0].shape)
    at, shape = next((i, list(value.shape)) for i, value in enumerate(found) if list(value.shape) != first)
    raise invalid(
        f"{refusal} in component {component}. First element had shape {first} and element {at} had shape {shape}."
    )


# --- padding --------------------------------------------------------------------------------------------


def padding(shapes: Sequence[Sequence[int]], values: Sequence[Any]) -> Collate:
    """A function that pads the elements of a batch to a common shape: for each component with the scalar in `values`,
    to the largest where its entry in `shapes` is -1."""

    def collate(block: Block) -> Element:
        parts = zip(block.columns, shapes, values, strict=True)
        return tuple([_padded(column, shape, value, i) for i, (column, shape, value) in enumerate(parts)])

    return collate


def _padded(column: Column, wanted: Sequence[int], value: Any, component: int) -> Any:
    rank = len(wanted)
    first = column[0] if isinstance(column, list) else column
    if (
        not isinstance(column, list)
        and list(column.shape[1:])
        == [have if want < 0 else want for have, want in zip(column.shape[1:], wanted, strict=False)]
        == list(column.shape[1:])
        and column.ndim == rank + 1
    ):
        return column
    items = values_of(column)
    for at, item in enumerate(items):
        if item.ndim != rank:
            raise invalid(
                f"All elements in a batch must have the same rank as the padded shape for component{component}: "
                f"expected rank {rank} but got element with rank {item.ndim} (element {at} of the batch)"
            )
    longest = [max(sizes) for sizes in zip(*(item.shape for item in items), strict=True)]
    for have, want in zip(longest, wanted, strict=True):
        if 0 <= want < have:
            raise errors.DataLossError(
                None,
                None,
                f"Attempted to pad to a smaller size than the input element: component {component} has a dimension of "
                f"{have}, and is to be padded to {want}",
            )
    shape = [len(items), *(have if want < 0 else want for have, want in zip(longest, wanted, strict=True))]
    if isinstance(first, np.ndarray):
        array = np.full(shape, value.item(), object)
        for at, item in enumerate(items):
            place: tuple[Any, ...] = (at, *map(slice, item.shape), ...)  # with the dots it is a view, for scalars too
            array[place] = item
        return array
    filled = torch.empty(shape, dtype=first.dtype)
    filled[...] = value
    bits = as_signed(filled)
    for at, item in enumerate(items):
        bits[at][tuple(slice(0, size) for size in item.shape)] = as_signed(item)
    return filled


def sparse_rows(row_shape: Sequence[int], dtype: DType) -> Collate:
    """Dense elements as the rows of one sparse tensor with `row_shape`, where -1 means the largest."""

    def collate(block: Block) -> Element:
        (column,) = block.columns
        items = [value if isinstance(value, np.ndarray) else value.numpy() for value in values_of(column)]
        largest = [max(0, size) for size in row_shape]
        for item in items:
            if item.ndim != len(row_shape):
                raise invalid(
                    f"Input element had shape ({list(item.shape)}) that is incompatible with the row shape "
                    f"({list(row_shape)})."
                )
            for axis, (have, want) in enumerate(zip(item.shape, row_shape, strict=True)):
                if 0 <= want < have:
                    raise invalid(
                        f"Input element had shape ({list(item.shape)}) that is larger than the row shape "
                        f"({list(row_shape)})."
                    )
                largest[axis] = max(largest[axis], have)
        places = [np.stack([axis.reshape(-1) for axis in np.indices(item.shape)], 1).astype(np.int64) for item in items]
        rows = np.repeat(np.arange(len(items)), [len(place) for place in places])
        indices = np.concatenate([rows[:, None], np.concatenate(places)], 1)
        flat = np.concatenate([item.reshape(-1) for item in items])
        found = np.empty(3, object)
        found[0] = torch.from_numpy(np.ascontiguousarray(indices))
        found[1] = flat if dtype == string else torch.from_numpy(flat)
        found[2] = torch.tensor([len(items), *largest], dtype=torch.int64)
        return (found,)

    return collate


# --- unbatching -----------------------------------------------------------------------------------------


class Unbatched(DatasetState):
    """The rows of the elements of `source`, one after another."""

    def __init__(self, source: DatasetState, dtypes: Sequence[DType], shapes: Sequence[TensorShape]) -> None:
        super().__init__(dtypes, shapes)
        self.source = source

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _UnbatchIterator(self.source.iterate(ctx))


class _UnbatchIterator(ElementIterator):
    def __init__(self, source: ElementIterator) -> None:
        self._input = source
        self._rows: Block | None = None

    def _many(self, count: int) -> Block | None:
        while self._rows is None:
            element = self._input.next()
            if element is None:
                return None
            if any(not value.ndim for value in element):
                raise invalid("Cannot unbatch a scalar: all components must be at least 1-dimensional")
            sizes = {value.shape[0] for value in element}
            if len(sizes) > 1:
                raise invalid(f"Input element must have the same batch size in each component: got {sorted(sizes)}")
            if size := sizes.pop():
                self._rows = Block(size, element)
        rows = self._rows
        if rows.size <= count:
            self._rows = None
            return rows
        self._rows = rows.part(count, rows.size)
        return rows.part(0, count)

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        return {"rows": self._rows, "input": self._input.save()}

    def _restore(self, state: State) -> None:
        self._rows = state["rows"]
        self._input.restore(state["input"])


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(BATCH_DATASET, BATCH_DATASET_V2)
def batch_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["output_types"], ctx["output_shapes"]

    def batches(source: Any, size: Any, drop_remainder: Any = None) -> DatasetState:
        count, drop = at_least(1, "Batch size", size), _flag(drop_remainder)
        return Batches(dataset_of(source), count, drop, stacked, dtypes, shapes)

    return batches


@dataset_kernel(PADDED_BATCH_DATASET, PADDED_BATCH_DATASET_V2)
def padded_batch_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["Toutput_types"], ctx["output_shapes"]

    def batches(
        source: Any, size: Any, padded_shapes: list[Any], values: list[Any], drop_remainder: Any = None
    ) -> DatasetState:
        count, drop = at_least(1, "Batch size", size), _flag(drop_remainder)
        for value in values:
            if value.ndim:
                raise invalid("All padding values must be scalars")
        collate = padding([shape.tolist() for shape in padded_shapes], values)
        return Batches(dataset_of(source), count, drop, collate, dtypes, shapes)

    return batches


@dataset_kernel(DENSE_TO_SPARSE_BATCH_DATASET)
def dense_to_sparse_batch_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["output_types"], ctx["output_shapes"]

    def batches(source: Any, size: Any, row_shape: torch.Tensor) -> DatasetState:
        dense = dataset_of(source)
        if len(dense.dtypes) != 1:
            raise invalid("DenseToSparseDataset only supports inputs with a single component.")
        collate = sparse_rows(row_shape.tolist(), dense.dtypes[0])
        return Batches(dense, at_least(1, "Batch size", size), False, collate, dtypes, shapes)

    return batches


@dataset_kernel(UNBATCH_DATASET)
def unbatch_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["output_types"], ctx["output_shapes"]
    return lambda source: Unbatched(dataset_of(source), dtypes, shapes)


def _flag(value: Any) -> bool:
    return value is not None and bool(scalar("drop_remainder", value))
