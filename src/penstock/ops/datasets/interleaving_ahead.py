"""Interleaved datasets that are read ahead, each in its own thread: ParallelInterleaveDataset(V2)."""

from __future__ import annotations

from collections import deque
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
from penstock.ops.datasets.blocks import Element
from penstock.ops.datasets.calls import OTHERS, Call
from penstock.ops.datasets.calls_ahead import CallsAhead
from penstock.ops.datasets.define import at_least, dataset_kernel, define_dataset, scalar
from penstock.ops.datasets.flattening import INPUTS, Interleave, InterleaveIterator, lengths
from penstock.ops.datasets.mapping import parallel_calls
from penstock.runtime.kernels import KernelContext

_LENGTHS = "cycle_length: int64, block_length: int64"
PARALLEL_INTERLEAVE_DATASET = define_dataset(
    "ParallelInterleaveDataset",
    f"{INPUTS}, {_LENGTHS}, sloppy: bool, buffer_output_elements: int64, prefetch_input_elements: int64",
    ["f: func", *OTHERS],
    typed=False,
)
PARALLEL_INTERLEAVE_DATASET_V2 = define_dataset(
    "ParallelInterleaveDatasetV2",
    f"{INPUTS}, {_LENGTHS}, num_parallel_calls: int64",
    ["f: func", *OTHERS, "sloppy: bool = false"],
    typed=False,
)

_AHEAD = 16
"""The default number of elements that are read ahead from an inner dataset."""
_MOST_SECONDS = 5.0
"""Seconds to wait for a thread that is still reading when an iterator is closed."""


class InterleaveAhead(Interleave):
    """Like `Interleave`, in the same order; sloppy: instead of waiting for a turn, available elements come first.

    buffer: elements of each inner dataset that are read ahead.
    """

    def __init__(self, *args: Any, sloppy: bool, buffer: int) -> None:
        super().__init__(*args)
        self.sloppy, self.buffer = sloppy, buffer

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _InterleaveAheadIterator(self, ctx)


class _InterleaveAheadIterator(InterleaveIterator):
    _dataset: InterleaveAhead

    def __init__(self, dataset: InterleaveAhead, ctx: IterationContext) -> None:
        super().__init__(dataset, ctx)
        self._ahead = CallsAhead(ctx)
        self._held_back: Exception | None = None

    def _current(self) -> ElementIterator | None:
        """All slots are filled before the first is read, so that they work concurrently."""
        here = self._at
        found = None
        for step in range(self._dataset.cycle):
            self._at = (here + step) % self._dataset.cycle
            if self._held_back is None and self._open[self._at] is None and not self._ended:
                try:
                    self._fill()
                except Exception as error:
                    self._held_back = error  # of a later slot: its turn will come
                    break
        self._at = here
        if self._open[here] is None and self._held_back is not None:
            held_back, self._held_back = self._held_back, None
            raise held_back
        found = super()._current()
        return self._ready(found) if self._dataset.sloppy and found is not None else found

    def _fill(self) -> None:
        element = self._input.next()
        inner = None if element is None else self._inner(element)
        if element is None or inner is None:
            self._ended = True
        elif isinstance(inner, _Reader):
            self._open[self._at] = (element, inner)
            inner.read()

    def _iterate(self, dataset: DatasetState) -> ElementIterator:
        return _Reader(dataset.iterate(self._ctx), self._ahead, self._dataset.buffer, self._ctx)

    def _ready(self, current: ElementIterator) -> ElementIterator:
        """The first slot, starting from the current one, that is ready; it becomes the current one."""
        places = range(self._dataset.cycle)

        def first() -> int | None:
            for step in places:
                place = (self._at + step) % self._dataset.cycle
                found = self._open[place]
                if found is not None and isinstance(found[1], _Reader) and found[1].ready:
                    return place
            return None

        place = first()
        if place is None:
            for found in self._open:
                if found is not None and isinstance(found[1], _Reader):
                    found[1].read()
            with self._ahead.changed:
                self._ctx.wait(self._ahead.changed, lambda: first() is not None)
            place = first()
        if place != self._at and place is not None:
            self._at, self._given = place, 0
        found = self._open[self._at]
        assert found is not None
        return found[1]

    def close(self) -> None:
        self._ahead.close()
        super().close()

    def _save(self) -> State:
        held_back = None if self._held_back is None else saved_error(self._held_back)
        return {**super()._save(), "held_back": held_back}

    def _restore(self, state: State) -> None:
        super()._restore(state)
        self._held_back = None if state["held_back"] is None else restored_error(state["held_back"])


