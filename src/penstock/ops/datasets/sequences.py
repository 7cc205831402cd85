"""Datasets that rearrange the elements of others: repeat, take, skip, shard, concatenate, zip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import errors
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Block
from penstock.ops.datasets.define import TYPES, at_least, dataset_kernel, define_dataset, scalar
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext

REPEAT_DATASET = define_dataset("RepeatDataset", "input_dataset: variant, count: int64")
TAKE_DATASET = define_dataset("TakeDataset", "input_dataset: variant, count: int64")
SKIP_DATASET = define_dataset("SkipDataset", "input_dataset: variant, count: int64")
SHARD_DATASET = define_dataset(
    "ShardDataset",
    "input_dataset: variant, num_shards: int64, index: int64",
    ["require_non_empty: bool = false", *TYPES],
)
CONCATENATE_DATASET = define_dataset("ConcatenateDataset", "input_dataset: variant, another_dataset: variant")
ZIP_DATASET = define_dataset("ZipDataset", "input_datasets: N * variant", ["N: int >= 1"])

_SKIPPED_AT_ONCE = 1024


class _Derived(DatasetState):
    """A dataset of another one's elements, with the same types and shapes unless others are given."""

    def __init__(self, source: DatasetState) -> None:
        super().__init__(source.dtypes, source.shapes)
        self.source = source


class Repeat(_Derived):
    """`source` repeated `count` times, or forever if that is negative."""

    def __init__(self, source: DatasetState, count: int) -> None:
        super().__init__(source)
        self.count = count

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _RepeatIterator(self, ctx)


class _RepeatIterator(ElementIterator):
    def __init__(self, dataset: Repeat, ctx: IterationContext) -> None:
        self._dataset, self._ctx = dataset, ctx
        self._round = 0
        self._gave = False  # in this round
        self._input: ElementIterator | None = None
        self._current()

    def _many(self, count: int) -> Block | None:
        while (source := self._current()) is not None:
            block = source.next_many(count)
            if block is not None:
                self._gave = True
                return block
            self._end_round()
        return None

    def _one(self) -> tuple[Any, ...] | None:
        while (source := self._current()) is not None:
            element = source.next()
            if element is not None:
                self._gave = True
                return element
            self._end_round()
        return None

    def _current(self) -> ElementIterator | None:
        if self._input is None and self._round != self._dataset.count:
            self._input = self._dataset.source.iterate(self._ctx)
        return self._input

    def _end_round(self) -> None:
        assert self._input is not None
        self._input.close()
        self._input = None
        # A dataset that is empty once is assumed to stay so: repeating it forever would never return anything.
        self._round = self._round + 1 if self._gave or self._dataset.count >= 0 else self._dataset.count
        self._gave = False

    def close(self) -> None:
        if self._input is not None:
            self._input.close()

    def _save(self) -> State:
        return {"round": self._round, "gave": self._gave, "input": self._input and self._input.save()}

    def _restore(self, state: State) -> None:
        self._round, self._gave = state["round"], state["gave"]
        if state["input"] is not None:
            self._input = self._dataset.source.iterate(self._ctx)
            self._input.restore(state["input"])


class _OneInput(ElementIterator):
    """An iterator over another one, with a number for its progress."""

    def __init__(self, source: ElementIterator) -> None:
        self._input = source
        self._at = 0

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        return {"at": self._at, "input": self._input.save()}

    def _restore(self, state: State) -> None:
        self._at = state["at"]
        self._input.restore(state["input"])


class Take(_Derived):
    """The first `count` elements; all if that is negative."""

    def __init__(self, source: DatasetState, count: int) -> None:
        super().__init__(source)
        self.count = count

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        source = self.source.iterate(ctx)
        return source if self.count < 0 else _TakeIterator(source, self.count)


class _TakeIterator(_OneInput):
    def __init__(self, source: ElementIterator, count: int) -> None:
        super().__init__(source)
        self._count = count

    def _many(self, count: int) -> Block | None:
        left = self._count - self._at
        block = self._input.next_many(min(count, left)) if left else None
        if block is not None:
            self._at += block.size
        return block

    def _one(self) -> tuple[Any, ...] | None:
        element = self._input.next() if self._at < self._count else None
        if element is not None:
            self._at += 1
        return element


class Skip(_Derived):
    """All except the first `count` elements; none if that is negative."""

    def __init__(self, source: DatasetState, count: int) -> None:
        super().__init__(source)
        self.count = count

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _SkipIterator(self.source.iterate(ctx), self.count)


class _SkipIterator(_OneInput):
    def __init__(self, source: ElementIterator, count: int) -> None:
        super().__init__(source)
        self._count = count

    def _many(self, count: int) -> Block | None:
        return self._input.next_many(count) if self._skip() else None

    def _one(self) -> tuple[Any, ...] | None:
        return self._input.next() if self._skip() else None

    def _skip(self) -> bool:
        """Whether anything is left after skipping."""
        if self._count < 0:
            return False
        while self._at < self._count:
            block = self._input.next_many(min(self._count - self._at, _SKIPPED_AT_ONCE))
            if block is None:
                return False
            self._at += block.size
        return True


class Shard(_Derived):
    """Each `shards`th element, from number `index`."""

    def __init__(self, source: DatasetState, shards: int, index: int, needed: bool) -> None:
        super().__init__(source)
        self.shards, self.index, self.needed = shards, index, needed

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _ShardIterator(self.source.iterate(ctx), self)


