"""What Keras's models tell of the calls that they are made of (TF: keras.engine.network.Network's private attributes).

Libraries that change, convert or draw models go by them. They are made when they are asked for, from the model's nodes.
"""

from __future__ import annotations

from typing import Any

from penstock.keras.engine.node import Node, Told, history_of
from penstock.keras.engine.topology import depths_of
from penstock.keras.nested import unique


def _coordinates(tensors: list[Any] | None) -> list[tuple[Any, int, int]]:
    found = [history_of(tensor) for tensor in tensors or ()]
    return [(each.layer, each.node_index, each.tensor_index) for each in found if each is not None]


def _layers_of(tensors: list[Any] | None) -> list[Any]:
    return [layer for layer, _, _ in _coordinates(tensors)]


def _keys(model: Any) -> set[str]:
    return {f"{node.layer.name}_ib-{node.index}" for node in model._nodes or ()}


def _depths(model: Any) -> tuple[dict[int, int], dict[int, int]]:
    given = {id(history_of(x).node) for x in model.inputs or ()}  # type: ignore[union-attr]
    return depths_of(model._nodes or [], given)


def _nodes_by_depth(model: Any) -> dict[int, list[Node]]:
    depths, _ = _depths(model)
    found: dict[int, list[Node]] = {}
    for node in reversed(model._nodes or []):
        found.setdefault(depths[id(node)], []).insert(0, node)
    return found


def _layers_by_depth(model: Any) -> dict[int, list[Any]]:
    _, depths = _depths(model)
    found: dict[int, list[Any]] = {}
    for layer in unique([node.layer for node in model._nodes or ()]):
        found.setdefault(depths[id(layer)], []).append(layer)
    return dict(sorted(found.items()))


class InnerGraph:
    """Attributes of models that are made of tensors; models with a `call` of their own have no nodes.

    Coordinates are (layer, number of its call, number of the result). Keys of nodes are "dense_ib-0", for the first
    call of the layer "dense". Depth 0 is that of calls that only outputs come from.
    """

    _input_coordinates = Told(lambda model: _coordinates(model.inputs))
    _output_coordinates = Told(lambda model: _coordinates(model.outputs))
    _input_layers = Told(lambda model: _layers_of(model.inputs))
    _output_layers = Told(lambda model: _layers_of(model.outputs))
    _network_nodes = Told(_keys)
    _container_nodes = Told(_keys)  # as it was until Keras 2.2
    _nodes_by_depth = Told(_nodes_by_depth)
    _layers_by_depth = Told(_layers_by_depth)


def _numbers(tensors: str, place: int) -> Told:
    return Told(lambda model: [each[place] for each in _coordinates(getattr(model, tensors))])


NUMBERS = {
    "input_layers_node_indices": _numbers("inputs", 1),
    "input_layers_tensor_indices": _numbers("inputs", 2),
    "output_layers_node_indices": _numbers("outputs", 1),
    "output_layers_tensor_indices": _numbers("outputs", 2),
}
"""The numbers in coordinates, as models of Keras 1 and 2.0 had them, in lists of their own."""
