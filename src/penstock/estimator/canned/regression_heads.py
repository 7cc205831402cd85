"""Heads of regressors (TF: tf.contrib.estimator.regression_head, poisson_regression_head, logistic_regression_head)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import nn
from penstock.estimator.canned.head import Head, Metrics
from penstock.estimator.canned.head_base import LossSpec
from penstock.estimator.export.outputs import ExportOutput, RegressionOutput
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.losses.collected import Reduction
from penstock.losses.of_predictions import mean_squared_error
from penstock.metrics.means import mean
from penstock.ops.cast import cast
from penstock.ops.unary import exp
from penstock.tensor.dtypes import float32

_DEFAULT = Reduction.SUM_OVER_BATCH_SIZE


class RegressionHead(Head):
    def __init__(
        self, label_dimension: int, inverse_link_fn: Any, weight_column: Any, reduction: str, loss_fn: Any, name: Any
    ) -> None:
        super().__init__(weight_column, reduction, loss_fn, name)
        if label_dimension < 1:
            raise ValueError(f"Invalid label_dimension {label_dimension}.")
        self.label_dimension = label_dimension
        self._inverse_link_fn = inverse_link_fn

    @property
    def logits_dimension(self) -> int:
        return self.label_dimension

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        if self._inverse_link_fn is None:
            return {"predictions": logits}
        return {"predictions": self._inverse_link_fn(logits), "logits": logits}

    def outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return {"regression": RegressionOutput(predictions["predictions"])}

    def processed_labels(self, labels: Tensor) -> Tensor:
        return cast(labels, float32)

    def own_loss(self, labels: Tensor, logits: Tensor) -> Tensor:
        return mean_squared_error(labels, logits, reduction=Reduction.NONE)

    def own_metrics(self, found: LossSpec, predictions: dict[str, Any]) -> Metrics:
        return {
            "prediction/mean": mean(predictions["predictions"], found.weights, name="prediction/mean"),
            "label/mean": mean(found.processed_labels, found.weights, name="label/mean"),
        }


@export("contrib.estimator.regression_head")
def regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _DEFAULT,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Tensor], Tensor] | None = None,
    name: str | None = None,
) -> RegressionHead:
    """A head for `label_dimension` numbers, by squared errors (TF: the same name)."""
    return RegressionHead(label_dimension, inverse_link_fn, weight_column, loss_reduction, loss_fn, name)


@export("contrib.estimator.poisson_regression_head")
def poisson_regression_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = _DEFAULT,
    compute_full_loss: bool = True,
    name: str | None = None,
) -> RegressionHead:
    """A head for counts, whose logits are the logarithms of the means (TF: the same name)."""

    def loss_fn(labels: Tensor, logits: Tensor) -> Tensor:
        return nn.log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=compute_full_loss)

    return RegressionHead(label_dimension, exp, weight_column, loss_reduction, loss_fn, name)


@export("contrib.estimator.logistic_regression_head")
def logistic_regression_head(
    weight_column: Any = None, loss_reduction: str = _DEFAULT, name: str | None = None
) -> RegressionHead:
    """A head for probabilities, by sigmoid cross entropy (TF: the same name)."""

    def loss_fn(labels: Tensor, logits: Tensor) -> Tensor:
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    return RegressionHead(1, nn.sigmoid, weight_column, loss_reduction, loss_fn, name)
