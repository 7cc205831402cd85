"""Heads as classes (TF: tf.estimator.BinaryClassHead, …): those of TensorFlow 2, which 1.15 has, too.

They differ from those of tf.contrib.estimator in what trains: an optimizer is one of tf.keras.optimizers, is given the
variables, and nothing in UPDATE_OPS runs unless it is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import nn
from penstock.estimator.canned import class_heads, regression_heads
from penstock.estimator.canned.head import Head
from penstock.estimator.spec import EstimatorSpec
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.losses.collected import Reduction
from penstock.ops.add_n import add_n
from penstock.ops.basic import group
from penstock.ops.unary import exp

_MEAN = "sum_over_batch_size"
_REDUCTIONS = {
    "auto": Reduction.SUM_OVER_BATCH_SIZE,
    _MEAN: Reduction.SUM_OVER_BATCH_SIZE,
    "sum": Reduction.SUM,
}
"""By name in tf.keras.losses.Reduction."""


def _reduction(asked: str) -> str:
    """Raises ValueError for those of tf.losses.Reduction, whose names are others, and for no reduction."""
    if asked not in _REDUCTIONS:
        raise ValueError(f"Invalid loss_reduction: {asked}. See `tf.keras.losses.Reduction` for valid options.")
    return _REDUCTIONS[asked]


class _HeadClass(Head):
    """What the heads of this module have in common."""

    @property
    def loss_reduction(self) -> str:
        return next(name for name, own in reversed(_REDUCTIONS.items()) if own == self._loss_reduction)

    def loss(
        self, labels: Any, logits: Any, features: Any = None, mode: Any = None, regularization_losses: Any = None
    ) -> Tensor:
        """The loss of logits [batch, logits_dimension], with the sum of `regularization_losses`."""
        found = self.create_loss(features, mode, logits, labels).training_loss
        return found if regularization_losses is None else found + add_n(regularization_losses)

    def create_estimator_spec(  # type: ignore[override]
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        trainable_variables: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        update_ops: Any = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:
        """The EstimatorSpec of a model with these logits [batch, logits_dimension].

        Training changes `trainable_variables` by a Keras optimizer, or runs `train_op_fn` of the loss, and runs
        `update_ops`.
        """
        self._variables, self._updates = trainable_variables, update_ops
        return super().create_estimator_spec(
            features, mode, logits, labels, optimizer, train_op_fn, regularization_losses
        )

    def _train_op(self, loss: Tensor, optimizer: Any, train_op_fn: Callable[[Tensor], Any] | None) -> Any:
        if optimizer is not None and train_op_fn is not None:
            raise ValueError("train_op_fn and optimizer cannot both be set.")
        if optimizer is not None:
            if not hasattr(optimizer, "get_updates"):
                raise ValueError(f"The given optimizer is not a tf.keras.optimizers.Optimizer instance: {optimizer}")
            if self._variables is None:
                raise ValueError("trainable_variables cannot be None. Given None")
            train_op = group(*optimizer.get_updates(loss, self._variables))
        elif train_op_fn is not None:
            train_op = train_op_fn(loss)
        else:
            raise ValueError("train_op_fn and optimizer cannot both be None.")
        return train_op if self._updates is None else group(train_op, *self._updates)


@export("estimator.BinaryClassHead")
class BinaryClassHead(_HeadClass, class_heads.BinaryHead):
    """Two classes, by sigmoid cross entropy of one logit."""

    def __init__(
        self,
        weight_column: Any = None,
        thresholds: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = _MEAN,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(thresholds, label_vocabulary, weight_column, _reduction(loss_reduction), loss_fn, name)


@export("estimator.MultiClassHead")
class MultiClassHead(_HeadClass, class_heads.MultiClassHead):
    """One of more than two classes, by softmax cross entropy."""

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = _MEAN,
        loss_fn: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes <= 2:
            raise ValueError(f"n_classes must be > 2: {n_classes}.")
        super().__init__(n_classes, label_vocabulary, weight_column, _reduction(loss_reduction), loss_fn, name)


@export("estimator.MultiLabelHead")
class MultiLabelHead(_HeadClass, class_heads.MultiLabelHead):
    """Any number of classes at once, by the mean of their sigmoid cross entropies."""

    def __init__(
        self,
        n_classes: int,
        weight_column: Any = None,
        thresholds: Any = None,
        label_vocabulary: Any = None,
        loss_reduction: str = _MEAN,
        loss_fn: Callable[..., Any] | None = None,
        classes_for_class_based_metrics: Any = None,
        name: str | None = None,
    ) -> None:
        if n_classes is None or n_classes < 2:
            raise ValueError(f"n_classes must be > 1 for multi-label classification. Given: {n_classes}")
        reduction, watched = _reduction(loss_reduction), classes_for_class_based_metrics
        super().__init__(n_classes, thresholds, label_vocabulary, weight_column, reduction, loss_fn, watched, name)


@export("estimator.RegressionHead")
class RegressionHead(_HeadClass, regression_heads.RegressionHead):
    """`label_dimension` numbers, by squared errors."""

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = _MEAN,
        loss_fn: Callable[..., Any] | None = None,
        inverse_link_fn: Callable[[Tensor], Tensor] | None = None,
        name: str | None = None,
    ) -> None:
        super().__init__(label_dimension, inverse_link_fn, weight_column, _reduction(loss_reduction), loss_fn, name)


@export("estimator.PoissonRegressionHead")
class PoissonRegressionHead(RegressionHead):
    """Counts, whose logits are the logarithms of the means."""

    def __init__(
        self,
        label_dimension: int = 1,
        weight_column: Any = None,
        loss_reduction: str = _MEAN,
        compute_full_loss: bool = True,
        name: str | None = None,
    ) -> None:
        def loss_fn(labels: Tensor, logits: Tensor) -> Tensor:
            return nn.log_poisson_loss(targets=labels, log_input=logits, compute_full_loss=compute_full_loss)

        super().__init__(label_dimension, weight_column, loss_reduction, loss_fn, exp, name)


@export("estimator.LogisticRegressionHead")
class LogisticRegressionHead(RegressionHead):
    """Probabilities, by sigmoid cross entropy."""

    def __init__(self, weight_column: Any = None, loss_reduction: str = _MEAN, name: str | None = None) -> None:
        def loss_fn(labels: Tensor, logits: Tensor) -> Tensor:
            return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

        super().__init__(1, weight_column, loss_reduction, loss_fn, nn.sigmoid, name)
