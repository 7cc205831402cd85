"""Staging areas whose elements have keys and may arrive in parts (TF: MapStage, OrderedMapStage, MapUnstage, …)."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch

from penstock.graph.node_kernel import asynchronous
from penstock.graph.opdef import OpDef, define_op
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.data_flow.lines import NOT_YET, Attempt, Done, shared
from penstock.ops.data_flow.queue_elements import own
from penstock.ops.data_flow.staged import CONTAINER, ROOM, StagedValues, Values, bytes_of
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

Indices = list[int]


class StagingMap(StagedValues):
    """Elements by key, each {index: value}. Only complete elements count towards the capacity."""

    ordered = False

    def __init__(self, name: str, line: str, capacity: int, memory_limit: int) -> None:
        super().__init__(name, line, capacity, memory_limit)
        self._count = 0  # values of an element; known once one is put in
        self._complete: dict[int, dict[int, Any]] = {}
        self._incomplete: dict[int, dict[int, Any]] = {}

    # --- in ---------------------------------------------------------------------------------------------

    def put(self, key: int, indices: Indices, values: Values, count: int, done: Done) -> Attempt | None:
        """Adds values to the element `key`, which has `count` in all. A complete element does not change any more."""
        self._count = count
        self._check_indices(key, indices)
        if len(indices) != len(values):
            raise invalid(f"{len(indices)} indices for {len(values)} values of key '{key}'")
        size, whole = bytes_of(values), len(indices) == self._count
        self.check_room(size)
        given = dict(zip(indices, values, strict=True))

        def attempt() -> Any:
            full = whole and self.capacity and len(self._complete) >= self.capacity
            if full or not self.has_memory(size):
                return NOT_YET
            self._add(key, given, size)
            return ()

        return self.submit("put" if whole else "put part", "MapStage", "room", attempt, done)

    def _add(self, key: int, given: dict[int, Any], size: int) -> None:
        if len(given) < self._count:
            element = self._incomplete.get(key, {})
            for index in given:
                if index in element:
                    raise invalid(f"The tensor for index '{index}' for key '{key}' was already initialized.")
            given = {**element, **given}
            if len(given) < self._count:
                self._incomplete[key] = given
                self.bytes += size
                return
            self._incomplete.pop(key, None)
        if key in self._complete:
            self.bytes -= bytes_of(list(given.values())) - size  # parts that arrived earlier
            return
        self._complete[key] = given
        self.bytes += size
        self.wake("any", ("key", key))

    def _check_indices(self, key: int, indices: Indices) -> None:
        if any(a >= b for a, b in itertools.pairwise(indices)):
            raise invalid("Indices are not strictly ordered")
        for index in indices:
            if not 0 <= index < self._count:
                raise invalid(f"Index '{index}' for key '{key}' was out of bounds '{self._count}'.")

    # --- out --------------------------------------------------------------------------------------------

    def get(self, key: int, indices: Indices, done: Done) -> Attempt | None:
        """Takes values of the element `key`; taking the last one removes the element."""

        def attempt() -> Any:
            return tuple(self._take(key, indices)) if key in self._complete else NOT_YET

        return self.submit(("key", key), "MapUnstage", f"key {key}", attempt, done)

    def peek(self, key: int, indices: Indices, done: Done) -> Attempt | None:
        """Copies values of the element `key`."""

        def attempt() -> Any:
            if key not in self._complete:
                return NOT_YET
            return tuple([own(value) for value in self._values(key, indices)])

        return self.submit(("key", key), "MapPeek", f"key {key}", attempt, done)

    def get_any(self, indices: Indices, done: Done) -> Attempt | None:
        """Takes values of any element, preceded by its key; of the smallest key if the area is ordered."""

        def attempt() -> Any:
            if not self._complete:
                return NOT_YET
            key = min(self._complete) if self.ordered else next(iter(self._complete))
            return (torch.tensor(key), *self._take(key, indices))

        return self.submit("any", "MapUnstageNoKey", "an element", attempt, done)

    def _values(self, key: int, indices: Indices) -> Values:
        self._check_indices(key, indices)
        element = self._complete[key]
        for index in indices:
            if index not in element:
                raise invalid(f"Tensor at index '{index}' for key '{key}' has already been removed.")
        return [element[index] for index in indices]

    def _take(self, key: int, indices: Indices) -> Values:
        values = self._values(key, indices)
        self.bytes -= bytes_of(values)
        for index in indices:
            del self._complete[key][index]
        if not self._complete[key]:
            del self._complete[key]
        self.wake("put", "put part")
        return values

    # --- the rest ---------------------------------------------------------------------------------------

    def size(self) -> int:
        return len(self._complete)

    def incomplete_size(self) -> int:
        return len(self._incomplete)

    def empty(self) -> None:
        self.forget()
        self.wake("put", "put part")

    def forget(self) -> None:
        self._complete.clear()
        self._incomplete.clear()
        self.bytes = 0


class OrderedStagingMap(StagingMap):
    """A staging area whose smallest key comes out first."""

    ordered = True


# --- ops ------------------------------------------------------------------------------------------------

_HOST = ("key", "indices", "size")
Use = Callable[[StagingMap, int], Callable[..., Any]]
"""`use(area, number of dtypes)` returns the kernel of a node, or the function that starts it."""


def _scalar(key: Any) -> int:
    if key.numel() != 1:
        raise invalid(f"Must have a one element tensor for the key, got shape {list(key.shape)}")
    return int(key)


def _indices(indices: Any) -> Indices:
    found: Indices = indices.reshape(-1).tolist()
    return found


def _define(name: str, inputs: str, outputs: str, attrs: list[str], use: Use, waits: bool = False) -> list[OpDef]:
    """Defines an op in both versions, unordered and ordered."""
    found = []
    for ordered in (False, True):
        op = define_op(
            f"OrderedMap{name}" if ordered else f"Map{name}",
            inputs,
            outputs,
            attrs=[*ROOM, *attrs, *CONTAINER],
            stateful=True,
            work=SERIAL,
            waits=waits,
            shared=True,
        )
        op.kernel(host=[arg.name for arg in (*op.inputs, *op.outputs) if arg.name in _HOST])(
            _factory(use, ordered, waits)
        )
        op.shape(_shape)
        op.not_differentiable()
        found.append(op)
    return found


def _factory(use: Use, ordered: bool, waits: bool) -> Callable[[KernelContext], Any]:
    kind = OrderedStagingMap if ordered else StagingMap

    def factory(ctx: KernelContext) -> Any:
        room = ctx["capacity"], ctx["memory_limit"]
        area = shared(ctx, kind, lambda name, line: kind(name, line, *room), by_node=True)
        kernel = use(area, len(ctx["dtypes"]))
        return asynchronous(kernel) if waits else kernel

    return factory


def _shape(c: ShapeContext, *_: Any) -> list[TensorShape]:
    outputs = c.op.op_def.outputs
    if any(arg.name == "size" for arg in outputs):
        return [TensorShape([])]
    key = [TensorShape([])] if outputs and outputs[0].name == "key" else []
    return key + [UNKNOWN] * (len(c.attrs["dtypes"]) if outputs else 0)


def _stage(area: StagingMap, count: int) -> Any:
    def start(done: Done, key: Any, indices: Any, values: list[Any]) -> Attempt | None:
        return area.put(_scalar(key), _indices(indices), list(map(own, values)), count, done)

    return start


_SOME, _ANY = ["dtypes: list(type) >= 1"], ["dtypes: list(type)"]
_KEYED = "key: int64, indices: int32"

MAP_STAGE, ORDERED_MAP_STAGE = _define(
    "Stage", f"{_KEYED}, values: fake_dtypes", "", [*_ANY, "fake_dtypes: list(type) >= 1"], _stage, waits=True
)
MAP_PEEK, ORDERED_MAP_PEEK = _define(
    "Peek",
    _KEYED,
    "values: dtypes",
    _SOME,
    lambda area, _: lambda done, key, indices: area.peek(_scalar(key), _indices(indices), done),
    waits=True,
)
MAP_UNSTAGE, ORDERED_MAP_UNSTAGE = _define(
    "Unstage",
    _KEYED,
    "values: dtypes",
    _SOME,
    lambda area, _: lambda done, key, indices: area.get(_scalar(key), _indices(indices), done),
    waits=True,
)
MAP_UNSTAGE_NO_KEY, ORDERED_MAP_UNSTAGE_NO_KEY = _define(
    "UnstageNoKey",
    "indices: int32",
    "key: int64, values: dtypes",
    _SOME,
    lambda area, _: lambda done, indices: area.get_any(_indices(indices), done),
    waits=True,
)
MAP_SIZE, ORDERED_MAP_SIZE = _define(
    "Size", "", "size: int32", _ANY, lambda area, _: lambda: torch.tensor(area.size(), dtype=torch.int32)
)
MAP_INCOMPLETE_SIZE, ORDERED_MAP_INCOMPLETE_SIZE = _define(
    "IncompleteSize",
    "",
    "size: int32",
    _ANY,
    lambda area, _: lambda: torch.tensor(area.incomplete_size(), dtype=torch.int32),
)
MAP_CLEAR, ORDERED_MAP_CLEAR = _define("Clear", "", "", _ANY, lambda area, _: lambda: area.change(area.empty))
