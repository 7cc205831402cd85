"""Metrics that are means over everything seen so far (TF: tf.metrics.mean and what is built on it)."""

from __future__ import annotations

from typing import Any

from penstock.client.variable_scope import variable_scope
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies
from penstock.metrics.base import (
    Collections,
    Metric,
    broadcast_weights,
    finish,
    fitted,
    metric_variable,
    ratio,
)
from penstock.ops.arithmetic import subtract
from penstock.ops.array import size
from penstock.ops.cast import cast
from penstock.ops.confusion_matrix import confusion_matrix, remove_squeezable_dimensions
from penstock.ops.filling import ones_like, zeros_like
from penstock.ops.reduce import reduce_mean, reduce_sum
from penstock.ops.scatter import scatter_add
from penstock.ops.state import assign_add
from penstock.ops.unary import sqrt
from penstock.tensor.dtypes import float32, float64, int64


@export("metrics.mean", "contrib.metrics.streaming_mean")
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The weighted mean of all elements of all batches of `values`; 0 if there are none (TF: tf.metrics.mean).

    Variables `total` and `count`, the sum of the weights. `weights`: None for ones, or of the rank of `values`,
    each dim 1 or equal, or a scalar.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, float32)
        total = metric_variable([], float32, name="total")
        count = metric_variable([], float32, name="count")
        if weights is None:
            number = cast(size(values), float32)
        else:
            values, _, weights = fitted(values, None, weights)
            weights = broadcast_weights(weights, values)
            values = get_op("Mul")(values, weights)
            number = reduce_sum(weights)
        new_total = assign_add(total, reduce_sum(values))
        with control_dependencies([values]):
            new_count = assign_add(count, number)
        value = ratio(total, count, name="value")
        return finish(value, ratio(new_total, new_count, "update_op"), metrics_collections, updates_collections)


@export("metrics.mean_tensor", "contrib.metrics.streaming_mean_tensor")
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The weighted mean of all batches, element-wise (TF: tf.metrics.mean_tensor).

    `values` must have a static shape, which is also that of the variables `total_tensor` and `count_tensor`.
    """
    with variable_scope(name, "mean", (values, weights)):
        values = cast(values, float32)
        total = metric_variable(values.shape, float32, name="total_tensor")
        count = metric_variable(values.shape, float32, name="count_tensor")
        number = ones_like(values)
        if weights is not None:
            values, _, weights = fitted(values, None, weights)
            weights = broadcast_weights(weights, values)
            values = get_op("Mul")(values, weights)
            number = get_op("Mul")(number, weights)
        new_total = assign_add(total, values)
        with control_dependencies([values]):
            new_count = assign_add(count, number)
        value = ratio(total, count, name="value")
        return finish(value, ratio(new_total, new_count, "update_op"), metrics_collections, updates_collections)


@export("metrics.accuracy")
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """How often predictions equal labels, of any type and the same shape (TF: tf.metrics.accuracy)."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    if labels.dtype.base_dtype != predictions.dtype.base_dtype:
        predictions = cast(predictions, labels.dtype)
    correct = cast(get_op("Equal")(predictions, labels), float32)
    return mean(correct, weights, metrics_collections, updates_collections, name or "accuracy")


@export("metrics.mean_absolute_error")
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of |predictions - labels| (TF: tf.metrics.mean_absolute_error)."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    errors = get_op("Abs")(predictions - labels)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error")


@export("metrics.mean_squared_error")
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of (predictions - labels)² (TF: tf.metrics.mean_squared_error)."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    errors = get_op("SquaredDifference")(labels, predictions)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_squared_error")


@export("metrics.root_mean_squared_error")
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The root of the mean squared error (TF: tf.metrics.root_mean_squared_error)."""
    value, update = mean_squared_error(labels, predictions, weights, name=name or "root_mean_squared_error")
    return finish(sqrt(value), sqrt(update), metrics_collections, updates_collections)


@export("metrics.mean_relative_error")
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean of |labels - predictions| / normalizer, or 0 where the normalizer is 0 (TF:
    tf.metrics.mean_relative_error)."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    predictions.shape.assert_is_compatible_with(normalizer.shape)
    relative = get_op("RealDiv")(get_op("Abs")(labels - predictions), normalizer)
    errors = get_op("Select")(get_op("Equal")(normalizer, zeros_like(normalizer)), zeros_like(labels), relative)
    return mean(errors, weights, metrics_collections, updates_collections, name or "mean_relative_error")


@export("metrics.mean_cosine_distance")
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """1 - the mean of sum(labels * predictions, dim), for unit vectors along `dim`.

    TF: tf.metrics.mean_cosine_distance.
    """
    predictions, labels, weights = fitted(predictions, labels, weights)
    similarity = reduce_sum(get_op("Mul")(predictions, labels), axis=[dim], keepdims=True)
    value, update = mean(similarity, weights, None, None, name or "mean_cosine_distance")
    return finish(subtract(1.0, value), subtract(1.0, update), metrics_collections, updates_collections)


@export("metrics.percentage_below", "contrib.metrics.streaming_percentage_less")
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The fraction of values below `threshold` (TF: tf.metrics.percentage_below)."""
    below = cast(get_op("Less")(values, threshold), float32)
    return mean(below, weights, metrics_collections, updates_collections, name or "percentage_below_threshold")


