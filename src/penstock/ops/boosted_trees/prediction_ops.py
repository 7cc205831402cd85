"""Ops that predict with an ensemble (TF: prediction_ops)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock.graph.opdef import Kernel
from penstock.graph.shape_context import ShapeContext
from penstock.ops.boosted_trees.ensemble import Ensemble, FlatTree
from penstock.ops.boosted_trees.messages import DebugOutput
from penstock.ops.boosted_trees.resources import define
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

F32 = np.float32


def _batch(features: list[Any]) -> np.ndarray:
    """[features, examples]."""
    return np.stack([feature.numpy() for feature in features])


def _down(tree: FlatTree, features: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """The leaf that each example gets to from its node."""
    examples = np.arange(len(nodes))
    while True:
        left = tree.left[nodes]
        inside = left > 0
        if not inside.any():
            return nodes
        value, threshold = features[tree.feature[nodes], examples], tree.threshold[nodes]
        goes_left = np.where(tree.equal[nodes], value == threshold, value <= threshold)
        nodes = np.where(inside, np.where(goes_left, left, tree.right[nodes]), nodes)


def _check(ctx: KernelContext) -> None:
    if ctx["logits_dimension"] != 1:
        raise invalid("Currently only one dimensional outputs are supported.")


# --- what trees say ------------------------------------------------------------------------------------


def _predict(ctx: KernelContext) -> Kernel:
    _check(ctx)

    def predict(ensemble: Ensemble, features: list[Any]) -> torch.Tensor:
        batch = _batch(features)
        logits = np.zeros(batch.shape[1], F32)
        with ensemble.lock:
            weights = np.array(ensemble.read_message().tree_weights, F32)
            for number, weight in enumerate(weights):
                tree = ensemble.flat(number)
                logits += weight * tree.value[_down(tree, batch, np.zeros(len(logits), np.int64))]
        return torch.from_numpy(logits[:, None])

    return predict


def _training_predict(ctx: KernelContext) -> Kernel:
    _check(ctx)

    def predict(ensemble: Ensemble, tree_ids: Any, node_ids: Any, features: list[Any]) -> tuple[torch.Tensor, ...]:
        batch, trees, nodes = _batch(features), tree_ids.numpy(), node_ids.numpy()
        logits = np.zeros(len(trees), F32)
        with ensemble.lock:
            weights = np.array(ensemble.read_message().tree_weights, F32)
            if not len(weights):
                return torch.from_numpy(logits[:, None]), tree_ids.clone(), torch.zeros_like(node_ids)
            at = np.zeros(len(trees), np.int64)
            for number in range(int(trees.min(initial=len(weights) - 1)), len(weights)):
                tree, seen = ensemble.flat(number), (trees == number) & (nodes >= 0)
                at, before = _resume(ensemble, number, nodes, seen)
                at = _down(tree, batch, at)
                logits += np.where(trees <= number, weights[number] * (before + tree.value[at]), F32(0))
        latest = np.full(len(trees), len(weights) - 1, np.int32)
        return torch.from_numpy(logits[:, None]), torch.from_numpy(latest), torch.from_numpy(at.astype(np.int32))

    return predict


def _resume(ensemble: Ensemble, number: int, nodes: np.ndarray, seen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The node where each example goes on, and minus what it has got from there already; the root and 0 if not `seen`.

    Pruning may have taken away the node that an example was in.
    """
    at, before = np.where(seen, nodes, 0).astype(np.int64), np.zeros(len(nodes), F32)
    updates = ensemble.read_message().tree_metadata[number].post_pruned_nodes_meta
    if updates and seen.any():
        change = np.array([update.logit_change[0] for update in updates], F32)
        before = np.where(seen, change[at], before)
        at = np.where(seen, np.array([update.new_node_id for update in updates])[at], at)
    tree = ensemble.flat(number)
    return at, np.where(seen & tree.known[at], before - tree.value[at], before)


# --- why they say it ------------------------------------------------------------------------------------


def _explain(ctx: KernelContext) -> Kernel:
    _check(ctx)

    def explain(ensemble: Ensemble, features: list[Any]) -> np.ndarray:
        batch = _batch(features)
        found = np.empty(batch.shape[1], object)
        with ensemble.lock:
            weights = np.array(ensemble.read_message().tree_weights, F32)
            trees = [ensemble.flat(number) for number in range(len(weights))]
            if not trees:
                raise invalid("An ensemble without trees explains nothing.")
            for example, row in enumerate(batch.T):
                found[example] = _path(trees, weights, row)
        return found

    return explain


def _path(trees: list[FlatTree], weights: np.ndarray, row: np.ndarray) -> bytes:
    """A DebugOutput: the features that an example was split by, and the logits at first and after each."""
    found = DebugOutput()
    logit, past = weights[0] * trees[0].value[0], F32(0)
    found.logits_path.append(logit)
    for number, tree in enumerate(trees):
        at = 0
        while tree.left[at]:
            feature, threshold = tree.feature[at], tree.threshold[at]
            value = row[feature]
            goes_left = value == threshold if tree.equal[at] else value <= threshold
            at = (tree.left if goes_left else tree.right)[at]
            logit = weights[number] * tree.value[at]
            found.feature_ids.append(int(feature))
            found.logits_path.append(logit + past)
        if at or not number:  # a root that was never split says nothing, except the first, which is the bias
            past += logit
    serialized: bytes = found.SerializeToString()
    return serialized


# --- ops ------------------------------------------------------------------------------------------------


def _examples(features: list[TensorShape], *others: TensorShape) -> Any:
    for shape in (*features, *others):
        shape.with_rank(1).assert_is_compatible_with(features[0])
    return features[0].with_rank(1).as_list()[0]


def _logits_shape(c: ShapeContext, handle: TensorShape, features: list[TensorShape]) -> TensorShape:
    return TensorShape([_examples(features), c.attrs["logits_dimension"]])


def _training_shape(
    c: ShapeContext, handle: TensorShape, trees: TensorShape, nodes: TensorShape, features: list[TensorShape]
) -> list[TensorShape]:
    examples = _examples(features, trees, nodes)
    return [TensorShape([examples, c.attrs["logits_dimension"]]), TensorShape([examples]), TensorShape([examples])]


def _path_shape(c: ShapeContext, handle: TensorShape, features: list[TensorShape]) -> TensorShape:
    return TensorShape([_examples(features)])


_FEATURES = "bucketized_features: num_bucketized_features * int32"
_ATTRS = ("num_bucketized_features: int >= 1", "logits_dimension: int")

PREDICT = define(
    "BoostedTreesPredict",
    f"tree_ensemble_handle: resource, {_FEATURES}",
    "logits: float",
    _predict,
    _logits_shape,
    _ATTRS,
    reads="tree_ensemble_handle",
)
TRAINING_PREDICT = define(
    "BoostedTreesTrainingPredict",
    f"tree_ensemble_handle: resource, cached_tree_ids: int32, cached_node_ids: int32, {_FEATURES}",
    "partial_logits: float, tree_ids: int32, node_ids: int32",
    _training_predict,
    _training_shape,
    _ATTRS,
    reads="tree_ensemble_handle",
)
EXAMPLE_DEBUG_OUTPUTS = define(
    "BoostedTreesExampleDebugOutputs",
    f"tree_ensemble_handle: resource, {_FEATURES}",
    "examples_debug_outputs_serialized: string",
    _explain,
    _path_shape,
    _ATTRS,
    reads="tree_ensemble_handle",
)
