"""Models that ignore the features, to compare others with (TF: tf.estimator.BaselineClassifier, BaselineRegressor)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.estimator.canned.model import classifier_head, optimizer_of, regressor_head
from penstock.estimator.estimator import Estimator
from penstock.estimator.run_config import RunConfig
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.feature_column.base import Features
from penstock.graph.composite import SparseTensor
from penstock.graph.opdef import get_op
from penstock.losses.collected import Reduction
from penstock.ops.filling import ones
from penstock.tensor.dtypes import int32


@export("estimator.BaselineEstimator")
class BaselineEstimator(Estimator):
    """A bias with a head. Its optimizer is by default Ftrl, with rate 0.3."""

    def __init__(
        self, head: Any, model_dir: Any = None, optimizer: Any = "Ftrl", config: RunConfig | None = None
    ) -> None:
        def model_fn(features: Any, labels: Any, mode: str, config: RunConfig) -> EstimatorSpec:
            units = head.logits_dimension
            with variable_scope("baseline", values=features.values()):
                bias = get_variable("bias", shape=[units], initializer=zeros_initializer())
                logits = bias * ones(get_op("Pack")([_batch_size(features), units]))
            chosen = optimizer_of(optimizer, 0.3)
            return head.create_estimator_spec(features, mode, logits, labels, chosen)

        super().__init__(model_fn, model_dir=model_dir, config=config)


def _batch_size(features: Any) -> Any:
    """The number of rows of a feature."""
    if not isinstance(features, Mapping) or not features:
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
    first = Features(features).get(min(features))
    if isinstance(first, SparseTensor):
        return get_op("Cast")(first.dense_shape[0], DstT=int32)
    return get_op("Shape")(first)[0]


@export("estimator.BaselineClassifier")
class BaselineClassifier(BaselineEstimator):
    """Predicts how frequent each class is (TF: tf.estimator.BaselineClassifier)."""

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        head = classifier_head(n_classes, weight_column, label_vocabulary, loss_reduction)
        super().__init__(head, model_dir, optimizer, config)


@export("estimator.BaselineRegressor")
class BaselineRegressor(BaselineEstimator):
    """Predicts the mean of the labels (TF: tf.estimator.BaselineRegressor)."""

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: RunConfig | None = None,
        loss_reduction: str = Reduction.SUM,
    ) -> None:
        super().__init__(regressor_head(label_dimension, weight_column, loss_reduction), model_dir, optimizer, config)
