"""Datasets that select: from several by a dataset of numbers, and only elements that are not errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from penstock import errors
from penstock.ops.datasets.base import DatasetState, ElementIterator, IterationContext, State, dataset_of
from penstock.ops.datasets.blocks import Block, Element
from penstock.ops.datasets.define import dataset_kernel, define_dataset
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int64

DIRECTED_INTERLEAVE_DATASET = define_dataset(
    "DirectedInterleaveDataset",
    "selector_input_dataset: variant, data_input_datasets: N * variant",
    ["N: int >= 1", "stop_on_empty_dataset: bool = false"],
    metadata=False,
)
IGNORE_ERRORS_DATASET = define_dataset(
    "IgnoreErrorsDataset", "input_dataset: variant", ["log_warning: bool = false"], metadata=False
)


class Chosen(DatasetState):
    """Each element is the next one of the part whose number is the next element of `selector`.

    Numbers of datasets that have ended are skipped, unless `stop` says that the first end is the end of all.
    """

    def __init__(self, selector: DatasetState, parts: Sequence[DatasetState], stop: bool, shapes: Any) -> None:
        super().__init__(parts[0].dtypes, shapes)
        self.selector, self.parts, self.stop = selector, parts, stop

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _ChosenIterator(self, ctx)


class _ChosenIterator(ElementIterator):
    def __init__(self, dataset: Chosen, ctx: IterationContext) -> None:
        self._dataset = dataset
        self._selector = dataset.selector.iterate(ctx)
        self._inputs: list[ElementIterator | None] = [part.iterate(ctx) for part in dataset.parts]

    def _one(self) -> Element | None:
        while any(source is not None for source in self._inputs):
            chosen = self._selector.next()
            if chosen is None:
                return None
            number = int(chosen[0])
            if not 0 <= number < len(self._inputs):
                raise invalid(
                    f"Selector index out of range: {number} is not in [0, {len(self._inputs)}), the number of datasets"
                )
            source = self._inputs[number]
            if source is not None:
                element = source.next()
                if element is not None:
                    return element
                if self._dataset.stop:
                    return None
                source.close()
                self._inputs[number] = None
        return None

    def close(self) -> None:
        self._selector.close()
        for source in self._inputs:
            if source is not None:
                source.close()

    def _save(self) -> State:
        inputs = [source and source.save() for source in self._inputs]
        return {"selector": self._selector.save(), "inputs": inputs}

    def _restore(self, state: State) -> None:
        self._selector.restore(state["selector"])
        for number, saved in enumerate(state["inputs"]):
            source = self._inputs[number]
            if saved is None:
                self._inputs[number] = None
            elif source is not None:
                source.restore(saved)


class WithoutErrors(DatasetState):
    """The elements of `source` that are not errors."""

    def __init__(self, source: DatasetState) -> None:
        super().__init__(source.dtypes, source.shapes)
        self.source = source

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _WithoutErrorsIterator(self.source.iterate(ctx))


class _WithoutErrorsIterator(ElementIterator):
    def __init__(self, source: ElementIterator) -> None:
        self._input = source

    def _many(self, count: int) -> Block | None:
        while True:
            try:
                return self._input.next_many(count)
            except errors.CancelledError:
                raise
            except errors.OpError:
                pass

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        return {"input": self._input.save()}

    def _restore(self, state: State) -> None:
        self._input.restore(state["input"])


@dataset_kernel(DIRECTED_INTERLEAVE_DATASET)
def directed_interleave_dataset(ctx: KernelContext) -> Any:
    stop, shapes = ctx.node.attrs.get("stop_on_empty_dataset", False), ctx["output_shapes"]  # its older name has none

    def chosen(selector: Any, sources: list[Any]) -> DatasetState:
        numbers, parts = dataset_of(selector), [dataset_of(source) for source in sources]
        if numbers.dtypes != (int64,):
            raise invalid("The selector input must be a dataset of scalar int64 elements.")
        for part in parts:
            if part.dtypes != parts[0].dtypes:
                raise invalid("All inputs must have the same output_dtypes. First input has other types than another")
        return Chosen(numbers, parts, stop, shapes)

    return chosen


@dataset_kernel(IGNORE_ERRORS_DATASET)
def ignore_errors_dataset(ctx: KernelContext) -> Any:
    return lambda source: WithoutErrors(dataset_of(source))
