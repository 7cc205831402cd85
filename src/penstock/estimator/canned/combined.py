"""A linear model and a network together, wide and deep (TF: tf.estimator.DNNLinearCombinedClassifier, …)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from penstock import nn
from penstock.client.variable_scope import variable_scope
from penstock.estimator.canned.dnn import LEARNING_RATE, dnn_logit_fn
from penstock.estimator.canned.linear import linear_logit_fn, parts_of_servers, slices_of_64mb
from penstock.estimator.canned.model import check_features, classifier_head, optimizer_of, regressor_head
from penstock.estimator.estimator import Estimator
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import GraphKeys, control_dependencies, get_collection
from penstock.losses.collected import Reduction
from penstock.ops.basic import group
from penstock.ops.state import assign_add
from penstock.train.global_step import get_global_step

Logits = Callable[[Any, str], Tensor]


def _train(parts: list[tuple[str, Any]], loss: Tensor) -> Any:
    """Each scope's variables by its optimizer; then the global step grows."""
    updates = []
    for scope, optimizer in parts:
        variables = get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=scope)
        updates.append(optimizer.minimize(loss, var_list=variables))
    with control_dependencies([group(*updates)]):
        return assign_add(get_global_step(), 1).op


@export("estimator.DNNLinearCombinedEstimator", "contrib.estimator.DNNLinearCombinedEstimator")
class DNNLinearCombinedEstimator(Estimator):
    """The sum of the logits of a linear model and a network, with a head.

    The optimizers are by default Ftrl, with rate min(0.005, 1 / √columns), and Adagrad, with rate 0.05.
    """

    def __init__(
        self,
        head: Any,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Callable[[Any], Any] | None = nn.relu,
        dnn_dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        linear_sparse_combiner: str = "sum",
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        wide, deep = tuple(linear_feature_columns or ()), tuple(dnn_feature_columns or ())
        if not wide and not deep:
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        sizes = tuple(dnn_hidden_units or ())
        if deep and not sizes:
            raise ValueError("dnn_hidden_units must be defined when dnn_feature_columns is specified.")

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            check_features(features)
            inputs = input_layer_partitioner or slices_of_64mb(config)
            units, logits, parts = head.logits_dimension, [], []
            if deep:
                parts.append(("dnn", optimizer_of(dnn_optimizer, LEARNING_RATE)))
                with variable_scope("dnn", values=features.values(), partitioner=parts_of_servers(config)):
                    deep_logits = dnn_logit_fn(units, sizes, deep, dnn_activation_fn, dnn_dropout, inputs, batch_norm)
                    logits.append(deep_logits(features, mode))
            if wide:
                rate = min(0.005, 1 / math.sqrt(len(wide)))
                parts.append(("linear", optimizer_of(linear_optimizer, rate)))
                with variable_scope("linear", values=features.values(), partitioner=inputs):
                    logits.append(linear_logit_fn(units, wide, linear_sparse_combiner)(features))
            total = logits[0] if len(logits) == 1 else logits[0] + logits[1]
            return head.create_estimator_spec(
                features, mode, total, labels, train_op_fn=lambda loss: _train(parts, loss)
            )

        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


@export("estimator.DNNLinearCombinedClassifier")
class DNNLinearCombinedClassifier(DNNLinearCombinedEstimator):
    """A linear model and a network for classes (TF: tf.estimator.DNNLinearCombinedClassifier)."""

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Callable[[Any], Any] | None = nn.relu,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            linear_sparse_combiner,
            warm_start_from,
            batch_norm,
        )


@export("estimator.DNNLinearCombinedRegressor")
class DNNLinearCombinedRegressor(DNNLinearCombinedEstimator):
    """A linear model and a network for numbers (TF: tf.estimator.DNNLinearCombinedRegressor)."""

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Callable[[Any], Any] | None = nn.relu,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        super().__init__(
            regressor_head(label_dimension, weight_column, loss_reduction),
            model_dir,
            linear_feature_columns,
            linear_optimizer,
            dnn_feature_columns,
            dnn_optimizer,
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            input_layer_partitioner,
            config,
            linear_sparse_combiner,
            warm_start_from,
            batch_norm,
        )
