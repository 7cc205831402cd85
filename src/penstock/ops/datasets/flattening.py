"""Datasets of the elements of datasets that a function makes from elements: FlatMapDataset, InterleaveDataset."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Block, Element
from penstock.ops.datasets.calls import OTHERS, Call, ends
from penstock.ops.datasets.define import at_least, dataset_kernel, define_dataset, scalar
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, variant
from penstock.tensor.shapes import TensorShape

INPUTS = "input_dataset: variant, other_arguments: Targuments"

FLAT_MAP_DATASET = define_dataset("FlatMapDataset", INPUTS, ["f: func", *OTHERS], typed=False)
INTERLEAVE_DATASET = define_dataset(
    "InterleaveDataset", f"{INPUTS}, cycle_length: int64, block_length: int64", ["f: func", *OTHERS], typed=False
)


class Interleave(DatasetState):
    """Interleaves `cycle` of the datasets that `call` makes from elements, with `block` elements from each in turn."""

    def __init__(
        self,
        source: DatasetState,
        call: Call,
        dtypes: Sequence[DType],
        shapes: Sequence[TensorShape],
        cycle: int,
        block: int,
    ) -> None:
        super().__init__(dtypes, shapes)
        call.check(source.dtypes, [variant])
        self.source, self.call, self.cycle, self.block = source, call, cycle, block

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return InterleaveIterator(self, ctx)


class InterleaveIterator(ElementIterator):
    """An inner dataset that has ended is replaced, at its next turn, by that of the next input element."""

    def __init__(self, dataset: Interleave, ctx: IterationContext) -> None:
        self._dataset, self._ctx = dataset, ctx
        self._input = dataset.source.iterate(ctx)
        self._open: list[tuple[Element, ElementIterator] | None] = [None] * dataset.cycle
        self._at = 0  # the slot whose turn it is
        self._given = 0  # elements of this turn
        self._ended = False

    def _one(self) -> Element | None:
        while (current := self._current()) is not None:
            element = current.next()
            if element is not None:
                self._advance(1)
                return element
            self._drop()
        return None

    def _many(self, count: int) -> Block | None:
        while (current := self._current()) is not None:
            left = count if self._dataset.cycle == 1 else min(count, self._dataset.block - self._given)
            block = current.next_many(left)
            if block is not None:
                self._advance(block.size)
                return block
            self._drop()
        return None

    def _current(self) -> ElementIterator | None:
        """The inner iterator whose turn it is, or the next one's; None at the end."""
        for _ in range(self._dataset.cycle):
            if self._open[self._at] is None and not self._ended:
                element = self._input.next()
                if element is None:
                    self._ended = True
                else:
                    inner = self._inner(element)
                    self._ended = inner is None
                    self._open[self._at] = None if inner is None else (element, inner)
            found = self._open[self._at]
            if found is not None:
                return found[1]
            self._next_place()
        return None

    def _inner(self, element: Element) -> ElementIterator | None:
        """None if the function ends the dataset."""
        try:
            (made,) = self._dataset.call(*element)
        except Exception as error:
            if ends(error):
                return None
            raise
        return self._iterate(dataset_of(made))

    def _iterate(self, dataset: DatasetState) -> ElementIterator:
        return dataset.iterate(self._ctx)

    def _drop(self) -> None:
        """The open inner dataset has ended."""
        found = self._open[self._at]
        assert found is not None
        found[1].close()
        self._open[self._at] = None
        if self._dataset.cycle > 1:
            self._next_place()

    def _advance(self, given: int) -> None:
        self._given += given
        if self._given >= self._dataset.block and self._dataset.cycle > 1:
            self._next_place()

    def _next_place(self) -> None:
        self._at = (self._at + 1) % self._dataset.cycle
        self._given = 0

    def close(self) -> None:
        for found in self._open:
            if found is not None:
                found[1].close()
        self._input.close()

    def _save(self) -> State:
        return {
            "input": self._input.save(),
            "open": [None if f is None else {"element": list(f[0]), "state": f[1].save()} for f in self._open],
            "at": self._at,
            "given": self._given,
            "ended": self._ended,
        }

    def _restore(self, state: State) -> None:
        self._input.restore(state["input"])
        self._at, self._given, self._ended = state["at"], state["given"], state["ended"]
        for place, saved in enumerate(state["open"]):
            if saved is not None:
                element = tuple(saved["element"])
                inner = self._inner(element)
                if inner is not None:
                    inner.restore(saved["state"])
                    self._open[place] = (element, inner)


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(FLAT_MAP_DATASET)
def flat_map_dataset(ctx: KernelContext) -> Any:
    function, types = ctx.function("f"), (ctx["output_types"], ctx["output_shapes"])
    return lambda source, others: Interleave(dataset_of(source), Call(function, others), *types, 1, 1)


@dataset_kernel(INTERLEAVE_DATASET)
def interleave_dataset(ctx: KernelContext) -> Any:
    function, types = ctx.function("f"), (ctx["output_types"], ctx["output_shapes"])

    def state(source: Any, others: Any, cycle: Any, block: Any) -> DatasetState:
        return Interleave(dataset_of(source), Call(function, others), *types, *lengths(cycle, block))

    return state


def lengths(cycle: Any, block: Any) -> tuple[int, int]:
    """How many datasets are read in turn (-1: as many as there are processors), and how many elements of each."""
    many = scalar("cycle_length", cycle)
    return (
        os.cpu_count() or 1 if many == -1 else at_least(1, "cycle_length", cycle, "`cycle_length` must be > 0"),
        at_least(1, "block_length", block, "`block_length` must be > 0"),
    )
