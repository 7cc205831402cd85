"""Heads of classifiers: two classes, several, and several at once (TF: tf.contrib.estimator.multi_class_head, …)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock import nn
from penstock.estimator.canned.head import (
    Head,
    Metrics,
    all_classes,
    checked_vocabulary,
    class_ids,
    class_names,
    in_range,
)
from penstock.estimator.canned.head_base import LossSpec
from penstock.estimator.export.outputs import ClassificationOutput, ExportOutput, RegressionOutput
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.losses.collected import Reduction
from penstock.losses.of_predictions import sparse_softmax_cross_entropy
from penstock.metrics.counts import precision, recall
from penstock.metrics.means import accuracy, mean
from penstock.metrics.thresholds import auc, precision_at_thresholds, recall_at_thresholds
from penstock.ops.arg_reductions import argmax
from penstock.ops.array import expand_dims
from penstock.ops.cast import cast
from penstock.ops.joining import concat
from penstock.ops.reduce import reduce_mean
from penstock.ops.sparse_functions import sparse_to_indicator
from penstock.tensor.dtypes import float32, int64, string

_DEFAULT = Reduction.SUM_OVER_BATCH_SIZE


class _Classes(Head):
    """Heads with names of classes."""

    def __init__(
        self, n_classes: int, label_vocabulary: Any, weight_column: Any, reduction: str, loss_fn: Any, name: str | None
    ) -> None:
        super().__init__(weight_column, reduction, loss_fn, name)
        self._n_classes = n_classes
        self._vocabulary = checked_vocabulary(label_vocabulary, n_classes)

    def _chosen(self, two_or_more: Tensor, logits: Tensor) -> dict[str, Tensor]:
        """The class with the greatest logit, and all classes."""
        ids = expand_dims(argmax(two_or_more, -1, name="class_ids"), -1)
        every, names = all_classes(self._vocabulary, self._n_classes, logits)
        return {
            "class_ids": ids,
            "classes": class_names(ids, self._vocabulary),
            "all_class_ids": every,
            "all_classes": names,
        }

    def _classification(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return {"classification": ClassificationOutput(predictions["probabilities"], predictions["all_classes"])}


class MultiClassHead(_Classes):
    @property
    def logits_dimension(self) -> int:
        return self._n_classes

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        probabilities = nn.softmax(logits, name="probabilities")
        return {"logits": logits, "probabilities": probabilities, **self._chosen(logits, logits)}

    def outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return self._classification(predictions)

    def processed_labels(self, labels: Tensor) -> Tensor:
        return class_ids(labels, self._vocabulary, self._n_classes)

    def own_loss(self, labels: Tensor, logits: Tensor) -> Tensor:
        ids = get_op("Squeeze")(labels, squeeze_dims=[-1])
        return expand_dims(sparse_softmax_cross_entropy(ids, logits, reduction=Reduction.NONE), -1)

    def own_metrics(self, found: LossSpec, predictions: dict[str, Any]) -> Metrics:
        ids = predictions["class_ids"]
        return {"accuracy": accuracy(found.processed_labels, ids, found.weights, name="accuracy")}


@export("contrib.estimator.multi_class_head")
def multi_class_head(
    n_classes: int,
    weight_column: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _DEFAULT,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> MultiClassHead:
    """A head for one of more than two classes, by softmax cross entropy (TF: the same name).

    Labels [batch] or [batch, 1] are ids, or strings of `label_vocabulary`.
    """
    if n_classes is None or n_classes <= 2:
        raise ValueError(f"n_classes must be > 2: {n_classes}.")
    return MultiClassHead(n_classes, label_vocabulary, weight_column, loss_reduction, loss_fn, name)


# --- two classes ----------------------------------------------------------------------------------------


def _checked_thresholds(thresholds: Any) -> tuple[float, ...]:
    for threshold in thresholds or ():
        if not 0 < threshold < 1:
            raise ValueError(f"thresholds not in (0, 1): {thresholds}.")
    return tuple(thresholds or ())


def _at_thresholds(thresholds: tuple[float, ...], labels: Tensor, scores: Tensor, weights: Any) -> Metrics:
    metrics: Metrics = {}
    for threshold in thresholds:
        ending = f"positive_threshold_{threshold:g}"
        above = cast(get_op("GreaterEqual")(scores, convert_to_tensor(threshold, scores.dtype)), float32)
        metrics[f"accuracy/{ending}"] = accuracy(labels, above, weights, name=f"accuracy/{ending}")
        for name, function in (("precision", precision_at_thresholds), ("recall", recall_at_thresholds)):
            value, update = function(labels, scores, (threshold,), weights, name=f"{name}/{ending}")
            metrics[f"{name}/{ending}"] = get_op("Squeeze")(value), get_op("Squeeze")(update)
    return metrics


def _areas(labels: Tensor, scores: Tensor, weights: Any) -> Metrics:
    return {
        "auc": auc(labels, scores, weights, name="auc"),
        "auc_precision_recall": auc(labels, scores, weights, curve="PR", name="auc_precision_recall"),
    }


class BinaryHead(_Classes):
    def __init__(
        self, thresholds: Any, label_vocabulary: Any, weight_column: Any, reduction: str, loss_fn: Any, name: Any
    ) -> None:
        super().__init__(2, label_vocabulary, weight_column, reduction, loss_fn, name)
        self._thresholds = _checked_thresholds(thresholds)

    @property
    def logits_dimension(self) -> int:
        return 1

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        logistic = nn.sigmoid(logits, name="logistic")
        both = concat([get_op("ZerosLike")(logits), logits], -1, name="two_class_logits")
        probabilities = nn.softmax(both, name="probabilities")
        chosen = self._chosen(both, logits)
        return {"logits": logits, "logistic": logistic, "probabilities": probabilities, **chosen}

    def outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        return {**self._classification(predictions), "regression": RegressionOutput(predictions["logistic"])}

    def processed_labels(self, labels: Tensor) -> Tensor:
        return class_ids(labels, self._vocabulary, 2, float32)

    def own_loss(self, labels: Tensor, logits: Tensor) -> Tensor:
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def own_metrics(self, found: LossSpec, predictions: dict[str, Any]) -> Metrics:
        labels, weights = found.processed_labels, found.weights
        ids, scores = cast(predictions["class_ids"], float32), predictions["logistic"]
        positive = mean(labels, weights, name="label/mean")
        metrics: Metrics = {
            "accuracy": accuracy(labels, ids, weights, name="accuracy"),
            "precision": precision(labels, ids, weights, name="precision"),
            "recall": recall(labels, ids, weights, name="recall"),
            "prediction/mean": mean(scores, weights, name="prediction/mean"),
            "label/mean": positive,
            "accuracy_baseline": tuple(get_op("Maximum")(share, 1 - share) for share in positive),
            **_areas(labels, scores, weights),
        }
        return metrics | _at_thresholds(self._thresholds, labels, scores, weights)


@export("contrib.estimator.binary_classification_head")
def binary_classification_head(
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _DEFAULT,
    loss_fn: Callable[..., Any] | None = None,
    name: str | None = None,
) -> BinaryHead:
    """A head for two classes, by sigmoid cross entropy of one logit (TF: the same name).

    Labels are 0 and 1, or strings of `label_vocabulary`. `thresholds` add accuracy, precision and recall at each.
    """
    return BinaryHead(thresholds, label_vocabulary, weight_column, loss_reduction, loss_fn, name)


# --- several classes at once ----------------------------------------------------------------------------


class MultiLabelHead(_Classes):
    def __init__(
        self,
        n_classes: int,
        thresholds: Any,
        label_vocabulary: Any,
        weight_column: Any,
        reduction: str,
        loss_fn: Any,
        classes: Any,
        name: Any,
    ) -> None:
        super().__init__(n_classes, label_vocabulary, weight_column, reduction, loss_fn, name)
        self._thresholds = _checked_thresholds(thresholds)
        self._watched = self._checked_classes(classes)

    def _checked_classes(self, classes: Any) -> dict[int, str]:
        """The ids of classes with metrics of their own, and the names of these."""
        watched = {}
        for chosen in classes or ():
            if isinstance(chosen, str):
                if self._vocabulary is None or chosen not in self._vocabulary:
                    raise ValueError(f"class_name {chosen} is not in label_vocabulary {self._vocabulary}")
                watched[self._vocabulary.index(chosen)] = chosen
            else:
                if not 0 <= chosen < self._n_classes:
                    raise ValueError(f"All classes must be in [0, {self._n_classes}), given {chosen}")
                watched[chosen] = f"class{chosen}"
        return watched

    @property
    def logits_dimension(self) -> int:
        return self._n_classes

    takes_sparse_labels = True

    @property
    def label_dimension(self) -> int:  # type: ignore[override]
        return self._n_classes

    def predictions(self, logits: Tensor) -> dict[str, Any]:
        return {"logits": logits, "probabilities": nn.sigmoid(logits, name="probabilities")}

    def outputs(self, predictions: dict[str, Any]) -> dict[str, ExportOutput]:
        _, names = all_classes(self._vocabulary, self._n_classes, predictions["logits"])
        return {"classification": ClassificationOutput(predictions["probabilities"], names)}

    def processed_labels(self, labels: Any) -> Tensor:
        if not isinstance(labels, SparseTensor):
            return in_range(cast(labels, int64), 2, "labels must be an integer in [0, 1]")
        values = labels.values
        if values.dtype.base_dtype == string and self._vocabulary is None:
            raise ValueError("Expected labels to be an integer Tensor, got strings without a label_vocabulary.")
        ids = class_ids(values, self._vocabulary, self._n_classes)
        found = SparseTensor(labels.indices, ids, labels.dense_shape)
        return cast(sparse_to_indicator(found, self._n_classes), int64)

    def own_loss(self, labels: Tensor, logits: Tensor) -> Tensor:
        each = nn.sigmoid_cross_entropy_with_logits(labels=cast(labels, float32), logits=logits)
        return reduce_mean(each, -1, keepdims=True)

    def own_metrics(self, found: LossSpec, predictions: dict[str, Any]) -> Metrics:
        labels, weights, scores = cast(found.processed_labels, float32), found.weights, predictions["probabilities"]
        metrics = _areas(labels, scores, weights) | _at_thresholds(self._thresholds, labels, scores, weights)
        for number, name in self._watched.items():
            own, score = labels[:, number : number + 1], scores[:, number : number + 1]
            metrics[f"probability_mean/{name}"] = mean(score, weights, name=f"probability_mean/{name}")
            metrics |= {f"{kind}/{name}": pair for kind, pair in _areas(own, score, weights).items()}
        return metrics


@export("contrib.estimator.multi_label_head")
def multi_label_head(
    n_classes: int,
    weight_column: Any = None,
    thresholds: Any = None,
    label_vocabulary: Any = None,
    loss_reduction: str = _DEFAULT,
    loss_fn: Callable[..., Any] | None = None,
    classes_for_class_based_metrics: Any = None,
    name: str | None = None,
) -> MultiLabelHead:
    """A head for any number of classes at once, by the mean of their sigmoid cross entropies (TF: the same name).

    Labels are [batch, n_classes] of 0 and 1, or sparse ids or strings of `label_vocabulary`.
    """
    if n_classes is None or n_classes < 2:
        raise ValueError(f"n_classes must be > 1 for multi-class classification. Given: {n_classes}")
    return MultiLabelHead(
        n_classes,
        thresholds,
        label_vocabulary,
        weight_column,
        loss_reduction,
        loss_fn,
        classes_for_class_based_metrics,
        name,
    )