# --- over classes ---------------------------------------------------------------------------------------


def _flat(x: Tensor) -> Tensor:
    return x if x.shape.ndims == 1 else get_op("Reshape")(x, [-1])


def streaming_confusion_matrix(labels: Any, predictions: Any, num_classes: Any, weights: Any = None) -> tuple[Any, Any]:
    """The confusion matrix [num_classes, num_classes] so far, the float64 variable `total_confusion_matrix`, and what
    adds a batch to it. Programs take it from `tensorflow.python.ops.metrics_impl` for metrics of their own.

    labels, predictions: classes, of any shape; weights: a scalar, or of that shape.
    """
    total = metric_variable([num_classes, num_classes], float64, name="total_confusion_matrix")
    predictions, labels = _flat(cast(predictions, int64)), _flat(cast(labels, int64))
    if weights is not None:
        weights = _flat(convert_to_tensor(weights))
    batch = confusion_matrix(labels, predictions, num_classes, dtype=float64, weights=weights)
    return total, assign_add(total, batch)


@export("metrics.mean_iou")
def mean_iou(
    labels: Any,
    predictions: Any,
    num_classes: Any,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean over classes of true positives / (true positives + both kinds of errors).

    Classes that occur neither as a label nor as a prediction do not count. The update is the confusion matrix
    [num_classes, num_classes] so far, float64, the variable `total_confusion_matrix`. TF: tf.metrics.mean_iou.
    """
    with variable_scope(name, "mean_iou", (predictions, labels, weights)):
        labels, predictions = convert_to_tensor(labels), convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total, update = streaming_confusion_matrix(labels, predictions, num_classes, weights)
        row_sums, column_sums = cast(reduce_sum(total, 0), float32), cast(reduce_sum(total, 1), float32)
        hits = cast(get_op("DiagPart")(total), float32)
        union = row_sums + column_sums - hits
        present = reduce_sum(cast(get_op("NotEqual")(union, 0.0), float32))
        union = get_op("Select")(get_op("Greater")(union, 0.0), union, ones_like(union))
        shares = reduce_sum(get_op("RealDiv")(hits, union), name="mean_iou")
        value = get_op("Select")(get_op("Greater")(present, 0.0), shares / present, 0.0)
        return finish(value, update, metrics_collections, updates_collections)


@export("metrics.mean_per_class_accuracy")
def mean_per_class_accuracy(
    labels: Any,
    predictions: Any,
    num_classes: int,
    weights: Any = None,
    metrics_collections: Collections = None,
    updates_collections: Collections = None,
    name: str | None = None,
) -> Metric:
    """The mean over all classes of their accuracies, 0 for classes without labels; the update returns these,
    [num_classes].

    TF: tf.metrics.mean_per_class_accuracy.
    """
    with variable_scope(name, "mean_accuracy", (predictions, labels, weights)):
        labels = cast(labels, int64)
        predictions = convert_to_tensor(predictions)
        predictions.shape.assert_is_compatible_with(labels.shape)
        total = metric_variable([num_classes], float32, name="total")
        count = metric_variable([num_classes], float32, name="count")
        labels = _flat(labels)
        predictions = _flat(predictions if predictions.dtype == labels.dtype else cast(predictions, labels.dtype))
        number = get_op("OnesLike")(cast(labels, float32))
        correct = cast(get_op("Equal")(predictions, labels), float32)
        if weights is not None:
            weights = cast(_flat(convert_to_tensor(weights)), float32)
            correct, number = get_op("Mul")(correct, weights), get_op("Mul")(number, weights)
        new_total = scatter_add(total, labels, number)
        new_count = scatter_add(count, labels, correct)
        value = reduce_mean(ratio(count, total), name="mean_accuracy")
        update = ratio(new_count, new_total, name="update_op")
        return finish(value, update, metrics_collections, updates_collections)