class _ShardIterator(_OneInput):
    def __init__(self, source: ElementIterator, dataset: Shard) -> None:
        super().__init__(source)
        self._dataset = dataset

    def _many(self, count: int) -> Block | None:
        shards, index = self._dataset.shards, self._dataset.index
        while True:
            first = (index - self._at) % shards
            block = self._input.next_many(min(first + (count - 1) * shards + 1, max(_SKIPPED_AT_ONCE, count)))
            if block is None:
                if self._dataset.needed and self._at <= index:
                    raise invalid(
                        "There aren't enough elements in this dataset for each shard to have at least one element "
                        f"(# elems = {self._at}, # shards = {shards}). If you are using datasets with distribution "
                        "strategy, considering setting the auto sharding policy to either DATA or OFF."
                    )
                return None
            self._at += block.size
            if first < block.size:
                return block.take(np.arange(first, block.size, shards))


class Concatenate(DatasetState):
    """The elements of `parts`, one dataset after the other."""

    def __init__(self, parts: Sequence[DatasetState]) -> None:
        first = parts[0]
        super().__init__(first.dtypes, first.shapes)
        self.parts = parts

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _ConcatenateIterator(self.parts, ctx)


class _ConcatenateIterator(ElementIterator):
    def __init__(self, parts: Sequence[DatasetState], ctx: IterationContext) -> None:
        self._parts, self._ctx = parts, ctx
        self._part = 0
        self._input = parts[0].iterate(ctx)

    def _many(self, count: int) -> Block | None:
        while (block := self._input.next_many(count)) is None:
            if not self._go_on():
                return None
        return block

    def _one(self) -> tuple[Any, ...] | None:
        while (element := self._input.next()) is None:
            if not self._go_on():
                return None
        return element

    def _go_on(self) -> bool:
        if self._part + 1 == len(self._parts):
            return False
        self._input.close()
        self._part += 1
        self._input = self._parts[self._part].iterate(self._ctx)
        return True

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        return {"part": self._part, "input": self._input.save()}

    def _restore(self, state: State) -> None:
        self._part = state["part"]
        self._input = self._parts[self._part].iterate(self._ctx)
        self._input.restore(state["input"])


class Zip(DatasetState):
    """Elements with the components of one element from each of `parts`, until one ends.

    An element is erroneous if any of these is; the others are dropped with it, so that later elements stay aligned.
    """

    def __init__(self, parts: Sequence[DatasetState]) -> None:
        super().__init__(
            [dtype for part in parts for dtype in part.dtypes], [shape for part in parts for shape in part.shapes]
        )
        self.parts = parts

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _ZipIterator([part.iterate(ctx) for part in self.parts])


class _ZipIterator(ElementIterator):
    def __init__(self, inputs: Sequence[ElementIterator]) -> None:
        self._inputs = inputs
        self._waiting: list[Block | None] = [None] * len(inputs)  # requested, and not returned yet

    def _many(self, count: int) -> Block | None:
        raised, ended = None, False
        for i, source in enumerate(self._inputs):
            if self._waiting[i] is None:
                try:
                    self._waiting[i] = source.next_many(count)
                    ended |= self._waiting[i] is None
                except errors.OpError as error:
                    raised = raised or error
            waiting = self._waiting[i]
            count = 1 if waiting is None else min(count, waiting.size)
        if ended:
            return None
        found = [block.part(0, count) for block in self._waiting if block is not None]
        self._waiting = [
            block.part(count, block.size) if block is not None and block.size > count else None
            for block in self._waiting
        ]
        if raised is not None:
            raise raised
        return Block(count, (column for block in found for column in block.columns))

    def close(self) -> None:
        for source in self._inputs:
            source.close()

    def _save(self) -> State:
        return {"waiting": self._waiting, "inputs": [source.save() for source in self._inputs]}

    def _restore(self, state: State) -> None:
        self._waiting = state["waiting"]
        for source, saved in zip(self._inputs, state["inputs"], strict=True):
            source.restore(saved)


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(REPEAT_DATASET)
def repeat_dataset(ctx: KernelContext) -> Any:
    return lambda source, count: Repeat(dataset_of(source), scalar("count", count))


@dataset_kernel(TAKE_DATASET)
def take_dataset(ctx: KernelContext) -> Any:
    return lambda source, count: Take(dataset_of(source), scalar("count", count))


@dataset_kernel(SKIP_DATASET)
def skip_dataset(ctx: KernelContext) -> Any:
    return lambda source, count: Skip(dataset_of(source), scalar("count", count))


@dataset_kernel(SHARD_DATASET)
def shard_dataset(ctx: KernelContext) -> Any:
    needed = ctx["require_non_empty"]

    def shard(source: Any, shards: Any, index: Any) -> DatasetState:
        text = f"Number of shards must be greater than zero (currently num_shards = {scalar('num_shards', shards)})."
        count, number = at_least(1, "num_shards", shards, text), scalar("index", index)
        if not 0 <= number < count:
            raise invalid(
                f"Index must be between 0 and {count - 1} (currently index = {number}, num_shards = {count})."
            )
        return Shard(dataset_of(source), count, number, needed)

    return shard


@dataset_kernel(CONCATENATE_DATASET)
def concatenate_dataset(ctx: KernelContext) -> Any:
    def concatenate(*sources: Any) -> DatasetState:
        first, second = map(dataset_of, sources)
        if first.dtypes != second.dtypes:
            raise invalid(
                "Input dataset and dataset to concatenate have different output_types "
                f"{', '.join(d.name for d in first.dtypes)} and {', '.join(d.name for d in second.dtypes)}"
            )
        return Concatenate([first, second])

    return concatenate


@dataset_kernel(ZIP_DATASET)
def zip_dataset(ctx: KernelContext) -> Any:
    return lambda sources: Zip([dataset_of(source) for source in sources])
