"""Ops that find the best split of each node by each feature, from sums of gradients and hessians by bucket.

Numbers are float32 and summed in TensorFlow's order, so that the same splits are found.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch

from penstock.graph.opdef import Kernel
from penstock.graph.shape_context import ShapeContext
from penstock.ops.boosted_trees.resources import define
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

F32 = np.float32
TOLERANCE = F32(1e-15)
"""Gains that differ by less are equal, and less weight than this is none."""


def weights_and_gains(gradients: Any, hessians: Any, l1: np.float32, l2: np.float32) -> tuple[Any, Any]:
    """What leaves with these sums add to the logits, and how much that reduces twice the loss; element-wise.

    They minimise (h + l2) w² / 2 + g w + l1 |w|.
    """
    total = hessians + l2
    enough = total > TOLERANCE
    if l1 > 0:
        enough = enough & (np.abs(gradients) > l1)
        gradients = np.where(gradients > 0, gradients - l1, gradients + l1)
    weights = np.where(enough, -gradients / np.where(enough, total, F32(1)), F32(0))
    return weights, np.where(enough, -gradients * weights, F32(0))


# --- sums by bucket -------------------------------------------------------------------------------------


def _summary(ctx: KernelContext) -> Kernel:
    splits, buckets = ctx["max_splits"], ctx["num_buckets"]

    def summary(node_ids: Any, gradients: Any, hessians: Any, features: list[Any]) -> torch.Tensor:
        nodes = node_ids.numpy().astype(np.int64)
        sums = [np.asarray(each.numpy()[:, 0], np.float64) for each in (gradients, hessians)]
        found = np.empty([len(features), splits * buckets, 2], F32)
        for feature, values in enumerate(features):
            if values.shape != node_ids.shape:
                raise invalid(
                    f"feature {feature} should have same size as node_ids, got {len(values)} and {len(nodes)}"
                )
            cell = nodes * buckets + values.numpy()
            for which, each in enumerate(sums):
                found[feature, :, which] = np.bincount(cell, each, splits * buckets)[: splits * buckets]
        return torch.from_numpy(found.reshape(len(features), splits, buckets, 2))

    return summary


def _summary_shape(
    c: ShapeContext, nodes: TensorShape, gradients: TensorShape, hessians: TensorShape, features: list[TensorShape]
) -> TensorShape:
    gradients.with_rank(2).assert_is_compatible_with(hessians.with_rank(2))
    for shape in features:
        shape.with_rank(1).assert_is_compatible_with(nodes.with_rank(1))
    return TensorShape([c.attrs[key] for key in ("num_features", "max_splits", "num_buckets")] + [2])


MAKE_STATS_SUMMARY = define(
    "BoostedTreesMakeStatsSummary",
    "node_ids: int32, gradients: float, hessians: float, bucketized_features_list: num_features * int32",
    "stats_summary: float",
    _summary,
    _summary_shape,
    ("max_splits: int >= 1", "num_buckets: int >= 1", "num_features: int >= 1"),
)


# --- the best splits ------------------------------------------------------------------------------------


class _Best(NamedTuple):
    """Of each feature and node: its best split, as arrays [features, nodes]."""

    gain: np.ndarray
    bucket: np.ndarray
    left: np.ndarray
    right: np.ndarray


def _best_splits(stats: np.ndarray, l1: np.float32, l2: np.float32) -> _Best:
    """By the first of the best buckets. `stats`: [features, nodes, buckets, 2]."""
    sums = np.cumsum(stats, 2, F32)
    total = sums[:, :, -1]
    _, parent = weights_and_gains(total[..., 0], total[..., 1], l1, l2)
    best = None
    for bucket in range(stats.shape[2]):
        up_to = sums[:, :, bucket]
        left, gain_left = weights_and_gains(up_to[..., 0], up_to[..., 1], l1, l2)
        rest = total - up_to
        right, gain_right = weights_and_gains(rest[..., 0], rest[..., 1], l1, l2)
        found = _Best(gain_left + gain_right, np.full(left.shape, bucket, np.int32), left, right)
        if best is None:
            best = found
            continue
        better = found.gain - best.gain >= TOLERANCE
        best = _Best(*(np.where(better, new, old) for new, old in zip(found, best, strict=True)))
    assert best is not None
    return best._replace(gain=best.gain - parent)


def _gains(ctx: KernelContext) -> Kernel:
    def gains(
        node_id_range: Any, summaries: list[Any], l1: Any, l2: Any, tree_complexity: Any, min_node_weight: Any
    ) -> tuple[torch.Tensor, ...]:
        first, last = node_id_range.tolist()
        stats = np.stack([each.numpy()[first:last] for each in summaries])
        if stats.shape[-1] != 2:
            raise invalid(f"stats_summary_list must have exactly 2 dimensions, obtained: {stats.shape[-1]}")
        best = _best_splits(stats, F32(l1), F32(l2))
        weights = np.cumsum(stats[..., 1], 2, F32)[:, :, -1]
        heavy = ~(weights < F32(min_node_weight))
        nodes = np.arange(first, last, dtype=np.int32)
        penalised = best.gain - F32(tree_complexity)
        columns = (
            [nodes[some] for some in heavy],
            [gain[some] for gain, some in zip(penalised, heavy, strict=True)],
            [bucket[some] for bucket, some in zip(best.bucket, heavy, strict=True)],
            [left[some, None] for left, some in zip(best.left, heavy, strict=True)],
            [right[some, None] for right, some in zip(best.right, heavy, strict=True)],
        )
        return tuple(torch.from_numpy(array) for column in columns for array in column)

    return gains


def _gains_shape(c: ShapeContext, nodes: TensorShape, stats: list[TensorShape], *_: Any) -> list[TensorShape]:
    nodes.assert_is_compatible_with(TensorShape([2]))
    for shape in stats:
        shape.assert_is_compatible_with(TensorShape([c.attrs["max_splits"], None, 2]))
        shape.assert_is_compatible_with(stats[0])
    count = len(stats)
    return [TensorShape([None])] * 3 * count + [TensorShape([None, 1])] * 2 * count


CALCULATE_BEST_GAINS = define(
    "BoostedTreesCalculateBestGainsPerFeature",
    "node_id_range: int32, stats_summary_list: num_features * float, l1: float, l2: float, tree_complexity: float, "
    "min_node_weight: float",
    "node_ids_list: num_features * int32, gains_list: num_features * float, thresholds_list: num_features * int32, "
    "left_node_contribs_list: num_features * float, right_node_contribs_list: num_features * float",
    _gains,
    _gains_shape,
    ("max_splits: int >= 1", "num_features: int >= 1"),
)
