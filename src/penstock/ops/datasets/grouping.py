"""Datasets of groups of elements with the same key: GroupByWindowDataset, GroupByReducerDataset."""

from __future__ import annotations

from typing import Any

import torch

from penstock.ops.datasets.base import (
    DatasetState,
    ElementIterator,
    IterationContext,
    State,
    dataset_of,
    dataset_value,
)
from penstock.ops.datasets.blocks import Element, of_elements
from penstock.ops.datasets.calls import Call
from penstock.ops.datasets.define import TYPES, dataset_kernel, define_dataset
from penstock.ops.datasets.sources import Slices
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext


def _functions(*names: str) -> tuple[str, list[str]]:
    """The inputs and the attributes of an op with functions of these names."""
    inputs = "".join(f", {name}_other_arguments: T{name}_other_arguments" for name in names)
    attrs = [f"{name}: func" for name in names] + [f"T{name}_other_arguments: list(type) >= 0" for name in names]
    attrs += TYPES
    return f"input_dataset: variant{inputs}", attrs


_WINDOW = ("key_func", "reduce_func", "window_size_func")
_REDUCER = ("key_func", "init_func", "reduce_func", "finalize_func")
GROUP_BY_WINDOW_DATASET = define_dataset("GroupByWindowDataset", *_functions(*_WINDOW), typed=False)
GROUP_BY_REDUCER_DATASET = define_dataset(
    "GroupByReducerDataset", *_functions(*_REDUCER), stateful=True, metadata=False, typed=False
)


def _key(call: Call, element: Element) -> int:
    (key,) = call(*element)
    if key.numel() != 1:
        raise invalid("`key_func` must return a scalar int64.")
    return int(key)


class GroupByWindow(DatasetState):
    """Elements with the same key are collected until the key's window is full; `reduce` makes a dataset from each
    window, whose elements are returned. At the end, the remaining windows follow in the order of keys."""

    def __init__(self, source: DatasetState, calls: list[Call], dtypes: Any, shapes: Any) -> None:
        super().__init__(dtypes, shapes)
        self.source = source
        self.key, self.reduce, self.size = calls

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _GroupByWindowIterator(self, ctx)


class _GroupByWindowIterator(ElementIterator):
    def __init__(self, dataset: GroupByWindow, ctx: IterationContext) -> None:
        self._dataset, self._ctx = dataset, ctx
        self._input = dataset.source.iterate(ctx)
        self._groups: dict[int, list[Element]] = {}
        self._sizes: dict[int, int] = {}
        self._ended = False
        self._window: tuple[int, list[Element], ElementIterator] | None = None

    def _one(self) -> Element | None:
        while True:
            if self._window is not None:
                element = self._window[2].next()
                if element is not None:
                    return element
                self._window[2].close()
                self._window = None
            key = self._fill()
            if key is None:
                return None
            elements = self._groups.pop(key)
            self._open(key, elements)

    def _fill(self) -> int | None:
        """Take elements until a window is full; returns its key. At the end, returns the key of a remaining window, or
        None."""
        while not self._ended:
            element = self._input.next()
            if element is None:
                self._ended = True
                break
            key = _key(self._dataset.key, element)
            if key not in self._sizes:
                self._sizes[key] = self._size_of(key)
            group = self._groups.setdefault(key, [])
            group.append(element)
            if len(group) == self._sizes[key]:
                return key
        return min(self._groups, default=None)

    def _size_of(self, key: int) -> int:
        (size,) = self._dataset.size(torch.tensor(key))
        if size.numel() != 1 or int(size) <= 0:
            raise invalid("Window size must be greater than zero, but got " + str(size.tolist()))
        return int(size)

    def _open(self, key: int, elements: list[Element]) -> None:
        source = self._dataset.source
        window = Slices(source.dtypes, source.shapes, of_elements(elements))
        (made,) = self._dataset.reduce(torch.tensor(key), dataset_value(window))
        self._window = (key, elements, dataset_of(made).iterate(self._ctx))

    def close(self) -> None:
        if self._window is not None:
            self._window[2].close()
        self._input.close()

    def _save(self) -> State:
        window = self._window
        return {
            "input": self._input.save(),
            "groups": [[key, of_elements(group)] for key, group in self._groups.items() if group],
            "sizes": [[key, size] for key, size in self._sizes.items()],
            "ended": self._ended,
            "window": window and {"key": window[0], "elements": of_elements(window[1]), "at": window[2].save()},
        }

    def _restore(self, state: State) -> None:
        self._input.restore(state["input"])
        self._groups = {key: block.rows() for key, block in state["groups"]}
        self._sizes = dict(state["sizes"])
        self._ended = state["ended"]
        saved = state["window"]
        if saved is not None:
            self._open(saved["key"], saved["elements"].rows())
            assert self._window is not None
            self._window[2].restore(saved["at"])


class GroupByReducer(DatasetState):
    """One element for each key, in order: the result of `finalize` for the final state of `reduce`."""

    def __init__(self, source: DatasetState, calls: list[Call], dtypes: Any, shapes: Any) -> None:
        super().__init__(dtypes, shapes)
        self.source = source
        self.key, self.init, self.reduce, self.finalize = calls

    def iterate(self, ctx: IterationContext) -> ElementIterator:
        return _GroupByReducerIterator(self, ctx)


class _GroupByReducerIterator(ElementIterator):
    def __init__(self, dataset: GroupByReducer, ctx: IterationContext) -> None:
        self._dataset = dataset
        self._input = dataset.source.iterate(ctx)
        self._states: dict[int, Element] = {}
        self._ended = False

    def _one(self) -> Element | None:
        while not self._ended and (element := self._input.next()) is not None:
            key = _key(self._dataset.key, element)
            if key not in self._states:
                self._states[key] = self._dataset.init(torch.tensor(key))
            self._states[key] = self._dataset.reduce(*self._states[key], *element)
        self._ended = True
        if not self._states:
            return None
        return self._dataset.finalize(*self._states.pop(min(self._states)))

    def close(self) -> None:
        self._input.close()

    def _save(self) -> State:
        states = [[key, list(state)] for key, state in self._states.items()]
        return {"input": self._input.save(), "states": states, "ended": self._ended}

    def _restore(self, state: State) -> None:
        self._input.restore(state["input"])
        self._states = {key: tuple(saved) for key, saved in state["states"]}
        self._ended = state["ended"]


# --- kernels --------------------------------------------------------------------------------------------


@dataset_kernel(GROUP_BY_WINDOW_DATASET)
def group_by_window_dataset(ctx: KernelContext) -> Any:
    return _grouped(ctx, GroupByWindow, _WINDOW)


@dataset_kernel(GROUP_BY_REDUCER_DATASET)
def group_by_reducer_dataset(ctx: KernelContext) -> Any:
    return _grouped(ctx, GroupByReducer, _REDUCER)


def _grouped(ctx: KernelContext, kind: Any, names: tuple[str, ...]) -> Any:
    functions, types = [ctx.function(name) for name in names], (ctx["output_types"], ctx["output_shapes"])

    def state(source: Any, *others: Any) -> DatasetState:
        calls = [Call(function, captured) for function, captured in zip(functions, others, strict=True)]
        made: DatasetState = kind(dataset_of(source), calls, *types)
        return made

    return state
