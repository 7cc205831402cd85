"""What the canned estimators share: optimizers by name, checks of features, and their default heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.estimator.canned.class_heads import binary_classification_head, multi_class_head
from penstock.estimator.canned.head import Head
from penstock.estimator.canned.regression_heads import regression_head
from penstock.train.adagrad import AdagradOptimizer
from penstock.train.adam import AdamOptimizer
from penstock.train.ftrl import FtrlOptimizer
from penstock.train.gradient_descent import GradientDescentOptimizer
from penstock.train.optimizer import Optimizer
from penstock.train.rmsprop import RMSPropOptimizer

_OPTIMIZERS = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}


def optimizer_of(optimizer: Any, learning_rate: float) -> Any:
    """An optimizer from itself, a function that makes it, or its name: then it has this learning rate."""
    if isinstance(optimizer, str):
        if optimizer not in _OPTIMIZERS:
            raise ValueError(
                f"Unsupported optimizer name: {optimizer}. Supported names are: {tuple(sorted(_OPTIMIZERS))}"
            )
        return _OPTIMIZERS[optimizer](learning_rate=learning_rate)
    if callable(optimizer) and not isinstance(optimizer, Optimizer):
        optimizer = optimizer()
    if not isinstance(optimizer, Optimizer):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {optimizer}")
    return optimizer


def check_features(features: Any) -> None:
    if not isinstance(features, Mapping):
        raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")


def classifier_head(n_classes: int, weight_column: Any, label_vocabulary: Any, loss_reduction: str) -> Head:
    if n_classes == 2:
        return binary_classification_head(
            weight_column, label_vocabulary=label_vocabulary, loss_reduction=loss_reduction
        )
    return multi_class_head(n_classes, weight_column, label_vocabulary, loss_reduction)


def regressor_head(label_dimension: int, weight_column: Any, loss_reduction: str) -> Head:
    return regression_head(weight_column, label_dimension, loss_reduction)
