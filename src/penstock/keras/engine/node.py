"""`Node`: one call of a layer, and how tensors say which call they are from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple


@dataclass(eq=False)
class Node:
    """A call of `layer` outside of other layers, from which models can be made.

    `tensors` and `results` are flat; `pack` makes of tensors what the layer is called with. `updates`, `losses`
    and `metrics` are those that the call added, in layers inside this one too.
    """

    layer: Any
    tensors: list[Any]
    results: list[Any]
    pack: Callable[[list[Any]], Any]
    arguments: dict[str, Any]
    updates: list[Any] = field(default_factory=list)
    losses: list[Any] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)

    @property
    def index(self) -> int:
        """Which call of the layer this is."""
        return next(i for i, node in enumerate(self.layer._inbound_nodes) if node is self)

    @property
    def inbound_layers(self) -> list[Any]:
        """For each tensor the layer that it is from."""
        return [tensor._keras_history.layer for tensor in self.tensors]

    @property
    def node_indices(self) -> list[int]:
        """For each tensor the call of its layer that it is from."""
        return [tensor._keras_history.node_index for tensor in self.tensors]

    @property
    def tensor_indices(self) -> list[int]:
        """For each tensor which result of its call it is."""
        return [tensor._keras_history.tensor_index for tensor in self.tensors]

    @property
    def outbound_layer(self) -> Any:
        return self.layer

    @property
    def input_tensors(self) -> list[Any]:
        return self.tensors

    @property
    def output_tensors(self) -> list[Any]:
        return self.results

    @property
    def input_shapes(self) -> list[Any]:
        return [tuple(tensor.shape.as_list()) for tensor in self.tensors]

    @property
    def output_shapes(self) -> list[Any]:
        return [tuple(tensor.shape.as_list()) for tensor in self.results]

    @property
    def inputs(self) -> Any:
        """What the layer was called with."""
        return self.pack(self.tensors)


class History(NamedTuple):
    """Tensor `tensor_index` of the results of call `node_index` of `layer`."""

    layer: Any
    node_index: int
    tensor_index: int

    @property
    def node(self) -> Node:
        node: Node = self.layer._inbound_nodes[self.node_index]
        return node


def history_of(tensor: Any) -> History | None:
    """Where `tensor` is from, or None if no layer made it."""
    return getattr(tensor, "_keras_history", None)


def mask_of(tensor: Any) -> Any:
    """Which steps of `tensor` count: a bool tensor [n, time], or None for all."""
    return getattr(tensor, "_keras_mask", None)


class Told:
    """A property that an attribute of the same name stands in for: programs' own models may set one."""

    def __init__(self, tell: Callable[[Any], Any]) -> None:
        self.tell = tell

    def __get__(self, model: Any, owner: Any = None) -> Any:
        return self if model is None else self.tell(model)
