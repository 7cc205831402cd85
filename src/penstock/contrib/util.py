"""Tensors as messages and constants (TF: tf.contrib.util)."""

from __future__ import annotations

from typing import Any

from penstock import absent as _absent
from penstock.graph.codec import make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto
from penstock.graph.constants import constant_value as constant_value


def ops_used_by_graph_def(graph_def: Any) -> list[str]:
    """The set of op types in a GraphDef and its functions."""
    nodes = [*graph_def.node, *(node for function in graph_def.library.function for node in function.node_def)]
    return list(dict.fromkeys(node.op for node in nodes))


_absent.tell_in(__name__)
