"""Heads that programs take from inside TensorFlow (TF: tensorflow.python.estimator.canned.head).

They are those of tf.contrib.estimator, but sum the losses of a batch where nothing else is said, and do not take the
mean of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.estimator.canned.class_heads import (
    BinaryHead,
    MultiClassHead,
    binary_classification_head,
    multi_class_head,
)
from penstock.estimator.canned.model import classifier_head
from penstock.estimator.canned.regression_heads import RegressionHead
from penstock.graph.operation import Tensor
from penstock.losses.collected import Reduction

binary_or_multi_class_head = classifier_head


def binary_head(
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> BinaryHead:
    """TF: _binary_logistic_head_with_sigmoid_cross_entropy_loss."""
    return binary_classification_head(weight_column, thresholds, label_vocabulary, loss_reduction, loss_fn, name)


def softmax_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> MultiClassHead:
    """TF: _multi_class_head_with_softmax_cross_entropy_loss."""
    return multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction, loss_fn, name)


def squares_head(
    weight_column: Any = None,
    label_dimension: int = 1,
    loss_reduction: str = Reduction.SUM,
    loss_fn: Callable[..., Any] | None = None,
    inverse_link_fn: Callable[[Tensor], Tensor] | None = None,
    name: str | None = None,
) -> RegressionHead:
    """TF: _regression_head, until 1.5 _regression_head_with_mean_squared_error_loss."""
    return RegressionHead(label_dimension, inverse_link_fn, weight_column, loss_reduction, loss_fn, name)
