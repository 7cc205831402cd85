"""Gradient boosted trees on feature columns (TF: tf.estimator.BoostedTreesClassifier, BoostedTreesRegressor)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from penstock.client.variable import enable_resource_variables
from penstock.estimator.canned.class_heads import BinaryHead, MultiClassHead, binary_classification_head
from penstock.estimator.canned.head import _checked_labels
from penstock.estimator.canned.regression_heads import regression_head
from penstock.estimator.canned.trees import columns as tree_columns
from penstock.estimator.canned.trees.explaining import contributions, importances
from penstock.estimator.canned.trees.growing import Hyperparameters
from penstock.estimator.canned.trees.model import GradientsAndHessians, Trees, model_fn as trees_model_fn
from penstock.estimator.estimator import Estimator
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.losses.collected import Reduction
from penstock.ops.array import size
from penstock.ops.basic import no_op
from penstock.ops.boosted_trees.prediction_ops import EXAMPLE_DEBUG_OUTPUTS
from penstock.ops.cast import cast
from penstock.ops.unary import exp, reciprocal
from penstock.tensor.dtypes import float32
from penstock.train.checkpoint_utils import load_checkpoint

_PATHS = "_serialized_debug_outputs_proto"
"""The prediction that explanations are made of."""

ENSEMBLE_IN_CHECKPOINTS = "boosted_trees:0_serialized"


class _BoostedTrees(Estimator):
    """Trees with a head, and what explains them."""

    def __init__(
        self,
        head: Any,
        feature_columns: Any,
        parameters: Hyperparameters,
        n_batches_per_layer: Any,
        model_dir: Any,
        config: RunConfig | None,
        classes: bool,
        closed_form: GradientsAndHessians | None = None,
        weight_column: Any = None,
        train_in_memory: bool = False,
    ) -> None:
        enable_resource_variables()  # as TensorFlow does here, so that the global step is one too
        self._head, self._parameters, self._classes = head, parameters, classes
        self._columns = tree_columns.by_name(feature_columns)
        self._names = tree_columns.names_of_features(self._columns)

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            return trees_model_fn(
                features, labels, mode, head, self._columns, parameters, n_batches_per_layer, config, closed_form,
                weight_column, train_in_memory,
            )  # fmt: skip

        super().__init__(model_fn, model_dir=model_dir, config=config)

    def experimental_feature_importances(self, normalize: bool = False) -> OrderedDict[str, float]:
        """How much all splits by each column have gained, by its name, from the largest; with `normalize`, of 1.

        Raises ValueError before training, and AssertionError where gains are negative or nothing is split.
        """
        serialized = load_checkpoint(self.model_dir).get_tensor(ENSEMBLE_IN_CHECKPOINTS)
        if not serialized:
            raise ValueError(
                "Found empty serialized string for TreeEnsemble.You should only call this method after training."
            )
        return importances(serialized, self._names, normalize)

    def experimental_predict_with_explanations(
        self, input_fn: Callable[..., Any], predict_keys: Any = None, hooks: Any = None, checkpoint_path: Any = None
    ) -> Iterator[Any]:
        """`predict`, whose predictions also have "bias", the prediction without features, and "dfc": how much each
        column changes it, by name, from the largest change. Raises ValueError without `center_bias`."""
        if not self._parameters.center_bias:
            raise ValueError(
                "center_bias must be enabled during estimator instantiation when using "
                "experimental_predict_with_explanations."
            )
        if not self._classes and getattr(self._head, "_inverse_link_fn", None) is not None:
            raise ValueError(
                "For now only identity inverse_link_fn in regression_head is supported for "
                "experimental_predict_with_explanations."
            )
        explained = Estimator(self._explained, model_dir=self.model_dir, config=self.config)
        keys = None if predict_keys is None else {*predict_keys, _PATHS}
        for found in explained.predict(input_fn, predict_keys=keys, hooks=hooks, checkpoint_path=checkpoint_path):
            found["bias"], found["dfc"] = contributions(found.pop(_PATHS), self._names, self._classes)
            yield found

    def _explained(self, features: Any, labels: Any, mode: str) -> EstimatorSpec:
        with name_scope("boosted_trees") as scope:
            trees, dimension = Trees(scope, self._columns, self._parameters), self._head.logits_dimension
            buckets = trees.buckets(features)
            spec = self._head.create_estimator_spec(
                features=features,
                mode=ModeKeys.PREDICT,
                labels=None,
                train_op_fn=lambda loss: no_op(),
                logits=trees.logits(buckets, dimension),
            )
            paths = EXAMPLE_DEBUG_OUTPUTS(trees.ensemble.resource_handle, buckets, logits_dimension=dimension)
            found: EstimatorSpec = spec._replace(predictions={**spec.predictions, _PATHS: paths})
            return found


# --- heads ----------------------------------------------------------------------------------------------


def _classifier_head(n_classes: int, weight_column: Any, label_vocabulary: Any) -> BinaryHead:
    if n_classes != 2:
        raise ValueError(f"For now only binary classification is supported.n_classes given as {n_classes}")
    return binary_classification_head(
        weight_column, label_vocabulary=label_vocabulary, loss_reduction=Reduction.SUM_OVER_BATCH_SIZE
    )


def _closed_form(weight_column: Any, label_vocabulary: Any) -> GradientsAndHessians | None:
    """Of the mean logistic loss; None where `tf.gradients` is to find them."""
    if weight_column is not None or label_vocabulary is not None:
        return None

    def gradients_and_hessians(logits: Tensor, labels: Any) -> tuple[Tensor, Tensor]:
        predictions = reciprocal(exp(-logits) + 1.0)
        share = reciprocal(cast(size(predictions), float32))
        wanted = _checked_labels(cast(labels, float32), logits, 1)
        return (predictions - wanted) * share, predictions * (1.0 - predictions) * share

    return gradients_and_hessians


def _regressor_head(label_dimension: int, weight_column: Any) -> Any:
    if label_dimension != 1:
        raise ValueError(f"For now only 1 dimension regression is supported.label_dimension given as {label_dimension}")
    return regression_head(weight_column, label_dimension, Reduction.SUM_OVER_BATCH_SIZE)


# --- estimators -----------------------------------------------------------------------------------------


@export("estimator.BoostedTreesClassifier")
class BoostedTreesClassifier(_BoostedTrees):
    """Gradient boosted trees for two classes (TF: tf.estimator.BoostedTreesClassifier).

    feature_columns: indicator columns, bucketized columns, or numeric columns, whose buckets are made from their
    quantiles with an error of `quantile_sketch_epsilon`, before the first tree. n_batches_per_layer: a layer of a tree
    is grown after so many batches. n_trees, max_depth: training ends with so many trees of so many layers.
    learning_rate: by which trees are scaled. l1_regularization, l2_regularization: of the values of leaves.
    tree_complexity: a penalty for each split, for pruning. min_node_weight: the least sum of hessians of a node that is
    split. center_bias: whether the first tree begins with the mean. pruning_mode: "none", "pre" (only splits that gain
    are made) or "post" (those that do not are taken back when a tree is grown). train_in_memory: whether the input is
    all of the data in each batch, in the same order, so that steps go on where they were.
    """

    def __init__(
        self,
        feature_columns: Any,
        n_batches_per_layer: Any,
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
        config: RunConfig | None = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        """Raises ValueError for more than two classes, and for columns that trees cannot use."""
        super().__init__(
            _classifier_head(2 if n_classes is None else n_classes, weight_column, label_vocabulary),
            feature_columns,
            Hyperparameters(
                n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
                min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
            ),
            n_batches_per_layer,
            model_dir,
            config,
            True,
            _closed_form(weight_column, label_vocabulary),
            weight_column,
            train_in_memory,
        )  # fmt: skip


@export("estimator.BoostedTreesRegressor")
class BoostedTreesRegressor(_BoostedTrees):
    """Gradient boosted trees for a number (TF: tf.estimator.BoostedTreesRegressor). See `BoostedTreesClassifier`."""

    def __init__(
        self,
        feature_columns: Any,
        n_batches_per_layer: Any,
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
        config: RunConfig | None = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
        train_in_memory: bool = False,
    ) -> None:
        """Raises ValueError for more than one number, and for columns that trees cannot use."""
        super().__init__(
            _regressor_head(1 if label_dimension is None else label_dimension, weight_column),
            feature_columns,
            Hyperparameters(
                n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
                min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
            ),
            n_batches_per_layer,
            model_dir,
            config,
            False,
            None,
            weight_column,
            train_in_memory,
        )  # fmt: skip


@export("estimator.BoostedTreesEstimator")
class BoostedTreesEstimator(_BoostedTrees):
    """Gradient boosted trees with a head of one logit (TF: tf.estimator.BoostedTreesEstimator)."""

    def __init__(
        self,
        feature_columns: Any,
        n_batches_per_layer: Any,
        head: Any,
        model_dir: Any = None,
        weight_column: Any = None,
        n_trees: int = 100,
        max_depth: int = 6,
        learning_rate: float = 0.1,
        l1_regularization: float = 0.0,
        l2_regularization: float = 0.0,
        tree_complexity: float = 0.0,
        min_node_weight: float = 0.0,
        config: RunConfig | None = None,
        center_bias: bool = False,
        pruning_mode: str = "none",
        quantile_sketch_epsilon: float = 0.01,
    ) -> None:
        """`weight_column` is not used: the head has its own."""
        super().__init__(
            head,
            feature_columns,
            Hyperparameters(
                n_trees, max_depth, learning_rate, l1_regularization, l2_regularization, tree_complexity,
                min_node_weight, center_bias, pruning_mode, quantile_sketch_epsilon,
            ),
            n_batches_per_layer,
            model_dir,
            config,
            isinstance(head, BinaryHead | MultiClassHead),
        )  # fmt: skip
