"""An ensemble of trees that outlasts a step, and how a layer is added to it.

Each tree is grown layer by layer: a node that is split keeps the value it had as a leaf, and its children add to it.
Sources: Friedman, Greedy function approximation: a gradient boosting machine (2001); Chen and Guestrin, XGBoost: a
scalable tree boosting system (2016).
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np
from google.protobuf.message import DecodeError

from penstock import errors
from penstock.ops.boosted_trees.messages import TreeEnsemble
from penstock.ops.boosted_trees.pruning import prune
from penstock.ops.kernel_tools import invalid

NO_PRUNING, PRE_PRUNING, POST_PRUNING = range(3)


class Split(NamedTuple):
    """The best way to split a node."""

    gain: float
    feature: int
    threshold: int
    left: np.float32
    right: np.float32


class FlatTree(NamedTuple):
    """A tree as arrays, by node. `left` is 0 for leaves: the root is nobody's child."""

    feature: np.ndarray
    threshold: np.ndarray
    equal: np.ndarray
    """Whether the rows with exactly the threshold go left, rather than those up to it."""
    left: np.ndarray
    right: np.ndarray
    value: np.ndarray
    known: np.ndarray
    """Whether the node has a value: a root that was split at once has none, and its value is 0."""


class Ensemble:
    """An ensemble in a container. It has no trees (`message` is None) until it is created.

    `message` is a TreeEnsemble; whoever changes it holds `lock`, and says which tree is `changed`.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.lock = threading.RLock()
        self.stamp = -1
        self.message: Any = None
        self._flat: dict[int, FlatTree] = {}

    def create(self, stamp: int, serialized: bytes) -> None:
        """Unless there is one already."""
        with self.lock:
            if self.message is None:
                self.reset(stamp, serialized)

    def reset(self, stamp: int, serialized: bytes) -> None:
        """Raises InvalidArgumentError for bytes that are no TreeEnsemble."""
        try:
            message = TreeEnsemble.FromString(serialized)
        except DecodeError:
            raise invalid("Unable to parse tree ensemble proto.") from None
        with self.lock:
            self.stamp, self.message = stamp, message
            self._flat.clear()

    def clear(self) -> None:
        with self.lock:
            self.stamp, self.message = -1, None
            self._flat.clear()

    def read_message(self) -> Any:
        """The message; raises FailedPreconditionError if there is none yet."""
        if self.message is None:
            raise errors.FailedPreconditionError(
                None, None, f"Tree ensemble {self.name} is not initialized. Run its initializer, or restore it."
            )
        return self.message

    def changed(self, tree: int) -> None:
        self._flat.pop(tree, None)

    def flat(self, tree: int) -> FlatTree:
        found = self._flat.get(tree)
        if found is None:
            found = self._flat[tree] = _flat(self.message.trees[tree].nodes)
        return found

    # --- growing ----------------------------------------------------------------------------------------

    def add_tree(self, logits: float = 0.0) -> int:
        message = self.message
        message.trees.add().nodes.add().leaf.scalar = logits
        message.tree_weights.append(1.0)  # leaves are scaled by the learning rate, not trees
        message.tree_metadata.add()
        return len(message.trees) - 1

    def attempt(self) -> int:
        """Counts an attempt to grow, and returns the number of the tree that grows."""
        message, trees = self.message, len(self.message.trees)
        growing = message.growing_metadata
        growing.num_layers_attempted += 1
        fresh = not trees or (
            len(message.trees[-1].nodes) == 1 and (trees == 1 or message.tree_metadata[trees - 2].is_finalized)
        )
        growing.num_trees_attempted += fresh
        return trees - 1 if trees else self.add_tree()

    def add_layer(self, tree: int, splits: dict[int, Split], max_depth: int, pruning: int) -> None:
        """Splits nodes, by number; a tree of `max_depth` layers is finished, and the next one begins."""
        nodes, metadata = self.message.trees[tree].nodes, self.message.tree_metadata[tree]
        start = len(nodes)
        for number, split in sorted(splits.items()):
            if pruning != PRE_PRUNING or split.gain >= 0:
                _split_node(nodes, number, split)
        end = len(nodes)
        self.changed(tree)
        if start == end:
            return  # the same nodes are tried again, with other examples
        metadata.num_layers_grown += 1
        if metadata.num_layers_grown >= max_depth:
            start, end = 0, 1
            metadata.is_finalized = True
            if pruning == POST_PRUNING:
                prune(self.message.trees[tree], metadata)
            self.add_tree()
        growing = self.message.growing_metadata
        growing.last_layer_node_start, growing.last_layer_node_end = start, end


def _split_node(nodes: Any, number: int, split: Split) -> None:
    node = nodes[number]
    before = np.float32(node.leaf.scalar)
    left = len(nodes)
    if number or before:
        node.metadata.original_leaf.CopyFrom(node.leaf)
    node.metadata.gain = split.gain
    made = node.bucketized_split
    made.feature_id, made.threshold, made.left_id, made.right_id = split.feature, split.threshold, left, left + 1
    for change in (split.left, split.right):
        nodes.add().leaf.scalar = before + change


def _flat(nodes: Any) -> FlatTree:
    size = len(nodes)
    whole = np.zeros((4, size), np.int64)
    equal, known, value = np.zeros(size, bool), np.ones(size, bool), np.zeros(size, np.float32)
    for number, node in enumerate(nodes):
        kind = node.WhichOneof("node")
        if kind == "leaf":
            value[number] = _leaf_value(node.leaf)
            continue
        if kind == "bucketized_split":
            split, threshold = node.bucketized_split, node.bucketized_split.threshold
        elif kind == "categorical_split":
            split, threshold = node.categorical_split, node.categorical_split.value
            equal[number] = True
        else:
            raise errors.UnimplementedError(None, None, f"Trees with nodes of the kind {kind} cannot be used.")
        if split.feature_id < 0 or not all(number < child < size for child in (split.left_id, split.right_id)):
            raise invalid(
                f"Node {number} of a tree is split by feature {split.feature_id} to nodes {split.left_id} "
                f"and {split.right_id}: children come after their parent, and there are {size} nodes."
            )
        whole[:, number] = split.feature_id, threshold, split.left_id, split.right_id
        known[number] = node.metadata.HasField("original_leaf")
        value[number] = _leaf_value(node.metadata.original_leaf)
    return FlatTree(whole[0], whole[1], equal, whole[2], whole[3], value, known)


def _leaf_value(leaf: Any) -> Any:
    if leaf.WhichOneof("leaf") is None:
        return leaf.scalar
    if leaf.WhichOneof("leaf") == "vector" and len(leaf.vector.value) == 1:
        return leaf.vector.value[0]
    raise errors.UnimplementedError(None, None, "Trees with more than one logit cannot be used.")
