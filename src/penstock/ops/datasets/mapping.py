"""Datasets of a function's results for each element: MapDataset, ParallelMapDataset (ParallelMapDatasetV2)."""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from penstock.ops.datasets.base import (
    DatasetState,
    ElementIterator,
    IterationContext,
    State,
    dataset_of,
    restored_error,
    saved_error,
)
from penstock.ops.datasets.blocks import Block, Element, of_elements
from penstock.ops.datasets.calls import OTHERS, Call, MappedIterator, ends
from penstock.ops.datasets.calls_ahead import CallsAhead
from penstock.ops.datasets.define import dataset_kernel, define_dataset, scalar
from penstock.ops.datasets.pace import Pace
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

INPUTS = "input_dataset: variant, other_arguments: Targuments"
_INTER_OP = "use_inter_op_parallelism: bool = true"
CARDINALITY = "preserve_cardinality: bool = false"

MAP_DATASET = define_dataset(
    "MapDataset", INPUTS, ["f: func", *OTHERS, _INTER_OP, CARDINALITY, "force_synchronous: bool = false"], typed=False
)
PARALLEL_MAP_DATASET = define_dataset(
    "ParallelMapDataset",
    f"{INPUTS}, num_parallel_calls: int32",
    ["f: func", *OTHERS, _INTER_OP, "sloppy: bool = false", CARDINALITY],
    typed=False,
)
PARALLEL_MAP_DATASET_V2 = define_dataset(
    "ParallelMapDatasetV2",
    f"{INPUTS}, num_parallel_calls: int64",
    [
        "f: func", *OTHERS, _INTER_OP, "deterministic: string = 'default'", CARDINALITY,
        "use_unbounded_threadpool: bool = false",
    ],
    typed=False,
)  # fmt: skip
_TOGETHER = 2e-3
"""For how many seconds one result may wait for others that were requested with it."""


class Map(DatasetState):
    """`call` of each element, concurrently in `parallel` threads if that is more than one."""

    def __init__(
        self,
        source: DatasetState,
        call: Call,
        dtypes: Sequence[DType],
        shapes: Sequence[TensorShape],
        parallel: int = 1,
        may_end: bool = True,
    ) -> None:
        super().__init__(dtypes, shapes)
        call.check(source.dtypes, dtypes)
        self.source, self.call, self.parallel, self.may_end = source, call, parallel, may_end
        self.pace = Pace(parallel)

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        source = self.source.iterate(ctx)
        if self.parallel > 1 and self.call.of_many is None:
            return _ParallelMapIterator(source, self, ctx)
        return _MapIterator(source, self)


def _called(dataset: Map, element: Element) -> Element | None:
    """None if the function says that this is the end."""
    try:
        return dataset.call(*element)
    except Exception as error:
        if not ends(error):
            raise
        if dataset.may_end:
            return None
        raise invalid(f"Function invocation produced OutOfRangeError: {error}") from error


class _MapIterator(MappedIterator):
    def __init__(self, source: ElementIterator, dataset: Map) -> None:
        super().__init__(source)
        self._dataset = dataset

    def _one(self) -> Element | None:
        element = self._taken()
        return None if element is None else _called(self._dataset, element)

    def _many(self, count: int) -> Block | None:
        block = self._taken_many(count)
        if block is None:
            return None
        found = self._dataset.call.of_block(block)
        if found is not None:
            return found
        rows = block.rows()
        results: list[Element] = []
        for i, row in enumerate(rows):
            try:
                result = _called(self._dataset, row)
            except Exception as error:
                self._waiting = rows[i + 1 :] + self._waiting
                if not results:
                    raise
                self._held = error
                break
            if result is None:
                self._held = "end"
                break
            results.append(result)
        return of_elements(results) if results else None


