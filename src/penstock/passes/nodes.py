"""What passes ask about single nodes: whether they are pure, their values, their attributes, their device."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from penstock.graph.device_spec import DeviceSpec
from penstock.graph.opdef import get_op
from penstock.graph.primitives import PRIMITIVES
from penstock.graph.step_graph import FEED, Edge, Node
from penstock.tensor.dtypes import float32, resource
from penstock.tensor.shapes import TensorShape

SMALL = 4096
"""Bytes up to which two constants are compared by value."""


def is_pure(node: Node) -> bool:
    """Whether a node always returns the same for the same inputs: no state, no randomness, no control flow."""
    if "seed" in node.attrs or "uniform_noise" in node.attrs:  # some that TensorFlow does not mark as stateful
        return False
    if node.op.stateful or node.op is FEED or node.op.name in PRIMITIVES or node.op.traits.placeholder:
        return False
    edges = [*(e.dtype for e in node.inputs), *node.dtypes]
    return not any(dtype._is_ref_dtype or dtype == resource for dtype in edges)


def only_waiting(node: Node, controls: tuple[Node, ...] | None = None) -> Node:
    """The NoOp that replaces `node` and waits for `controls`, or for what `node` waits for."""
    waits = node.controls if controls is None else controls
    return replace(node, op=get_op("NoOp"), attrs={}, inputs=(), controls=waits, dtypes=(), shapes=())


def frozen(value: Any) -> Any:
    """An attribute's value as part of a key. Raises TypeError if it has no such form."""
    if isinstance(value, list | tuple):
        return tuple(map(frozen, value))
    if isinstance(value, np.ndarray):
        if value.dtype == object or value.nbytes > SMALL:
            return id(value)
        return (value.dtype.str, value.shape, value.tobytes())
    if isinstance(value, TensorShape):
        return TensorShape, value.tuple
    hash(value)
    return type(value), value


def constant_of(edge: Edge) -> np.ndarray | None:
    """The value of a constant that waits for nothing."""
    node = edge.node
    return node.attrs["value"] if node.is_constant and not node.controls else None


def constant_vector(name: str, value: np.ndarray, like: Node) -> Node:
    """A new constant of float32, where `like` is."""
    value = np.ascontiguousarray(value, np.float32)
    attrs = {"value": value, "dtype": float32}
    shape = TensorShape(value.shape)
    return Node(name, get_op("Const"), attrs, (), (), like.device, (float32,), (shape,), like.source)


def on_cpu(device: str) -> bool:
    return device_type(device) == "CPU"


def device_type(device: str) -> str:
    return DeviceSpec.from_string(device).device_type or "CPU"
