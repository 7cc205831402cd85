"""Boosted trees that are made and trained at once, on data in memory (TF: tf.contrib.estimator.boosted_trees_…)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.data.dataset import Dataset
from penstock.estimator.canned.boosted_trees import BoostedTreesClassifier, BoostedTreesRegressor
from penstock.export import export

_Model = TypeVar("_Model", BoostedTreesClassifier, BoostedTreesRegressor)


def _trained(model: _Model, input_fn: Callable[[], Any], hooks: Any) -> _Model:
    """The model, trained on what `input_fn` gives again and again."""

    def repeated() -> Any:
        found = input_fn()
        return found.repeat() if isinstance(found, Dataset) else found

    model.train(repeated, hooks=hooks)
    return model


@export("contrib.estimator.boosted_trees_classifier_train_in_memory")
def boosted_trees_classifier_train_in_memory(
    train_input_fn: Callable[[], Any],
    feature_columns: Any,
    model_dir: Any = None,
    n_classes: int | None = None,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    n_trees: int = 100,
    max_depth: int = 6,
    learning_rate: float = 0.1,
    l1_regularization: float = 0.0,
    l2_regularization: float = 0.0,
    tree_complexity: float = 0.0,
    min_node_weight: float = 0.0,
    config: Any = None,
    train_hooks: Any = None,
    center_bias: bool = False,
    pruning_mode: str = "none",
    quantile_sketch_epsilon: float = 0.01,
) -> BoostedTreesClassifier:
    """A trained BoostedTreesClassifier. `train_input_fn` gives all of the data in one batch (TF: the same name)."""
    model = BoostedTreesClassifier(
        feature_columns, 1, model_dir, n_classes, weight_column, label_vocabulary, n_trees, max_depth, learning_rate,
        l1_regularization, l2_regularization, tree_complexity, min_node_weight, config, center_bias, pruning_mode,
        quantile_sketch_epsilon, train_in_memory=True,
    )  # fmt: skip
    return _trained(model, train_input_fn, train_hooks)


@export("contrib.estimator.boosted_trees_regressor_train_in_memory")
def boosted_trees_regressor_train_in_memory(
    train_input_fn: Callable[[], Any],
    feature_columns: Any,
    model_dir: Any = None,
    label_dimension: int | None = None,
    weight_column: Any = None,
    n_trees: int = 100,
    max_depth: int = 6,
    learning_rate: float = 0.1,
    l1_regularization: float = 0.0,
    l2_regularization: float = 0.0,
    tree_complexity: float = 0.0,
    min_node_weight: float = 0.0,
    config: Any = None,
    train_hooks: Any = None,
    center_bias: bool = False,
    pruning_mode: str = "none",
    quantile_sketch_epsilon: float = 0.01,
) -> BoostedTreesRegressor:
    """A trained BoostedTreesRegressor. `train_input_fn` gives all of the data in one batch (TF: the same name)."""
    model = BoostedTreesRegressor(
        feature_columns, 1, model_dir, label_dimension, weight_column, n_trees, max_depth, learning_rate,
        l1_regularization, l2_regularization, tree_complexity, min_node_weight, config, center_bias, pruning_mode,
        quantile_sketch_epsilon, train_in_memory=True,
    )  # fmt: skip
    return _trained(model, train_input_fn, train_hooks)