class _ParallelMapIterator(MappedIterator):
    """Calls ahead: `parallel` at once, and the same number done or waiting, so that no thread has to wait for this one.

    Until their time is known, there is one call at a time, and none ahead while they are fast (see `Pace`).
    """

    def __init__(self, source: ElementIterator, dataset: Map, ctx: IterationContext) -> None:
        super().__init__(source)
        self._dataset = dataset
        self._ahead = CallsAhead(ctx, dataset.parallel)
        self._calls: deque[tuple[Element, Any]] = deque()
        self._failed: Exception | None = None  # of the input, after the calls
        self._ended = False
        self._wanted = 0  # elements that were asked for at once

    def _one(self) -> Element | None:
        dataset = self._dataset
        if not self._calls and self._continues and dataset.pace.quick:
            element = self._taken()
            return None if element is None else self._timed(element)
        self._fill()
        if not self._calls:
            error, self._failed = self._failed, None
            if error is not None:
                raise error
            return None
        found = self._ahead.wait(self._calls[0][1])
        self._calls.popleft()
        self._fill()
        return found.result()

    @property
    def _continues(self) -> bool:
        """Whether there may be more elements before the end, or an error, of the input."""
        return bool(self._waiting) or (self._failed is None and not self._ended)

    def _timed(self, element: Element) -> Element | None:
        self._ahead.check()
        begin = time.perf_counter()
        try:
            return _called(self._dataset, element)
        finally:
            self._dataset.pace.note(time.perf_counter() - begin)

    def _many(self, count: int) -> Block | None:
        """Those that are ready soon, but at least one: waiting for each separately would take longer."""
        results: list[Element] = []
        end = time.monotonic() + _TOGETHER
        while len(results) < count:
            self._wanted = count - len(results)
            self._fill()
            if self._calls and not self._soon(end) and results:
                break
            try:
                element = self._one()
            except Exception as error:
                if not results:
                    raise
                self._held = error
                break
            if element is None:
                self._held = "end"
                break
            results.append(element)
        return of_elements(results) if results else None

    def _soon(self, end: float) -> bool:
        """Whether the next result is there by this time. Waits for the last one that is wanted."""
        found = self._calls[0][1]
        for call in (self._calls[min(self._wanted, len(self._calls)) - 1][1], found):
            if not found.done and (left := end - time.monotonic()) > 0:
                self._ahead.wait(call, left)
        return found.done

    def _fill(self) -> None:
        pace = self._dataset.pace
        if pace.quick:
            return
        most, call = (2 * self._dataset.parallel + self._wanted, self._plain) if pace.known else (1, self._timed)
        self._ahead.most = pace.workers
        while len(self._calls) < most and self._continues:
            try:
                element = self._taken()
            except Exception as error:
                self._failed = error
                return
            if element is None:
                self._ended = True
                return
            self._calls.append((element, self._ahead.run(call, element)))

    def _plain(self, element: Element) -> Element | None:
        self._ahead.check()
        before, begin = self._ahead.working, time.perf_counter()
        try:
            return _called(self._dataset, element)
        finally:
            seconds = time.perf_counter() - begin
            if self._ahead.working == before:
                if before == 1:
                    self._dataset.pace.note(seconds)
                elif before == self._dataset.parallel:
                    self._dataset.pace.note_together(seconds)

    def close(self) -> None:
        self._ahead.close()
        super().close()

    def _save(self) -> State:
        under_way = [element for element, _ in self._calls]
        waiting = under_way + self._waiting
        failed = None if self._failed is None else saved_error(self._failed)
        return {**super()._save(), "waiting": of_elements(waiting) if waiting else None, "failed": failed}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._failed = None if state["failed"] is None else restored_error(state["failed"])
        self._ended = False


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(MAP_DATASET)
def map_dataset(ctx: KernelContext) -> Any:
    function, types, may_end = ctx.function("f"), (ctx["output_types"], ctx["output_shapes"]), _may_end(ctx)
    return lambda source, others: Map(dataset_of(source), Call(function, others), *types, 1, may_end)


@dataset_kernel(PARALLEL_MAP_DATASET, PARALLEL_MAP_DATASET_V2)
def parallel_map_dataset(ctx: KernelContext) -> Any:
    function, types, may_end = ctx.function("f"), (ctx["output_types"], ctx["output_shapes"]), _may_end(ctx)

    def state(source: Any, others: Any, parallel: Any) -> DatasetState:
        return Map(dataset_of(source), Call(function, others), *types, parallel_calls(parallel), may_end)

    return state


def _may_end(ctx: KernelContext) -> bool:
    return not ctx["preserve_cardinality"]


def parallel_calls(value: Any) -> int:
    """The number of concurrent calls that an input requests; -1: the number of processors."""
    number = scalar("num_parallel_calls", value)
    if number < 1 and number != -1:
        raise invalid("num_parallel_calls must be greater than zero.")
    return number if number > 0 else os.cpu_count() or 1
