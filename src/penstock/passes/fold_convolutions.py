"""Convolutions by constant filters take in what follows them: the scaling and shifting of each channel that a batch
normalization is once it has been trained, biases, a sum, an activation; and the zeros that were put around their input.

Such graphs are trained models that have been frozen.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.ops.fused_convolution import ACTIVATIONS, PACKED_CONV
from penstock.passes.fuse import Uses
from penstock.passes.nodes import constant_of, constant_vector
from penstock.tensor.dtypes import float32

CONVOLUTIONS = {"Conv2D": False, "Conv3D": False, "DepthwiseConv2dNative": True}
"""Whether they are depthwise."""
_SUMS = {"Add", "AddV2"}
_NORMS = {"FusedBatchNorm", "FusedBatchNormV2", "FusedBatchNormV3"}


def fold_convolutions(graph: StepGraph) -> StepGraph:
    """`graph` with each convolution by constant filters and what follows it as one node."""
    if not any(node.op.name in CONVOLUTIONS for node in graph.nodes):
        return graph
    folding = _Convolutions(graph)
    for node in graph.nodes:
        folding.take(node)
    if not folding.instead:
        return graph
    return remove_unused(rewritten(graph, folding.instead, nodes=folding.nodes))


@dataclass(slots=True)
class _Chain:
    """A convolution, and what has been found after it: its result is that of `end`."""

    conv: Node
    end: Edge
    scale: np.ndarray
    bias: np.ndarray
    others: list[Edge] = field(default_factory=list)
    activation: str = ""

    @property
    def rank(self) -> int:
        """Of the images, with batch and channels."""
        return len(self.conv.attrs["strides"])

    @property
    def channels_last(self) -> bool:
        return _is_channels_last(self.conv)

    @property
    def channel_axis(self) -> int:
        return self.rank - 1 if self.channels_last else 1


class _Convolutions:
    def __init__(self, graph: StepGraph) -> None:
        self.instead: dict[Node, Node] = {}
        self.nodes: list[Node] = []
        self._uses = Uses(graph)
        self._taken: set[Node] = set()
        self._users: dict[Edge, list[Node]] = defaultdict(list)
        for node in graph.nodes:
            for edge in node.inputs:
                self._users[edge].append(node)
        self._chains: dict[Node, _Chain] = {}
        for node in graph.nodes:
            chain = self._begun(node)
            if chain is not None:
                self._extend(chain)
                self._chains[chain.end.node] = chain

    def take(self, node: Node) -> None:
        """Add a node to the graph; that which ends a chain with the constants of the one that replaces it before."""
        chain = self._chains.get(node)
        if chain is not None:
            conv = chain.conv
            scale, bias = (
                constant_vector(f"{conv.name}/{name}", getattr(chain, name), conv) for name in ("scale", "bias")
            )
            self.nodes += [scale, bias]
            self.instead[node] = self._packed(chain, node, scale, bias)
        self.nodes.append(node)

    def _packed(self, chain: _Chain, end: Node, scale: Node, bias: Node) -> Node:
        conv = chain.conv
        value, padding = self._unpadded(conv)
        attrs = {
            **{name: conv.attrs[name] for name in ("T", "strides", "data_format", "dilations")},
            **padding,
            "N": len(chain.others),
            "depthwise": CONVOLUTIONS[conv.op.name],
            "activation": chain.activation.encode(),
        }
        if "_class" in end.attrs:
            attrs["_class"] = end.attrs["_class"]
        return replace(
            end,
            op=PACKED_CONV,
            attrs=attrs,
            inputs=(value, conv.inputs[1], Edge(scale, 0), Edge(bias, 0), *chain.others),
            controls=conv.controls,
            dtypes=(float32,),
            shapes=conv.shapes[:1],
        )

    # --- chains -----------------------------------------------------------------------------------------

    def _begun(self, node: Node) -> _Chain | None:
        if node.op.name not in CONVOLUTIONS or node.attrs["T"] != float32 or node in self._taken:
            return None
        filters = constant_of(node.inputs[1])
        if filters is None or filters.ndim != len(node.attrs["strides"]) or 0 in filters.shape:
            return None
        channels = int(np.prod(filters.shape[2:])) if CONVOLUTIONS[node.op.name] else filters.shape[-1]
        return _Chain(node, Edge(node, 0), np.ones(channels, np.float32), np.zeros(channels, np.float32))

    def _extend(self, chain: _Chain) -> None:
        while not chain.activation:
            users = self._users[chain.end]
            swish = _swish(chain.end, users)
            if swish is not None and self._joins(chain.end.node, users, 2):
                chain.activation, chain.end = "Swish", Edge(swish, 0)
                self._taken.update(users)
                return
            if len(users) != 1 or not self._joins(chain.end.node, users, 1) or not self._absorbed(chain, users[0]):
                return
            chain.end = Edge(users[0], 0)
            self._taken.add(users[0])

    def _joins(self, node: Node, users: list[Node], count: int) -> bool:
        """Whether a node's value is used by these nodes only, which run where it does."""
        if not self._uses.only(Edge(node, 0), count):
            return False
        return all(u.device == node.device and not u.controls and u not in self._taken for u in users)

    def _absorbed(self, chain: _Chain, node: Node) -> bool:
        """Whether the chain does what `node` does, from now on."""
        name, end = node.op.name, chain.end
        if name in ACTIVATIONS:
            chain.activation = name
            return True
        if chain.others:
            return False
        if name in _NORMS:
            return node.inputs[0] == end and self._normalised(chain, node)
        if name in _SUMS or name == "Mul":
            other = node.inputs[1] if node.inputs[0] == end else node.inputs[0]
            number = self._per_channel(chain, other)
            if number is None:
                return name in _SUMS and self._added(chain, other)
            if name == "Mul":
                chain.scale, chain.bias = chain.scale * number, chain.bias * number
            else:
                chain.bias = chain.bias + number
            return True
        if name in ("BiasAdd", "Sub") and node.inputs[0] == end:
            number = constant_of(node.inputs[1]) if name == "BiasAdd" else self._per_channel(chain, node.inputs[1])
            if name == "BiasAdd" and _is_channels_last(node) != chain.channels_last:
                return False
            if number is None or number.shape != chain.bias.shape:
                return False
            chain.bias = chain.bias - number if name == "Sub" else chain.bias + number
            return True
        return False

    def _per_channel(self, chain: _Chain, edge: Edge) -> np.ndarray | None:
        """A constant that has one number for each channel, or one for all, as a vector."""
        value = constant_of(edge)
        if value is None or value.ndim > chain.rank or value.dtype != np.float32:
            return None
        dims = (1,) * (chain.rank - value.ndim) + value.shape
        channels = len(chain.bias)
        if any(dim != 1 for axis, dim in enumerate(dims) if axis != chain.channel_axis):
            return None
        if dims[chain.channel_axis] not in (1, channels):
            return None
        return np.broadcast_to(value.reshape(-1), (channels,))

    def _added(self, chain: _Chain, other: Edge) -> bool:
        """Whether the chain adds another value of the same shape."""
        shape, mine = other.node.shapes[other.port], chain.conv.shapes[0]
        if not shape.is_fully_defined() or shape.tuple != mine.tuple:
            return False
        chain.others.append(other)
        return True

    def _normalised(self, chain: _Chain, node: Node) -> bool:
        """Whether the chain normalises by a mean and a variance that are known (`FusedBatchNorm` for inference)."""
        constants = [constant_of(edge) for edge in node.inputs[1:5]]
        if node.attrs["is_training"] or _is_channels_last(node) != chain.channels_last:
            return False
        if any(self._uses.wants(Edge(node, port)) for port in range(1, len(node.dtypes))):
            return False
        values = [value for value in constants if value is not None and value.shape == chain.bias.shape]
        if len(values) < 4:
            return False
        gamma, beta, mean, variance = values
        scale = gamma / np.sqrt(variance + np.float32(node.attrs["epsilon"]))
        chain.scale, chain.bias = chain.scale * scale, (chain.bias - mean) * scale + beta
        return True

    # --- padding ----------------------------------------------------------------------------------------

    def _unpadded(self, conv: Node) -> tuple[Edge, dict[str, Any]]:
        """The input of a convolution and its padding, with zeros that a Pad puts around the input."""
        edge, padding = conv.inputs[0], conv.attrs["padding"]
        given = {"padding": padding, "explicit_paddings": conv.attrs.get("explicit_paddings") or []}
        pad = self._uses.maker(edge, "Pad", conv.device)
        sides = None if pad is None else constant_of(pad.inputs[1])
        rank = len(conv.attrs["strides"])
        if pad is None or sides is None or padding != b"VALID" or sides.shape != (rank, 2) or sides.min() < 0:
            return edge, given
        outer = (0, -1 if _is_channels_last(conv) else 1)
        if sides[list(outer)].any():
            return edge, given
        return pad.inputs[0], {"padding": b"EXPLICIT", "explicit_paddings": [int(side) for side in sides.ravel()]}


def _is_channels_last(node: Node) -> bool:
    return bool(node.attrs["data_format"].endswith(b"C"))


def _swish(edge: Edge, users: list[Node]) -> Node | None:
    """The node of x * sigmoid(x), if these two are the users of x."""
    if len(users) != 2 or {node.op.name for node in users} != {"Sigmoid", "Mul"}:
        return None
    sigmoid, product = sorted(users, key=lambda node: node.op.name, reverse=True)
    return product if set(product.inputs) == {edge, Edge(sigmoid, 0)} else None
