"""Losses (y_true, y_pred) -> one number for each sample: the mean over the last axis (TF: tf.keras.losses)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import nn
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.keras import backend as K
from penstock.keras.named import described, made
from penstock.ops.arithmetic import maximum, minimum
from penstock.ops.basic import identity
from penstock.ops.compare import equal, logical_or
from penstock.ops.control_flow.cond import cond
from penstock.ops.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum
from penstock.ops.unary import square


@export(
    "keras.losses.mean_squared_error", "keras.losses.mse", "keras.losses.MSE",
    "keras.metrics.mean_squared_error", "keras.metrics.mse", "keras.metrics.MSE",
)  # fmt: skip
def mean_squared_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of (y_pred - y_true)²."""
    return reduce_mean(square(y_pred - y_true), -1)


@export(
    "keras.losses.mean_absolute_error", "keras.losses.mae", "keras.losses.MAE",
    "keras.metrics.mean_absolute_error", "keras.metrics.mae", "keras.metrics.MAE",
)  # fmt: skip
def mean_absolute_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of |y_pred - y_true|."""
    return reduce_mean(abs(y_pred - y_true), -1)


@export(
    "keras.losses.mean_absolute_percentage_error", "keras.losses.mape", "keras.losses.MAPE",
    "keras.metrics.mean_absolute_percentage_error", "keras.metrics.mape", "keras.metrics.MAPE",
)  # fmt: skip
def mean_absolute_percentage_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of |y_pred - y_true| / |y_true|, in percent."""
    return 100.0 * reduce_mean(abs((y_true - y_pred) / K.clip(abs(y_true), K.epsilon(), None)), -1)


@export(
    "keras.losses.mean_squared_logarithmic_error", "keras.losses.msle", "keras.losses.MSLE",
    "keras.metrics.mean_squared_logarithmic_error", "keras.metrics.msle", "keras.metrics.MSLE",
)  # fmt: skip
def mean_squared_logarithmic_error(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of (log(1 + y_pred) - log(1 + y_true))²."""
    predicted, true = (K.log(K.clip(y, K.epsilon(), None) + 1.0) for y in (y_pred, y_true))
    return reduce_mean(square(predicted - true), -1)


@export("keras.losses.squared_hinge", "keras.metrics.squared_hinge")
def squared_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of max(1 - y_true * y_pred, 0)², for y_true of -1 and 1."""
    return reduce_mean(square(maximum(1.0 - _signs(y_true) * y_pred, 0.0)), -1)


@export("keras.losses.hinge", "keras.metrics.hinge")
def hinge(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of max(1 - y_true * y_pred, 0), for y_true of -1 and 1."""
    return reduce_mean(maximum(1.0 - _signs(y_true) * y_pred, 0.0), -1)


def _signs(y_true: Any) -> Tensor:
    """Labels of 0 and 1 as -1 and 1; others unchanged."""
    binary = reduce_all(logical_or(equal(y_true, 0.0), equal(y_true, 1.0)))
    return cond(binary, lambda: 2.0 * y_true - 1.0, lambda: identity(y_true))


@export("keras.losses.categorical_hinge")
def categorical_hinge(y_true: Any, y_pred: Any) -> Tensor:
    """max(1 + the greatest score of a wrong class - the score of the right one, 0)."""
    right = reduce_sum(y_true * y_pred, -1)
    return maximum(0.0, reduce_max((1.0 - y_true) * y_pred, -1) - right + 1.0)


@export("keras.losses.logcosh", "keras.metrics.logcosh")
def logcosh(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of log(cosh(y_pred - y_true))."""
    error = y_pred - y_true
    return reduce_mean(error + nn.softplus(-2.0 * error) - float(np.log(2.0)), -1)


@export("keras.losses.huber_loss")
def huber_loss(y_true: Any, y_pred: Any, delta: float = 1.0) -> Tensor:
    """The mean of half the squared error, and beyond `delta` of a linear function."""
    error = abs(y_pred - y_true)
    inner = minimum(error, delta)
    return reduce_mean(0.5 * square(inner) + delta * (error - inner), -1)


@export("keras.losses.categorical_crossentropy", "keras.metrics.categorical_crossentropy")
def categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0) -> Tensor:
    """-sum(y_true * log(y_pred)) over the classes."""
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + label_smoothing / y_pred.shape.as_list()[-1]
    return K.categorical_crossentropy(y_true, y_pred, from_logits)


@export("keras.losses.sparse_categorical_crossentropy", "keras.metrics.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    """-log of the probability of the class whose number is `y_true`."""
    return K.sparse_categorical_crossentropy(y_true, y_pred, from_logits, axis)


@export("keras.losses.binary_crossentropy", "keras.metrics.binary_crossentropy")
def binary_crossentropy(y_true: Any, y_pred: Any, from_logits: bool = False, label_smoothing: float = 0) -> Tensor:
    """The mean of -y_true * log(y_pred) - (1 - y_true) * log(1 - y_pred)."""
    if label_smoothing:
        y_true = y_true * (1.0 - label_smoothing) + 0.5 * label_smoothing
    return reduce_mean(K.binary_crossentropy(y_true, y_pred, from_logits), -1)


@export(
    "keras.losses.kullback_leibler_divergence", "keras.losses.kld", "keras.losses.KLD",
    "keras.metrics.kullback_leibler_divergence", "keras.metrics.kld", "keras.metrics.KLD",
)  # fmt: skip
def kullback_leibler_divergence(y_true: Any, y_pred: Any) -> Tensor:
    """sum(y_true * log(y_true / y_pred))."""
    true, predicted = K.clip(y_true, K.epsilon(), 1), K.clip(y_pred, K.epsilon(), 1)
    return reduce_sum(true * K.log(true / predicted), -1)


@export("keras.losses.poisson", "keras.metrics.poisson")
def poisson(y_true: Any, y_pred: Any) -> Tensor:
    """The mean of y_pred - y_true * log(y_pred)."""
    return reduce_mean(y_pred - y_true * K.log(y_pred + K.epsilon()), -1)


@export("keras.losses.cosine_proximity", "keras.losses.cosine", "keras.losses.cosine_similarity",
        "keras.metrics.cosine_proximity", "keras.metrics.cosine")  # fmt: skip
def cosine_proximity(y_true: Any, y_pred: Any, axis: int = -1) -> Tensor:
    """Minus the cosine of the angle between the two."""
    return -reduce_sum(nn.l2_normalize(y_true, axis) * nn.l2_normalize(y_pred, axis), axis)


@export("keras.losses.get")
def get(identifier: Any) -> Any:
    """The loss with this name or description; None and functions are themselves."""
    return None if identifier is None else made("losses", identifier)


@export("keras.losses.deserialize")
def deserialize(name: Any, custom_objects: Any = None) -> Any:
    """The loss with this name."""
    return made("losses", name, custom_objects)


@export("keras.losses.serialize")
def serialize(loss: Any) -> Any:
    """The name of a loss, or plain data."""
    return described(loss)
