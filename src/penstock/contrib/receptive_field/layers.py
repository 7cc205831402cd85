"""What a node of a convolutional network does to the plane: the window it sees, its steps and its borders."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock import logging
from penstock.graph.codec import make_ndarray

Nodes = Mapping[str, Any]
"""NodeDefs by name."""

_POINTWISE = frozenset({
    "Add", "AddV2", "BiasAdd", "Cast", "Ceil", "ConcatV2", "Const", "Floor", "FusedBatchNorm", "GreaterEqual",
    "Identity", "LRN", "Log", "Mul", "Pow", "ReadVariableOp", "RealDiv", "Relu", "Relu6", "Round", "Rsqrt", "Softplus",
    "Sub", "VarHandleOp", "VariableV2",
})  # fmt: skip
"""Ops whose elements depend on those at the same place only: TensorFlow 1.15's list, which takes in LRN, and reads of
variables by handle."""
_CONVOLUTIONS = frozenset({"Conv2D", "DepthwiseConv2dNative"})
_POOLS = frozenset({"MaxPool", "MaxPoolV2", "AvgPool"})
_READS = frozenset({"Identity", "ReadVariableOp"})


@dataclass(frozen=True)
class Axis:
    """A layer along one axis. padding: before the first element, total: before and after; None if the size of the
    input decides, and is not known."""

    kernel: int = 1
    stride: int = 1
    padding: int | None = 0
    total: int | None = 0

    def output_size(self, size: int | None) -> int | None:
        """How many elements the output has, of an input of this size."""
        if size is None or self.total is None:
            return None
        return -(-(size + self.total - self.kernel + 1) // self.stride)


def name_of(tensor: str) -> str:
    """The node that makes an input, which may be written `name:1`."""
    return tensor.split(":")[0]


def axes_of(node: Any, nodes: Nodes, size: tuple[int | None, int | None]) -> tuple[Axis, Axis] | None:
    """What a node does across and down, for an input of `size`: rows, columns. None if its op is not known.

    Raises ValueError for a layer whose window is not known when the graph is built, or that moves between images or
    channels.
    """
    if node.op in _POINTWISE:
        return Axis(), Axis()
    if node.op == "Pad":
        down, across = _borders(node, nodes)
        return across, down
    if node.op not in _CONVOLUTIONS | _POOLS:
        return None
    kernel = _window(node, nodes) if node.op in _POOLS else _kernel(node, nodes)
    stride = [int(step) for step in _setting(node, nodes, "strides", 2)[1:3]]
    down, across = (_layer(node, *of_axis) for of_axis in zip(kernel, stride, size, strict=True))
    return across, down


def _setting(node: Any, nodes: Nodes, name: str, place: int) -> Any:
    """A list that is an attribute, or the constant input of MaxPoolV2 at this place."""
    if node.op == "MaxPoolV2":
        return make_ndarray(_constant(node, nodes, place))
    return list(node.attr[name].list.i)


def _constant(node: Any, nodes: Nodes, place: int) -> Any:
    source = nodes[name_of(node.input[place])]
    if source.op != "Const":
        raise ValueError(f"The input {source.name!r} of {node.name!r} is no constant, but made by {source.op}.")
    return source.attr["value"].tensor


def _window(node: Any, nodes: Nodes) -> list[int]:
    batch, down, across, channels = (int(size) for size in _setting(node, nodes, "ksize", 1))
    if (batch, channels) != (1, 1):
        raise ValueError(f"{node.name!r} pools images or channels together: its ksize is 1 along these.")
    return [down, across]


def _kernel(node: Any, nodes: Nodes) -> list[int]:
    weights = nodes[name_of(node.input[1])]
    while weights.op in _READS:
        weights = nodes[name_of(weights.input[0])]
    if weights.op == "Const":
        shape = weights.attr["value"].tensor.tensor_shape.dim
    elif weights.op in {"VariableV2", "VarHandleOp"}:
        shape = weights.attr["shape"].shape.dim
    else:
        raise ValueError(f"The weights {weights.name!r} are made by {weights.op}: they are a variable or a constant.")
    if len(shape) != 4:
        raise ValueError(f"The weights {weights.name!r} have rank {len(shape)}, not 4.")
    return [int(dim.size) for dim in shape[:2]]


def _borders(node: Any, nodes: Nodes) -> list[Axis]:
    borders = make_ndarray(_constant(node, nodes, 1)).tolist()
    if any(borders[0] + borders[3]):
        raise ValueError(f"{node.name!r} pads images or channels: its paddings are zero for these.")
    return [Axis(padding=before, total=before + after) for before, after in borders[1:3]]


def _layer(node: Any, kernel: int, stride: int, size: int | None) -> Axis:
    padding = bytes(node.attr["padding"].s)
    if padding == b"VALID":
        return Axis(kernel, stride)
    if padding != b"SAME":
        raise ValueError(f"Invalid padding of {node.name!r}: {padding.decode()}")
    if size is not None:
        total = max(kernel - (size % stride or stride), 0)
        return Axis(kernel, stride, total // 2, total)
    if kernel == 1:
        return Axis(kernel, stride)
    if stride == 1:
        return Axis(kernel, stride, (kernel - 1) // 2, kernel - 1)
    if stride == 2 and kernel % 2 == 0:  # whether a row more is at the end is all that the size decides
        return Axis(kernel, stride, (kernel - 1) // 2, None)
    logging.warning(
        f"The padding of {node.name!r} depends on the size of its input: give input_resolution to know it. Whether "
        "paths are aligned is not checked."
    )
    return Axis(kernel, stride, None, None)
