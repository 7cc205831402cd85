"""Datasets of windows, each a dataset for every component of the elements in it: WindowDataset; and of elements that
have not come before: UniqueDataset."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import errors
from penstock.ops.datasets.base import (
    DatasetState,
    ElementIterator,
    IterationContext,
    State,
    dataset_of,
    dataset_value,
    restored_error,
    saved_error,
)
from penstock.ops.datasets.blocks import Block, Element, of_elements
from penstock.ops.datasets.define import at_least, dataset_kernel, define_dataset, scalar
from penstock.ops.datasets.sources import Slices
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32, int64, string

WINDOW_DATASET = define_dataset(
    "WindowDataset",
    "input_dataset: variant, size: int64, shift: int64, stride: int64, drop_remainder: bool",
)
UNIQUE_DATASET = define_dataset("UniqueDataset", "input_dataset: variant")


class Windows(DatasetState):
    """Windows of `size` elements that are `stride` apart; the next one begins `shift` elements after.

    At the end windows are smaller, unless `drop_remainder`.
    """

    def __init__(
        self, source: DatasetState, size: int, shift: int, stride: int, drop_remainder: bool, dtypes: Any, shapes: Any
    ) -> None:
        super().__init__(dtypes, shapes)
        self.source, self.size, self.shift, self.stride = source, size, shift, stride
        self.drop_remainder = drop_remainder

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _WindowIterator(self, ctx)

    def element(self, rows: Block) -> Element:
        """What a window of these rows is."""
        parts = zip(self.source.dtypes, self.source.shapes, rows.columns, strict=True)
        return tuple(dataset_value(Slices([d], [s], Block(rows.size, [column]))) for d, s, column in parts)


class _WindowIterator(ElementIterator):
    """An error among the elements of a window takes its place, as in TensorFlow."""

    def __init__(self, dataset: Windows, ctx: IterationContext) -> None:
        self._dataset = dataset
        self._input = dataset.source.iterate(ctx)
        self._buffer: list[Element | errors.OpError] = []
        self._ended = False

    def _one(self) -> Element | None:
        ours = self._dataset
        span = (ours.size - 1) * ours.stride + 1
        while not self._ended and len(self._buffer) < span:
            element = self._taken()
            if element is not None:
                self._buffer.append(element)
        if not self._buffer or (ours.drop_remainder and len(self._buffer) < span):
            return None
        window = self._buffer[: span : ours.stride]
        self._move(ours.shift)
        elements: list[Element] = []
        for element in window:
            if isinstance(element, errors.OpError):
                raise element
            elements.append(element)
        return ours.element(of_elements(elements))

    def _taken(self) -> Element | errors.OpError | None:
        try:
            element: Element | errors.OpError | None = self._input.next()
        except errors.CancelledError:
            raise
        except errors.OpError as error:
            element = error
        self._ended = element is None
        return element

    def _move(self, shift: int) -> None:
        for _ in range(shift - len(self._buffer)):
            if self._ended:
                break
            self._taken()
        del self._buffer[:shift]

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        buffer = [{"error": saved_error(e)} if isinstance(e, errors.OpError) else list(e) for e in self._buffer]
        return {"input": self._input.save(), "buffer": buffer, "ended": self._ended}

    def _restore(self, state: State) -> None:
        self._input.restore(state["input"])
        self._buffer = [restored_error(e["error"]) if isinstance(e, dict) else tuple(e) for e in state["buffer"]]
        self._ended = state["ended"]


class Unique(DatasetState):
    """The elements, scalars or tensors, that have not come before."""

    def __init__(self, source: DatasetState) -> None:
        super().__init__(source.dtypes, source.shapes)
        self.source = source

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _UniqueIterator(self.source.iterate(ctx))


class _UniqueIterator(ElementIterator):
    def __init__(self, source: ElementIterator) -> None:
        self._input = source
        self._seen: dict[bytes, Element] = {}

    def _one(self) -> Element | None:
        while (element := self._input.next()) is not None:
            key = _identity(element[0])
            if key not in self._seen:
                self._seen[key] = element
                return element
        return None

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        return {"input": self._input.save(), "seen": [list(element) for element in self._seen.values()]}

    def _restore(self, state: State) -> None:
        self._input.restore(state["input"])
        self._seen = {_identity(element[0]): tuple(element) for element in state["seen"]}


def _identity(value: Any) -> bytes:
    """What two values have in common if they are equal: the same shape and the same numbers or strings."""
    if isinstance(value, np.ndarray):
        return repr((value.shape, value.tolist())).encode()
    return repr(tuple(value.shape)).encode() + value.numpy().tobytes()


def lengths(size: Any, shift: Any, stride: Any) -> tuple[int, int, int]:
    """The arguments of windows; raises InvalidArgumentError for those below 1."""
    return (at_least(1, "Window size", size), at_least(1, "Window shift", shift), at_least(1, "Window stride", stride))


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(WINDOW_DATASET)
def window_dataset(ctx: KernelContext) -> Any:
    dtypes, shapes = ctx["output_types"], ctx["output_shapes"]

    def windows(source: Any, size: Any, shift: Any, stride: Any, drop_remainder: Any) -> DatasetState:
        drop = bool(scalar("drop_remainder", drop_remainder))
        return Windows(dataset_of(source), *lengths(size, shift, stride), drop, dtypes, shapes)

    return windows


@dataset_kernel(UNIQUE_DATASET)
def unique_dataset(ctx: KernelContext) -> Any:
    def unique(source: Any) -> DatasetState:
        found = dataset_of(source)
        if len(found.dtypes) != 1:
            raise invalid("UniqueDataset only supports inputs with a single component.")
        if found.dtypes[0] not in (int32, int64, string):
            raise invalid("UniqueDataset only supports inputs with a single `tf.int32`, `tf.int64`, or `tf.string`")
        return Unique(found)

    return unique
