"""Metrics (y_true, y_pred) -> one number for each sample (TF: tf.keras.metrics)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.keras import backend as K
from penstock.keras.named import described, made
from penstock.ops.arg_reductions import argmax
from penstock.ops.array import reshape, squeeze
from penstock.ops.cast import cast
from penstock.ops.compare import equal


@export("keras.metrics.binary_accuracy")
def binary_accuracy(y_true: Any, y_pred: Any, threshold: float = 0.5) -> Tensor:
    """The fraction of the last axis where y_pred > threshold is y_true."""
    return K.mean(equal(y_true, _of_two_classes(y_pred, threshold, y_true.dtype)), -1)


def _of_two_classes(y_pred: Any, threshold: float, dtype: Any) -> Any:
    return cast(y_pred > threshold, dtype)


@export("keras.metrics.categorical_accuracy")
def categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where the greatest elements of both have the same place."""
    return cast(equal(argmax(y_true, -1), argmax(y_pred, -1)), K.floatx())


@export("keras.metrics.sparse_categorical_accuracy")
def sparse_categorical_accuracy(y_true: Any, y_pred: Any) -> Tensor:
    """1 where the greatest element of `y_pred` is at the place `y_true`."""
    rank, of_labels = y_pred.shape.ndims, y_true.shape.ndims
    if rank is not None and rank == of_labels:
        y_true = squeeze(y_true, [-1])
    return cast(equal(cast(y_true, "int64"), argmax(y_pred, -1)), K.floatx())


@export("keras.metrics.top_k_categorical_accuracy")
def top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """1 where the greatest element of `y_true` is among the k greatest of `y_pred`."""
    return cast(nn.in_top_k(y_pred, argmax(y_true, -1), k), K.floatx())


@export("keras.metrics.sparse_top_k_categorical_accuracy")
def sparse_top_k_categorical_accuracy(y_true: Any, y_pred: Any, k: int = 5) -> Tensor:
    """1 where the class `y_true` is among the k greatest of `y_pred`."""
    return cast(nn.in_top_k(y_pred, cast(reshape(y_true, [-1]), "int32"), k), K.floatx())


@export("keras.metrics.get")
def get(identifier: Any) -> Any:
    """The metric with this name or description; functions are themselves."""
    return made("metrics", identifier)


@export("keras.metrics.deserialize")
def deserialize(config: Any, custom_objects: Any = None) -> Any:
    """The metric with this name."""
    return made("metrics", config, custom_objects)


@export("keras.metrics.serialize")
def serialize(metric: Any) -> Any:
    """The name of a metric."""
    return described(metric)
