"""What canned estimators ask of a head, which programs define as well (TF: tensorflow.python.estimator.canned.head)."""

from __future__ import annotations

import abc
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.estimator.spec import EstimatorSpec
from penstock.graph.operation import Tensor


class LossSpec(NamedTuple):
    """What `create_loss` returns: the loss to train on, that of each example, their weights, and the labels."""

    training_loss: Tensor
    unreduced_loss: Tensor
    weights: Any
    processed_labels: Tensor


class HeadBase(abc.ABC):
    """What follows the logits of a model: a subclass makes its loss and its EstimatorSpec (TF: _Head)."""

    @property
    @abc.abstractmethod
    def name(self) -> str | None:
        """The ending of its metrics' names, or None."""

    @property
    @abc.abstractmethod
    def logits_dimension(self) -> int:
        """The size of the last dimension of the logits."""

    @abc.abstractmethod
    def create_loss(self, features: Any, mode: str, logits: Tensor, labels: Any) -> LossSpec:
        """The loss of logits [batch, logits_dimension] for the labels."""

    @abc.abstractmethod
    def create_estimator_spec(
        self,
        features: Any,
        mode: str,
        logits: Any,
        labels: Any = None,
        optimizer: Any = None,
        train_op_fn: Callable[[Tensor], Any] | None = None,
        regularization_losses: Any = None,
    ) -> EstimatorSpec:
        """The EstimatorSpec of a model with these logits [batch, logits_dimension]."""
