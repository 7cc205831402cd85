"""Ops that add a layer to an ensemble, and that give it a first value (TF: training_ops)."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import torch

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel
from penstock.ops.boosted_trees.ensemble import Ensemble, Split
from penstock.ops.boosted_trees.resources import define
from penstock.ops.boosted_trees.stats_ops import F32, TOLERANCE, weights_and_gains
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext

_LOG = logging.getLogger(__name__)
_LEAST_CHANGE = 0.01
"""A first value that changes by less, relatively, is good enough."""


def _update(ctx: KernelContext) -> Kernel:
    pruning = ctx["pruning_mode"]

    def update(
        ensemble: Ensemble,
        feature_ids: Any,
        node_ids: list[Any],
        gains: list[Any],
        thresholds: list[Any],
        left: list[Any],
        right: list[Any],
        max_depth: Any,
        learning_rate: Any,
    ) -> None:
        candidates = [
            [each.reshape(-1).tolist() for each in column]
            for column in zip(node_ids, gains, thresholds, left, right, strict=True)
        ]
        splits = _best_of_each_node(feature_ids.tolist(), candidates, F32(learning_rate))
        with ensemble.lock:
            ensemble.read_message()
            ensemble.stamp += 1
            tree = ensemble.attempt()
            if splits:
                ensemble.add_layer(tree, splits, int(max_depth), pruning)
            else:
                _LOG.warning("Not growing tree ensemble as no good splits were found.")

    return update


def _best_of_each_node(features: list[int], candidates: list[Any], rate: np.float32) -> dict[int, Split]:
    """Of equal gains that of the feature with the lowest number."""
    best: dict[int, tuple[float, int, int, float, float]] = {}
    for feature, columns in zip(features, candidates, strict=True):
        for node, gain, threshold, left, right in zip(*columns, strict=True):
            held = best.get(node)
            if held is not None:
                more = gain - held[0]
                better = feature < held[1] if abs(more) < TOLERANCE else more >= TOLERANCE
                if not better:
                    continue
            best[node] = gain, feature, threshold, left, right
    return {
        node: Split(gain, feature, threshold, rate * F32(left), rate * F32(right))
        for node, (gain, feature, threshold, left, right) in best.items()
    }


def _center(ctx: KernelContext) -> Kernel:
    def center(ensemble: Ensemble, mean_gradients: Any, mean_hessians: Any, l1: Any, l2: Any) -> torch.Tensor:
        gradients, hessians = mean_gradients.numpy(), mean_hessians.numpy()
        if gradients.shape[1] != 1:
            raise invalid(f"Expected logits_dim == 1, got {gradients.shape[1]}")
        logits, _ = weights_and_gains(gradients.reshape(-1)[0], hessians.reshape(-1)[0], F32(l1), F32(l2))
        with ensemble.lock:
            message = ensemble.read_message()
            ensemble.stamp += 1
            if not message.trees:
                ensemble.add_tree(float(logits))
                return torch.tensor(True)
            leaf = message.trees[0].nodes[0].leaf
            before = F32(leaf.scalar)
            with np.errstate(all="ignore"):
                goes_on = bool(np.abs(logits / before) > _LEAST_CHANGE)
            leaf.scalar = before + F32(logits)
            ensemble.changed(0)
            return torch.tensor(goes_on)

    return center


UPDATE_ENSEMBLE = define(
    "BoostedTreesUpdateEnsemble",
    "tree_ensemble_handle: resource, feature_ids: int32, node_ids: num_features * int32, gains: num_features * float, "
    "thresholds: num_features * int32, left_node_contribs: num_features * float, "
    "right_node_contribs: num_features * float, max_depth: int32, learning_rate: float",
    "",
    _update,
    attrs=("pruning_mode: int >= 0", "num_features: int >= 0"),
)
CENTER_BIAS = define(
    "BoostedTreesCenterBias",
    "tree_ensemble_handle: resource, mean_gradients: float, mean_hessians: float, l1: float, l2: float",
    "continue_centering: bool",
    _center,
    shape_rules.scalar,
)
