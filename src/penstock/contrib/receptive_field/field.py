"""The part of the input that an element of a convolutional network's output depends on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.contrib.receptive_field.layers import Axis, axes_of, name_of
from penstock.contrib.receptive_field.order import get_compute_order
from penstock.export import export
from penstock.graph.graph import Graph
from penstock.graph.operation import Tensor

_DIRECTIONS = ("horizontal", "vertical")


class ReceptiveField:
    """size, stride, padding: arrays, the first element along columns (x), the second along rows (y).

    Iterating gives the six numbers: both sizes, both strides, both paddings.
    """

    def __init__(self, size: Any, stride: Any, padding: Any) -> None:
        self.size, self.stride, self.padding = np.asarray(size), np.asarray(stride), np.asarray(padding)

    def compute_input_center_coordinates(self, y: Any, axis: Sequence[int] | None = None) -> np.ndarray:
        """The middles, in the input, of what features at `y`, shape [..., axes], depend on."""
        y, axes = self._along(y, axis)
        middles: np.ndarray = y * self.stride[axes] - self.padding[axes] + (self.size[axes] - 1) / 2
        return middles

    def compute_feature_coordinates(self, x: Any, axis: Sequence[int] | None = None) -> np.ndarray:
        """Where the features are whose middles in the input are `x`, shape [..., axes]."""
        x, axes = self._along(x, axis)
        places: np.ndarray = (x + self.padding[axes] + (1 - self.size[axes]) / 2) / self.stride[axes]
        return places

    def _along(self, places: Any, axis: Sequence[int] | None) -> tuple[np.ndarray, list[int]]:
        axes, places = list(range(self.size.size) if axis is None else axis), np.asarray(places)
        if places.shape[-1] != len(axes):
            raise ValueError(f"The coordinates have {places.shape[-1]} dimensions, but there are {len(axes)} axes.")
        return places, axes

    def __iter__(self) -> Iterator[Any]:
        return iter(np.concatenate([self.size, self.stride, self.padding]))


@dataclass(frozen=True)
class _Seen:
    """What an output depends on in a node's result along one axis. padding: None if it is not known."""

    size: int = 1
    stride: int = 1
    padding: int | None = 0

    def before(self, layer: Axis, known: bool) -> _Seen:
        """In the input of the layer that makes the result."""
        padding = layer.stride * self.padding + layer.padding if known else None  # type: ignore[operator]
        return _Seen(layer.stride * self.size + layer.kernel - layer.stride, layer.stride * self.stride, padding)

    def check(self, other: _Seen, direction: str) -> None:
        """Raises ValueError if the same output depends on two places by two paths."""
        for what, own, others in (
            ("effective stride", self.stride, other.stride),
            ("center shift", self._shift(), other._shift()),
        ):
            if own != others:
                raise ValueError(
                    f"Graph is not aligned since {what} from different paths is different in {direction} direction"
                )

    def _shift(self) -> float | None:
        return None if self.padding is None else (self.size - 1) / 2 - self.padding


@export("contrib.receptive_field.compute_receptive_field_from_graph_def")
def compute_receptive_field_from_graph_def(
    graph_def: Any,
    input_node: Any,
    output_node: Any,
    stop_propagation: Sequence[str] | None = None,
    input_resolution: Sequence[int] | None = None,
) -> ReceptiveField:
    """The part of `input_node` that an element of `output_node` depends on.

    graph_def: a graph, or its GraphDef. The nodes are names or tensors. stop_propagation: beginnings of the names of
    nodes that are not followed. input_resolution: rows and columns of the input, which decide on borders of SAME
    padding; without it a padding may be None, and whether paths are aligned is not checked from there on. Raises
    ValueError if paths are not aligned, for ops between that are not known, and if a node is not found. Source:
    TensorFlow 1.15's tf.contrib.receptive_field.
    """
    graph_def = graph_def.as_graph_def() if isinstance(graph_def, Graph) else graph_def
    start, end = (node.op.name if isinstance(node, Tensor) else node for node in (input_node, output_node))
    infos, nodes = get_compute_order(graph_def, start, input_resolution)
    if end not in infos:
        raise ValueError("Output node was not found")
    seen, known = {end: (_Seen(), _Seen())}, True
    for info in sorted(infos.values(), key=lambda info: -info.order):
        node = info.node
        if node.name == start:
            break
        if node.name not in seen:
            continue  # the output does not depend on it
        size = info.input_size or [None, None]
        axes = axes_of(node, nodes, (size[0], size[1]))
        if axes is None:
            raise ValueError(f"Unknown layer for operation {node.name!r}: {node.op}")
        known = known and all(axis.padding is not None for axis in axes)
        across, down = (own.before(axis, known) for own, axis in zip(seen[node.name], axes, strict=True))
        for each in node.input:
            if not each.startswith(("^", *(stop_propagation or ()))):
                name = name_of(each)
                seen[name] = _joined(seen.get(name), (across, down), known)
    if start not in seen:
        raise ValueError("Input node was not found")
    return ReceptiveField(*([getattr(own, part) for own in seen[start]] for part in ("size", "stride", "padding")))


def _joined(found: tuple[_Seen, _Seen] | None, other: tuple[_Seen, _Seen], known: bool) -> tuple[_Seen, _Seen]:
    """Of two paths the one that sees more, along each axis."""
    if found is None:
        return other
    if known:
        for own, others, direction in zip(found, other, _DIRECTIONS, strict=True):
            own.check(others, direction)
    across, down = (max(pair, key=lambda seen: seen.size) for pair in zip(found, other, strict=True))
    return across, down
