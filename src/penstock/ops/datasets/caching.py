"""Elements that are computed once: CacheDataset (CacheDatasetV2), in memory or in a file.

Its file is a TFRecord file of blocks (`saved_state.py`), which is renamed when it is complete.
"""

from __future__ import annotations

import os
from typing import Any

from penstock import errors, gfile, logging
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Block, joined
from penstock.ops.datasets.define import dataset_kernel, define_dataset, define_dummy, scalar
from penstock.ops.datasets.saved_state import from_bytes, to_bytes
from penstock.records import Position, TFRecords
from penstock.records.writer import TFRecordWriter
from penstock.runtime.kernels import KernelContext

_INPUTS = "input_dataset: variant, filename: string"
CACHE_DATASET = define_dataset("CacheDataset", _INPUTS)
CACHE_DATASET_V2 = define_dataset("CacheDatasetV2", f"{_INPUTS}, cache: resource", stateful=True)
DUMMY_MEMORY_CACHE = define_dummy("DummyMemoryCache")

_TRUNCATED = (
    "The calling iterator did not fully read the dataset being cached. In order to avoid unexpected truncation of the "
    "dataset, the partially cached contents of the dataset will be discarded. This can happen if you have an input "
    "pipeline similar to `dataset.cache().take(k).repeat()`. You should use `dataset.take(k).cache().repeat()` instead."
)


class CachedInMemory(DatasetState):
    """The elements of `source`, cached by the first iterator that reaches the end."""

    def __init__(self, source: DatasetState) -> None:
        super().__init__(source.dtypes, source.shapes)
        self.source = source
        self.elements: Block | None = None

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _MemoryIterator(self, ctx)


class _MemoryIterator(ElementIterator):
    def __init__(self, dataset: CachedInMemory, ctx: IterationContext) -> None:
        self._dataset, self._ctx = dataset, ctx
        self._at = 0
        self._found: list[Block] = []
        self._input = dataset.source.iterate(ctx) if dataset.elements is None else None

    def _many(self, count: int) -> Block | None:
        if self._input is None:
            elements, begin = self._dataset.elements, self._at
            if elements is None or begin == elements.size:
                return None
            self._at = end = min(begin + count, elements.size)
            return elements.part(begin, end)
        block = self._input.next_many(count)
        if block is not None:
            self._found.append(block)
            return block
        self._dataset.elements = joined(self._found).stacked() if self._found else Block(0, ())
        self._found = []
        self.close()
        return None

    def close(self) -> None:
        if self._input is not None:
            if self._found:
                logging.warning(_TRUNCATED)
            self._input.close()
            self._input, self._at = None, 0
            self._held = "end"

    def _save(self) -> State:
        if self._input is None:
            return {"elements": self._dataset.elements, "at": self._at}
        return {"found": self._found, "input": self._input.save()}

    def _restore(self, state: State) -> None:
        if "elements" in state:
            self._dataset.elements, self._at, self._input = state["elements"], state["at"], None
        else:
            self._found = state["found"]
            self._input = self._dataset.source.iterate(self._ctx)
            self._input.restore(state["input"])


class CachedInFile(DatasetState):
    """The elements of `source`, or of a file written by an earlier iterator."""

    def __init__(self, source: DatasetState, name: str) -> None:
        super().__init__(source.dtypes, source.shapes)
        self.source, self.name = source, name

    @property
    def whole(self) -> str:
        return f"{self.name}.data"

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _FileIterator(self, ctx)


class _FileIterator(ElementIterator):
    """Reads or writes. If it is restored while writing, it continues without writing: the file would lack earlier
    elements."""

    def __init__(self, dataset: CachedInFile, ctx: IterationContext) -> None:
        self._dataset, self._ctx = dataset, ctx
        reads = gfile.Exists(dataset.whole)
        self._inner: ElementIterator = _FileReader(dataset) if reads else _FileWriter(dataset, ctx)

    def _many(self, count: int) -> Block | None:
        return self._inner.next_many(count)

    def close(self) -> None:
        self._inner.close()

    def _save(self) -> State:
        inner = self._inner
        source = inner.source if isinstance(inner, _FileWriter) else inner
        return {"reads": isinstance(inner, _FileReader), "inner": source.save()}

    def _restore(self, state: State) -> None:
        self._inner.close()
        self._inner = _FileReader(self._dataset) if state["reads"] else self._dataset.source.iterate(self._ctx)
        self._inner.restore(state["inner"])


class _FileReader(ElementIterator):
    def __init__(self, dataset: CachedInFile) -> None:
        self._file = TFRecords(dataset.whole)
        self._block: Block | None = None

    def _many(self, count: int) -> Block | None:
        block = self._block
        if block is None:
            records = self._file.read(1)
            if not records:
                return None
            block = from_bytes(records[0])
        self._block = block.part(count, block.size) if block.size > count else None
        return block.part(0, min(count, block.size))

    def close(self) -> None:
        self._file.close()

    def _save(self) -> State:
        return {"block": self._block, "position": list(self._file.position)}

    def _restore(self, state: State) -> None:
        self._block = state["block"]
        self._file.seek(Position(*state["position"]))


class _FileWriter(ElementIterator):
    """Writes the elements that it returns, under a temporary name until all are written. A lock excludes other
    writers."""

    def __init__(self, dataset: CachedInFile, ctx: IterationContext) -> None:
        self._dataset = dataset
        self._lock = f"{dataset.name}_0.lockfile"
        self._part = f"{dataset.name}.part"
        self.source = dataset.source.iterate(ctx)
        self._file: TFRecordWriter | None = None
        self._begun = self._finished = False

    def _many(self, count: int) -> Block | None:
        if not self._begun:
            _take_lock(self._lock)
            self._begun = True
            self._file = TFRecordWriter(self._part)
        block = self.source.next_many(count)
        assert self._file is not None
        if block is not None:
            self._file.write(to_bytes(block))
            return block
        self._file.close()
        gfile.Rename(self._part, self._dataset.whole, overwrite=True)
        gfile.Remove(self._lock)
        self._finished = True
        return None

    def close(self) -> None:
        if self._begun and not self._finished:
            logging.warning(_TRUNCATED)
            assert self._file is not None
            self._file.close()
            for name in (self._part, self._lock):
                gfile.Remove(name)
            self._finished = True
            self._held = "end"
        self.source.close()


def _take_lock(name: str) -> None:
    """Raises AlreadyExistsError if another process has it."""
    try:
        if "://" in name:
            if gfile.Exists(name):
                raise FileExistsError
            gfile.GFile(name, "w").close()
        else:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except FileExistsError:
        raise errors.AlreadyExistsError(
            None,
            None,
            f"There appears to be a concurrent caching iterator running - cache lockfile already exists ('{name}'). If "
            "you are sure no other running TF computations are using this cache prefix, delete the lockfile and "
            "re-initialize the iterator.",
        ) from None


@dataset_kernel(CACHE_DATASET, CACHE_DATASET_V2)
def cache_dataset(ctx: KernelContext) -> Any:
    def cached(source: Any, filename: Any, *_: Any) -> DatasetState:
        name = scalar("filename", filename).decode("utf-8", "surrogateescape")
        dataset = dataset_of(source)
        return CachedInFile(dataset, name) if name else CachedInMemory(dataset)

    return cached
