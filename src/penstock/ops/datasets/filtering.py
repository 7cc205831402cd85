"""Datasets of elements selected by a function, or scanned with a state: FilterDataset, TakeWhileDataset,
ScanDataset."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Block, Element
from penstock.ops.datasets.calls import OTHERS, Call, MappedIterator, ends
from penstock.ops.datasets.define import dataset_kernel, define_dataset
from penstock.ops.datasets.mapping import CARDINALITY, INPUTS
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, bool as boolean

FILTER_DATASET = define_dataset("FilterDataset", INPUTS, ["predicate: func", *OTHERS], typed=False)
TAKE_WHILE_DATASET = define_dataset("TakeWhileDataset", INPUTS, ["predicate: func", *OTHERS], typed=False)
SCAN_DATASET = define_dataset(
    "ScanDataset",
    "input_dataset: variant, initial_state: Tstate, other_arguments: Targuments",
    ["f: func", "Tstate: list(type) >= 1", *OTHERS, CARDINALITY, "use_default_device: bool = true"],
    typed=False,
)


class Filter(DatasetState):
    """The elements for which `call` returns True."""

    def __init__(self, source: DatasetState, call: Call, only_first: bool) -> None:
        super().__init__(source.dtypes, source.shapes)
        call.check(source.dtypes, [boolean])
        self.source, self.call, self.only_first = source, call, only_first

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _FilterIterator(self.source.iterate(ctx), self)


class _FilterIterator(MappedIterator):
    """only_first: those before the first for which it returns False."""

    def __init__(self, source: ElementIterator, dataset: Filter) -> None:
        super().__init__(source)
        self._dataset = dataset

    def _one(self) -> Element | None:
        while (element := self._taken()) is not None:
            keep = self._keeps(element)
            if keep is None:
                return None
            if keep:
                return element
            if self._dataset.only_first:
                self._held = "end"
                return None
        return None

    def _many(self, count: int) -> Block | None:
        if self._dataset.only_first:
            return super()._many(count)
        while (block := self._taken_many(count)) is not None:
            found = self._dataset.call.of_block(block)
            if found is None:
                self._waiting = block.rows() + self._waiting
                return super()._many(count)
            keeps = found.columns[0]
            assert isinstance(keeps, torch.Tensor)
            indices = keeps.nonzero().reshape(-1).numpy()
            if len(indices):
                return block if len(indices) == block.size else block.take(indices)
        return None

    def _keeps(self, element: Element) -> bool | None:
        try:
            (keep, *_) = self._dataset.call(*element)
        except Exception as error:
            if ends(error):
                return None
            raise
        if keep.numel() != 1:
            raise invalid("Filter predicate `f` must return a scalar bool.")
        return bool(keep)


class Scan(DatasetState):
    """`call` of a state and each element returns the next state and an element."""

    def __init__(
        self, source: DatasetState, start: Sequence[Any], call: Call, dtypes: Sequence[DType], shapes: Sequence[Any]
    ) -> None:
        super().__init__(dtypes, shapes)
        self.source, self.start, self.call = source, tuple(start), call

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _ScanIterator(self.source.iterate(ctx), self)


class _ScanIterator(MappedIterator):
    def __init__(self, source: ElementIterator, dataset: Scan) -> None:
        super().__init__(source)
        self._dataset = dataset
        self._state = dataset.start

    def _one(self) -> Element | None:
        element = self._taken()
        if element is None:
            return None
        try:
            found = self._dataset.call(*self._state, *element)
        except Exception as error:
            if ends(error):
                return None
            raise
        size = len(self._state)
        self._state = tuple(found[:size])
        return tuple(found[size:])

    def _save(self) -> State:
        return {**super()._save(), "state": list(self._state)}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._state = tuple(state["state"])


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(FILTER_DATASET, TAKE_WHILE_DATASET)
def filter_dataset(ctx: KernelContext) -> Any:
    predicate, first = ctx.function("predicate"), ctx.node.op is TAKE_WHILE_DATASET
    return lambda source, others: Filter(dataset_of(source), Call(predicate, others), first)


@dataset_kernel(SCAN_DATASET)
def scan_dataset(ctx: KernelContext) -> Any:
    function, types = ctx.function("f"), (ctx["output_types"], ctx["output_shapes"])
    return lambda source, start, others: Scan(dataset_of(source), start, Call(function, others), *types)
