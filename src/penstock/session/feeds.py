"""Feeds of a step: the tensors that keys of a feed_dict name, and sparse values spread to one a tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from penstock.graph.composite import IndexedSlices, SparseTensor
from penstock.graph.graph import Graph
from penstock.graph.operation import Tensor
from penstock.graph.step_graph import StepGraph
from penstock.passes.pipeline import Passed
from penstock.runtime.plan import Plan
from penstock.session.specialised import SpecialisedPlan

AnyPlan = Plan | SpecialisedPlan
Arrange = Callable[[Any], list[Any]]


def feeds_of(graph: Graph, keys: Iterable[Any]) -> tuple[list[Tensor], Arrange | None]:
    """The fed tensors, and (where sparse ones are among them) what makes their values one a tensor.

    TypeError for a key that is no tensor of `graph`; ValueError for one that may not be fed, or is fed twice.
    """
    tensors: list[Tensor] = []
    spread: list[int] = []
    for key in keys:
        if isinstance(key, SparseTensor):
            parts: list[Any] = [key.indices, key.values, key.dense_shape]
        elif isinstance(key, IndexedSlices):
            parts = [key.values, key.indices] + ([] if key.dense_shape is None else [key.dense_shape])
        else:
            parts = [key]
        spread.append(len(parts))
        tensors += [feedable(graph, part) for part in parts]
    if len(set(tensors)) < len(tensors):
        raise ValueError(f"The same tensor is fed twice: {', '.join(t.name for t in tensors)}")
    if all(count == 1 for count in spread):
        return tensors, None
    return tensors, lambda values: _spread(values, spread)


def feedable(graph: Graph, key: Any) -> Tensor:
    """The tensor that a key of a feed_dict names; TypeError or ValueError where there is none that may be fed."""
    try:
        tensor = graph.as_graph_element(key, allow_operation=False)
    except (TypeError, ValueError, KeyError) as error:
        text = error.args[0] if error.args else error
        raise TypeError(f"Cannot interpret feed_dict key {key!r} as Tensor: {text}") from None
    if not graph.is_feedable(tensor):
        raise ValueError(f"Tensor {tensor.name} may not be fed.")
    return tensor


class Rearranged:
    """A plan whose feeds come grouped (sparse values): spreads them first."""

    def __init__(self, plan: AnyPlan, arrange: Arrange) -> None:
        self._plan, self._arrange = plan, arrange

    @property
    def graph(self) -> StepGraph:
        return self._plan.graph

    @property
    def passed(self) -> list[Passed]:
        return self._plan.passed

    @property
    def source(self) -> str:
        return self._plan.source

    def summary(self) -> str:
        return self._plan.summary()

    def choose(self, values: Any) -> Plan:
        return self._plan if isinstance(self._plan, Plan) else self._plan.choose(self._arrange(values))

    def run(self, values: Any) -> tuple[Any, ...]:
        return self._plan.run(self._arrange(values))

    def run_observed(self, values: Any, hook: Any) -> tuple[Any, ...]:
        return self._plan.run_observed(self._arrange(values), hook)


def _spread(values: Any, counts: list[int]) -> list[Any]:
    flat: list[Any] = []
    for value, count in zip(values, counts, strict=True):
        if count == 1:
            flat.append(value)
        elif len(value) < count:
            raise ValueError(f"A sparse feed needs {count} values, got {len(value)}")
        else:
            flat += list(value)[:count]
    return flat
