"""Pruning of a finished tree: splits that lost are taken back, from the bottom up.

Examples may be cached in nodes that are gone: for each node of the unpruned tree the metadata say which node it is
now, and how the value has changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def prune(tree: Any, metadata: Any) -> None:
    """Prunes a `Tree`, and fills the `post_pruned_nodes_meta` of its metadata if a node is gone."""
    nodes = tree.nodes
    gone: dict[int, tuple[int, np.float32]] = {}  # the parent, and how much more its value is
    _take_back(nodes, 0, gone)
    if not gone:
        return
    kept = [number for number in range(len(nodes)) if number not in gone]
    new = {old: number for number, old in enumerate(kept)}
    for number in range(len(nodes)):
        change, at = np.float32(0), number
        while at in gone:
            parent, more = gone[at]
            change, at = change + more, parent
        metadata.post_pruned_nodes_meta.add(new_node_id=new[at], logit_change=[change])
    remaining = [nodes[number] for number in kept]
    copies = [type(node).FromString(node.SerializeToString()) for node in remaining]
    del nodes[:]
    for node in copies:
        if node.WhichOneof("node") == "bucketized_split":
            split = node.bucketized_split
            split.left_id, split.right_id = new[split.left_id], new[split.right_id]
        nodes.append(node)


def _take_back(nodes: Any, number: int, gone: dict[int, tuple[int, np.float32]]) -> None:
    """Makes a node a leaf again if its gain is negative and its children, after pruning, are leaves."""
    node = nodes[number]
    if node.WhichOneof("node") == "leaf":
        return
    children = node.bucketized_split.left_id, node.bucketized_split.right_id
    for child in children:
        _take_back(nodes, child, gone)
    if node.metadata.gain >= 0 or any(nodes[child].WhichOneof("node") != "leaf" for child in children):
        return
    node.leaf.SetInParent()  # a root that was split at once had 0
    node.leaf.CopyFrom(node.metadata.original_leaf)
    for child in children:
        gone[child] = number, np.float32(node.leaf.scalar) - np.float32(nodes[child].leaf.scalar)
    node.ClearField("metadata")
