"""The order in which a network is computed, and the sizes of the planes on the way."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from penstock.contrib.receptive_field.layers import axes_of, name_of
from penstock.export import export

Size = list[int | None] | None


class NodeInfo(NamedTuple):
    """order: the longest way from a node without inputs. Sizes: rows and columns, None where they are not known."""

    order: int
    node: Any
    input_size: Size
    output_size: Size


@export("contrib.receptive_field.get_compute_order")
def get_compute_order(
    graph_def: Any, input_node_name: str = "", input_node_size: Sequence[int] | None = None
) -> tuple[dict[str, NodeInfo], dict[str, Any]]:
    """What there is to tell of each node, by name, and the NodeDefs by name.

    The node `input_node_name` is the first, and what it makes has `input_node_size`: rows, columns. The first input of
    a layer is its image. Source: TensorFlow 1.15's tf.contrib.receptive_field.
    """
    nodes = {node.name: node for node in graph_def.node}
    infos: dict[str, NodeInfo] = {}
    for name in nodes:
        waiting = [name]
        while waiting:
            node = nodes[waiting[-1]]
            inputs = [] if node.name == input_node_name else _inputs(node)
            missing = [] if node.name in infos else [each for each in inputs if each not in infos]
            if missing and not set(missing).isdisjoint(waiting):
                raise ValueError(f"{node.name!r} is part of a loop: its receptive field is not bounded.")
            if missing:
                waiting += missing[:1]
                continue
            waiting.pop()
            if node.name == input_node_name:
                infos[node.name] = NodeInfo(0, node, None, list(input_node_size) if input_node_size else None)
            elif node.name not in infos:
                infos[node.name] = _info(node, nodes, [infos[each] for each in inputs])
    return infos, nodes


def _inputs(node: Any) -> list[str]:
    return [name_of(each) for each in node.input if not each.startswith("^")]


def _info(node: Any, nodes: dict[str, Any], inputs: list[NodeInfo]) -> NodeInfo:
    order = max((each.order + 1 for each in inputs), default=0)
    size = inputs[0].output_size if inputs else None
    if size is None:
        return NodeInfo(order, node, None, None)
    axes = axes_of(node, nodes, (size[0], size[1]))
    if axes is None:
        return NodeInfo(order, node, size, [None, None])
    across, down = axes
    return NodeInfo(order, node, size, [down.output_size(size[0]), across.output_size(size[1])])
