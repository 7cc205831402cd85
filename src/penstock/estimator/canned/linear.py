"""Linear models of feature columns (TF: tf.estimator.LinearClassifier, LinearRegressor, LinearEstimator)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from penstock.client.partitioners import min_max_variable_partitioner
from penstock.client.variable_scope import variable_scope
from penstock.estimator.canned.model import check_features, classifier_head, optimizer_of, regressor_head
from penstock.estimator.estimator import Estimator
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.feature_column.linear import linear_model
from penstock.graph.operation import Tensor
from penstock.losses.collected import Reduction
from penstock.nn import zero_fraction
from penstock.ops.array import reshape
from penstock.ops.joining import concat
from penstock.summary.functions import histogram, scalar

LogitFn = Callable[..., Tensor]


def linear_logit_fn(units: int, feature_columns: Any, sparse_combiner: str = "sum") -> LogitFn:
    """A function of features that gives the logits of a linear model, and summaries of its weights."""

    def logit_fn(features: Any) -> Tensor:
        variables: dict[Any, Any] = {}
        logits = linear_model(features, feature_columns, units, sparse_combiner, cols_to_vars=variables)
        bias = variables.pop("bias")
        if units > 1:
            histogram("bias", bias[0] if len(bias) == 1 else concat(bias, 0))
        else:
            scalar("bias", bias[0][0])
        weights = [part for parts in variables.values() for part in parts]
        scalar("fraction_of_zero_weights", zero_fraction(concat([reshape(part, [-1]) for part in weights], 0)))
        return logits

    return logit_fn


def parts_of_servers(config: RunConfig) -> Any:
    """Splits variables over the parameter servers."""
    return min_max_variable_partitioner(max_partitions=config.num_ps_replicas or 1)


def slices_of_64mb(config: RunConfig) -> Any:
    """The same, in parts of 64 MB at least."""
    return min_max_variable_partitioner(max_partitions=config.num_ps_replicas or 1, min_slice_size=64 << 20)


def _linear_model_fn(
    features: Any,
    labels: Any,
    mode: str,
    head: Any,
    feature_columns: Sequence[Any],
    optimizer: Any,
    partitioner: Any,
    config: RunConfig,
    sparse_combiner: str,
) -> EstimatorSpec:
    check_features(features)
    optimizer = optimizer_of(optimizer, min(0.2, 1 / math.sqrt(len(feature_columns))))
    partitioner = partitioner or slices_of_64mb(config)
    with variable_scope("linear", values=features.values(), partitioner=partitioner):
        logits = linear_logit_fn(head.logits_dimension, feature_columns, sparse_combiner)(features)
        return head.create_estimator_spec(features, mode, logits, labels, optimizer)


@export("estimator.LinearEstimator", "contrib.estimator.LinearEstimator")
class LinearEstimator(Estimator):
    """A linear model with a head. Its optimizer is by default Ftrl, with rate min(0.2, 1 / √columns)."""

    def __init__(
        self,
        head: Any,
        feature_columns: Any,
        model_dir: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        sparse_combiner: str = "sum",
        warm_start_from: Any = None,
    ) -> None:
        columns = tuple(feature_columns or ())

        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            return _linear_model_fn(
                features, labels, mode, head, columns, optimizer, partitioner, config, sparse_combiner
            )

        super().__init__(model_fn, model_dir=model_dir, config=config, warm_start_from=warm_start_from)


@export("estimator.LinearClassifier")
class LinearClassifier(LinearEstimator):
    """A linear model for classes; with two classes, logistic regression (TF: tf.estimator.LinearClassifier)."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner, warm_start_from
        )


@export("estimator.LinearRegressor")
class LinearRegressor(LinearEstimator):
    """Linear regression (TF: tf.estimator.LinearRegressor)."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = Reduction.SUM,
        sparse_combiner: str = "sum",
    ) -> None:
        head = regressor_head(label_dimension, weight_column, loss_reduction)
        super().__init__(
            head, feature_columns, model_dir, optimizer, config, partitioner, sparse_combiner, warm_start_from
        )
