"""Why trees predict what they do: how much features gain, and what each adds to a prediction.

Source of the contributions: Palczewska et al., Interpreting random forest models using a feature contribution method
(2013).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.ops.boosted_trees.messages import DebugOutput, TreeEnsemble


def importances(serialized: bytes, names: Sequence[str], normalize: bool) -> OrderedDict[str, float]:
    """The gain of all splits by each column, from the largest. Raises AssertionError where it cannot be normalised."""
    ensemble = TreeEnsemble.FromString(serialized)
    found = np.zeros(len(names))
    for tree, weight in zip(ensemble.trees, ensemble.tree_weights, strict=True):
        of_tree = np.zeros(len(names))
        for node in tree.nodes:
            kind = node.WhichOneof("node")
            if kind == "bucketized_split":
                of_tree[node.bucketized_split.feature_id] += node.metadata.gain
            elif kind != "leaf":
                raise ValueError(f"Unexpected split type {kind}")
        found += of_tree * weight
    if normalize:
        assert np.all(found >= 0), "feature_importances must be non-negative."
        assert np.sum(found) > 0, "Trees are all empty or contain only a root node."
        found /= np.sum(found)
    return _by_column(names, found)


def contributions(serialized: bytes, names: Sequence[str], classes: bool) -> tuple[Any, OrderedDict[str, float]]:
    """The prediction before all splits, and how much each column changes it; of `classes`, probabilities."""
    path = DebugOutput.FromString(serialized)
    predictions = np.array(path.logits_path)
    if classes:
        predictions = 1 / (1 + np.exp(-predictions))
    changes = np.bincount(
        np.array(path.feature_ids, np.int64), weights=predictions[1:] - predictions[:-1], minlength=len(names)
    )
    return predictions[0], _by_column(names, changes)


def _by_column(names: Sequence[str], values: Any) -> OrderedDict[str, float]:
    """The sum for each column, from that which differs most from 0."""
    sums: dict[str, float] = {}
    for name, value in zip(names, values, strict=True):
        sums[name] = sums.get(name, 0) + value
    return OrderedDict(sorted(sums.items(), key=lambda item: abs(item[1]), reverse=True))