class _Reader(ElementIterator):
    """An iterator that is read ahead, in a thread that is borrowed until there are enough elements."""

    def __init__(self, source: ElementIterator, ahead: CallsAhead, buffer: int, ctx: IterationContext) -> None:
        self._source, self._ahead, self._buffer, self._ctx = source, ahead, max(1, buffer), ctx
        self._found: deque[Element | Exception | None] = deque()
        self._reading = False
        self._done = False
        self._stop = False

    @property
    def ready(self) -> bool:
        return bool(self._found) or self._held is not None

    def read(self) -> None:
        """Read more, if there are not enough elements."""
        with self._ahead.changed:
            if self._reading or self._done or self._stop or len(self._found) > self._buffer // 2:
                return
            self._reading = True
        self._ahead.run(self._read_some)

    def _read_some(self) -> None:
        while True:
            with self._ahead.changed:
                if self._done or self._stopped() or len(self._found) >= self._buffer:
                    self._reading = False  # from here on another thread may read
                    self._ahead.changed.notify_all()
                    return
            found: Element | Exception | None
            try:
                found = self._source.next()
            except Exception as error:
                found = error
            with self._ahead.changed:
                self._found.append(found)
                self._done = found is None
                self._ahead.changed.notify_all()

    def _stopped(self) -> bool:
        return self._stop or self._ahead.closed or self._ctx.closed

    def _one(self) -> Element | None:
        if not self._found:
            self.read()
            with self._ahead.changed:
                self._ctx.wait(self._ahead.changed, lambda: bool(self._found))
        found = self._found.popleft()
        self.read()
        if isinstance(found, Exception):
            raise found
        return found

    def close(self) -> None:
        with self._ahead.changed:
            self._stop = True
            self._ahead.changed.wait_for(lambda: not self._reading, timeout=_MOST_SECONDS)
            if self._reading:
                return  # in something that cannot be interrupted; its resources are released with it
        self._source.close()

    def _pause(self) -> None:
        """Wait until no thread reads."""
        with self._ahead.changed:
            while self._reading:
                self._ahead.changed.wait()

    def _save(self) -> State:
        self._pause()
        items: list[Any] = []
        for found in self._found:
            if isinstance(found, Exception):
                items.append({"error": saved_error(found)})
            else:
                items.append(None if found is None else {"element": list(found)})
        return {"found": items, "done": self._done, "source": self._source.save()}

    def _restore(self, state: State) -> None:
        self._pause()
        self._found.clear()
        for item in state["found"]:
            if item is None:
                self._found.append(None)
            elif "error" in item:
                self._found.append(restored_error(item["error"]))
            else:
                self._found.append(tuple(item["element"]))
        self._done = state["done"]
        self._source.restore(state["source"])


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(PARALLEL_INTERLEAVE_DATASET)
def parallel_interleave_dataset(ctx: KernelContext) -> Any:
    function, types = ctx.function("f"), (ctx["output_types"], ctx["output_shapes"])

    def state(source: Any, others: Any, cycle: Any, block: Any, sloppy: Any, buffer: Any, prefetch: Any) -> Any:
        at_least(0, "prefetch_input_elements", prefetch)
        return InterleaveAhead(
            dataset_of(source),
            Call(function, others),
            *types,
            *lengths(cycle, block),
            sloppy=scalar("sloppy", sloppy),
            buffer=at_least(1, "buffer_output_elements", buffer, "`buffer_output_elements` must be > 0"),
        )

    return state


@dataset_kernel(PARALLEL_INTERLEAVE_DATASET_V2)
def parallel_interleave_dataset_v2(ctx: KernelContext) -> Any:
    function, types, sloppy = ctx.function("f"), (ctx["output_types"], ctx["output_shapes"]), ctx["sloppy"]

    def state(source: Any, others: Any, cycle: Any, block: Any, parallel: Any) -> DatasetState:
        parallel_calls(parallel)
        return InterleaveAhead(
            dataset_of(source), Call(function, others), *types, *lengths(cycle, block), sloppy=sloppy, buffer=_AHEAD
        )

    return state
