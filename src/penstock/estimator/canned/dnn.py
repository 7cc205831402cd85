"""Networks of dense layers on feature columns (TF: tf.estimator.DNNClassifier, DNNRegressor, DNNEstimator)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import nn
from penstock.client.initializers import glorot_uniform_initializer
from penstock.client.variable_scope import variable_scope
from penstock.estimator.canned.linear import parts_of_servers, slices_of_64mb
from penstock.estimator.canned.model import check_features, classifier_head, optimizer_of, regressor_head
from penstock.estimator.estimator import Estimator
from penstock.estimator.mode_keys import ModeKeys
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.feature_column.inputs import input_layer
from penstock.graph.operation import Tensor
from penstock.layers.core import dense, dropout as dropout_layer
from penstock.layers.normalization import batch_normalization
from penstock.losses.collected import Reduction
from penstock.summary.functions import histogram, scalar

LEARNING_RATE = 0.05
"""Of the default optimizer, Adagrad."""


def dnn_logit_fn(
    units: int,
    hidden_units: Any,
    feature_columns: Any,
    activation_fn: Callable[[Any], Any] | None = nn.relu,
    dropout: float | None = None,
    input_layer_partitioner: Any = None,
    batch_norm: bool = False,
) -> Callable[[Any, str], Tensor]:
    """A function of features and mode that gives the logits of a network, and summaries of its layers."""

    def logit_fn(features: Any, mode: str) -> Tensor:
        training = mode == ModeKeys.TRAIN
        inputs = features.values()
        with variable_scope("input_from_feature_columns", values=inputs, partitioner=input_layer_partitioner):
            net = input_layer(features, feature_columns)
        for number, size in enumerate(hidden_units):
            with variable_scope(f"hiddenlayer_{number}", values=[net]) as scope:
                net = _layer(net, size, scope, activation_fn)
                if dropout is not None and training:
                    net = dropout_layer(net, rate=dropout, training=True)
                if batch_norm:
                    net = batch_normalization(net, momentum=0.999, training=training, name=f"batchnorm_{number}")
            _summarise(net, scope.name)
        with variable_scope("logits", values=[net]) as scope:
            logits = _layer(net, units, scope, None)
        _summarise(logits, scope.name)
        return logits

    return logit_fn


def _layer(net: Tensor, units: int, scope: Any, activation: Any) -> Tensor:
    return dense(net, units, activation=activation, kernel_initializer=glorot_uniform_initializer(), name=scope)


def _summarise(values: Tensor, name: str) -> None:
    scalar(f"{name}/fraction_of_zero_values", nn.zero_fraction(values))
    histogram(f"{name}/activation", values)


@export("estimator.DNNEstimator", "contrib.estimator.DNNEstimator")
class DNNEstimator(Estimator):
    """A network with a head. Its optimizer is by default Adagrad, with rate 0.05."""

    def __init__(
        self,
        head: Any,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[[Any], Any] | None = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        batch_norm: bool = False,
    ) -> None:
        columns, sizes = tuple(feature_columns or ()), tuple(hidden_units)  # of a `map`, too: it is used more than once

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            check_features(features)
            chosen = optimizer_of(optimizer, LEARNING_RATE)
            with variable_scope("dnn", values=features.values(), partitioner=parts_of_servers(config)):
                inputs = input_layer_partitioner or slices_of_64mb(config)
                logits = dnn_logit_fn(
                    head.logits_dimension, sizes, columns, activation_fn, dropout, inputs, batch_norm
                )(features, mode)
                return head.create_estimator_spec(features, mode, logits, labels, chosen)

        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


@export("estimator.DNNClassifier")
class DNNClassifier(DNNEstimator):
    """A network for classes (TF: tf.estimator.DNNClassifier)."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[[Any], Any] | None = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        super().__init__(
            classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )


@export("estimator.DNNRegressor")
class DNNRegressor(DNNEstimator):
    """A network for numbers (TF: tf.estimator.DNNRegressor)."""

    def __init__(
        self,
        hidden_units: Any,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Callable[[Any], Any] | None = nn.relu,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: RunConfig | None = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        batch_norm: bool = False,
    ) -> None:
        super().__init__(
            regressor_head(label_dimension, weight_column, loss_reduction),
            hidden_units,
            feature_columns,
            model_dir,
            optimizer,
            activation_fn,
            dropout,
            input_layer_partitioner,
            config,
            warm_start_from,
            batch_norm,
        )
