"""Finds the valid ids of a sparse lookup, their rows and the distinct ones in one node.

Models of categories have one such lookup for each column. Seven kernels, each of a hundred numbers or so, become one:
most of their time is that of a call.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import numpy as np

from penstock.graph.rewrite import remove_unused, rewritten
from penstock.graph.step_graph import Edge, Node, StepGraph
from penstock.ops.fused_lookups import VALID_IDS
from penstock.passes.nodes import on_cpu
from penstock.tensor.dtypes import int32, int64

_FIRST_COLUMN = {"begin_mask": 1, "end_mask": 1, "shrink_axis_mask": 2, "ellipsis_mask": 0, "new_axis_mask": 0}


def fuse_lookups(graph: StepGraph) -> StepGraph:
    """`graph` with `_ValidIds` for the nodes that tf.nn.safe_embedding_lookup_sparse begins with."""
    gathered: dict[Edge, list[Node]] = defaultdict(list)
    for node in graph.nodes:
        if node.op.name == "GatherV2" and not node.controls:
            gathered[node.inputs[1]].append(node)
    edges: dict[Edge, Edge] = {}
    made: dict[Node, Node] = {}
    for node in graph.nodes:
        ids = _valid_ids(node)
        if ids is None:
            continue
        taken = node.inputs[0].node
        others = [n for n in gathered[taken.inputs[1]] if n is not taken]
        rows = [(n, indices) for n in others if (indices := _indices(n, node)) is not None]
        if len(rows) != 1:  # the rows of other indices would be a second node
            continue
        (found, indices) = rows[0]
        made[node] = _fused(node, ids, indices)
        edges[Edge(found, 0)] = Edge(made[node], 2)
    return remove_unused(rewritten(graph, made, edges, order=[])) if made else graph


def _valid_ids(node: Node) -> Edge | None:
    """The ids whose valid ones a Unique is of: Gather(ids, Reshape(Where(ids >= 0), [-1]))."""
    if node.op.name != "Unique" or node.attrs["T"] not in (int32, int64) or not on_cpu(node.device):
        return None
    taken = node.inputs[0].node
    if not _is(taken, "GatherV2", node) or _constant(taken.inputs[2]) != [0]:
        return None
    ids, places, _ = taken.inputs
    reshape = places.node
    if not _is(reshape, "Reshape", node) or _constant(reshape.inputs[1]) != [-1]:
        return None
    where = reshape.inputs[0].node
    if not _is(where, "Where", node):
        return None
    valid = where.inputs[0].node
    if not _is(valid, "GreaterEqual", node) or valid.inputs[0] != ids:
        return None
    other = valid.inputs[1].node
    scalar = other.is_constant and other.attrs["value"].ndim == 0 and not other.controls and other.attrs["value"] == 0
    return ids if scalar and _rank(ids) == 1 else None


def _indices(node: Node, unique: Node) -> Edge | None:
    """The indices of which a Gather is given the first column; or what it is given, if that is some other vector."""
    if node.device != unique.device or _constant(node.inputs[2]) != [0] or node.attrs.get("batch_dims"):
        return None
    vector = node.inputs[0]
    if vector.dtype != int64 or _rank(vector) != 1:
        return None
    return vector.node.inputs[0] if _is_first_column(vector.node, unique) else vector


def _is_first_column(node: Node, unique: Node) -> bool:
    if not _is(node, "StridedSlice", unique) or any(node.attrs[name] != n for name, n in _FIRST_COLUMN.items()):
        return False
    matrix, begin, _, strides = node.inputs
    at, steps = _constant(begin), _constant(strides)
    return at is not None and len(at) == 2 and at[1] == 0 and steps == [1, 1] and _rank(matrix) == 2


def _rank(edge: Edge) -> int | None:
    return edge.node.shapes[edge.port].ndims


def _is(node: Node, op: str, like: Node) -> bool:
    """Whether this is such a node, on the same device, that waits for nothing."""
    return node.op.name == op and not node.controls and node.device == like.device


def _constant(edge: Edge) -> list[int] | None:
    node = edge.node
    return np.ravel(node.attrs["value"]).tolist() if node.is_constant and not node.controls else None


def _fused(unique: Node, ids: Edge, indices: Edge) -> Node:
    attrs: dict[str, Any] = {name: unique.attrs[name] for name in ("T", "out_idx", "_class") if name in unique.attrs}
    dtypes, shapes = (*unique.dtypes, int64), (*unique.shapes, unique.shapes[1])
    return replace(unique, op=VALID_IDS, attrs=attrs, inputs=(ids, indices), dtypes=dtypes, shapes=shapes)
