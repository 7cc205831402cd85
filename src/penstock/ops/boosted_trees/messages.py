"""The messages that describe trees: what checkpoints hold of an ensemble (TF: boosted_trees.proto)."""

from __future__ import annotations

from typing import Any

from penstock.tensor.messages import add_message, message_classes, new_file


def _file() -> Any:
    file = new_file("tensorflow/core/kernels/boosted_trees/boosted_trees.proto", "tensorflow.boosted_trees")
    add_message(file, "Vector", "repeated float value")
    add_message(file, "SparseVector", "repeated int32 index", "repeated float value")
    add_message(file, "Leaf", "Vector vector", "SparseVector sparse_vector", "float scalar", oneof="leaf")
    _outside_the_oneof(file)
    add_message(
        file,
        "BucketizedSplit",
        "int32 feature_id",
        "int32 threshold",
        "int32 left_id",
        "int32 right_id",
        "int32 dimension_id",
        "int32 default_direction",
    )
    add_message(
        file,
        "CategoricalSplit",
        "int32 feature_id",
        "int32 value",
        "int32 left_id",
        "int32 right_id",
        "int32 dimension_id",
    )
    add_message(file, "DenseSplit", "int32 feature_id", "float threshold", "int32 left_id", "int32 right_id")
    add_message(file, "NodeMetadata", "float gain", "Leaf original_leaf")
    add_message(
        file,
        "Node",
        "Leaf leaf",
        "BucketizedSplit bucketized_split",
        "CategoricalSplit categorical_split",
        "DenseSplit dense_split",
        "NodeMetadata metadata = 777",
        oneof="node",
    )
    _outside_the_oneof(file)
    add_message(file, "Tree", "repeated Node nodes")
    add_message(file, "PostPruneNodeUpdate", "int32 new_node_id", "repeated float logit_change")
    add_message(
        file,
        "TreeMetadata",
        "int32 num_layers_grown = 2",
        "bool is_finalized",
        "repeated PostPruneNodeUpdate post_pruned_nodes_meta",
    )
    add_message(
        file,
        "GrowingMetadata",
        "int64 num_trees_attempted",
        "int64 num_layers_attempted",
        "int32 last_layer_node_start",
        "int32 last_layer_node_end",
    )
    add_message(
        file,
        "TreeEnsemble",
        "repeated Tree trees",
        "repeated float tree_weights",
        "repeated TreeMetadata tree_metadata",
        "GrowingMetadata growing_metadata",
    )
    add_message(file, "DebugOutput", "repeated int32 feature_ids", "repeated float logits_path")
    return file


def _outside_the_oneof(file: Any) -> None:
    """The last field of the last message is a field like others."""
    file.message_type[-1].field[-1].ClearField("oneof_index")


_CLASSES = message_classes(_file())
TreeEnsemble: Any = _CLASSES["tensorflow.boosted_trees.TreeEnsemble"]
DebugOutput: Any = _CLASSES["tensorflow.boosted_trees.DebugOutput"]
