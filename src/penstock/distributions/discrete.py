"""Discrete distributions: Bernoulli, categorical, and one-hot classes."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.distributions.arguments import checked, logits_and_probs
from penstock.distributions.distribution import NOT_REPARAMETERIZED, Distribution, Univariate
from penstock.distributions.kullback_leibler import RegisterKL
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.arg_reductions import argmax
from penstock.ops.array import expand_dims, reshape, shape
from penstock.ops.cast import cast
from penstock.ops.checks import assert_less_equal, assert_near, assert_non_negative
from penstock.ops.diagonal import matrix_set_diag
from penstock.ops.filling import one_hot, sequence_mask, zeros_like
from penstock.ops.joining import concat
from penstock.ops.layout import transpose
from penstock.ops.nn.activations import softplus
from penstock.ops.nn.cross_entropy import sparse_softmax_cross_entropy_with_logits
from penstock.ops.nn.losses import sigmoid_cross_entropy_with_logits
from penstock.ops.nn.softmax import log_softmax
from penstock.ops.random import multinomial, random_uniform
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import sigmoid
from penstock.tensor.shapes import TensorShape


@export("distributions.Bernoulli", "contrib.distributions.Bernoulli")
class Bernoulli(Univariate):
    """1 with the probability `probs`, or with the log odds `logits`; otherwise 0."""

    _parameter_names = ("logits",)

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
            self._batch_of = (self._logits,)
            super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def logits(self) -> Tensor:
        return self._logits

    @property
    def probs(self) -> Tensor:
        return self._probs

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        uniform = random_uniform(self._draws(n), seed=seed, dtype=self._probs.dtype)
        return cast(uniform < self._probs, self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            one = np.array(1, x.dtype.np)
            x = checked(x, [assert_non_negative(x), assert_less_equal(x, one)], "value")
        labels = cast(x, self._logits.dtype)
        return -sigmoid_cross_entropy_with_logits(
            labels=labels + zeros_like(self._logits), logits=self._logits + zeros_like(labels)
        )

    def _entropy(self) -> Tensor:
        return -self._logits * (sigmoid(self._logits) - 1.0) + softplus(-self._logits)

    def _mean(self) -> Tensor:
        return self._probs * 1.0

    def _variance(self) -> Tensor:
        return self._probs * (1.0 - self._probs)

    def _mode(self) -> Tensor:
        return cast(self._probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _kl_bernoulli(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_bernoulli_bernoulli"):
        zero, one = softplus(-b.logits) - softplus(-a.logits), softplus(b.logits) - softplus(a.logits)
        return sigmoid(a.logits) * zero + sigmoid(-a.logits) * one


class Classes(Distribution):
    """Base class of distributions of classes with `logits` or `probs` [*batch, classes]."""

    _logits: Tensor
    _probs: Tensor

    @property
    def logits(self) -> Tensor:
        """The log probabilities, up to a constant."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        return self._probs

    @property
    def event_size(self) -> Tensor:
        """The number of classes, int32 []."""
        return shape(self._logits, name="event_size")[-1]

    def _batch_shape(self) -> TensorShape:
        return self._logits.shape[:-1]

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._logits)[:-1]

    def _classes_n(self, n: Any, seed: int | None, dtype: Any) -> Tensor:
        """n classes for each member of the batch, [n, *batch]."""
        flat = reshape(self._logits, [-1, _last(self._logits)])
        drawn = multinomial(flat, n, seed=seed, output_dtype="int64" if dtype == "int64" else "int32")
        return reshape(transpose(drawn), concat([[n], self._batch_shape_tensor()], 0))

    def _entropy(self) -> Tensor:
        return -reduce_sum(log_softmax(self._logits) * self._probs, -1)


def _last(value: Tensor) -> Any:
    known = value.shape.tuple[-1] if value.shape.ndims else None
    return shape(value)[-1] if known is None else known


@export("distributions.Categorical", "contrib.distributions.Categorical")
class Categorical(Classes):
    """Classes 0, 1, ... with the probabilities `probs`, or with log probabilities `logits` up to a constant."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        with name_scope(name, values=[v for v in (logits, probs) if v is not None]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
            super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _event_shape(self) -> TensorShape:
        return TensorShape([])

    def _event_shape_tensor(self) -> Any:
        return []

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return cast(self._classes_n(n, seed, self.dtype.name), self.dtype)

    def _both(self, k: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        """Classes and their scores, broadcast to each other."""
        k = k if k.dtype.is_integer else cast(k, "int32")
        rows = zeros_like(scores[..., 0], k.dtype)
        return k + rows, scores + expand_dims(zeros_like(k, scores.dtype), -1)

    def _log_prob(self, k: Tensor) -> Tensor:
        if self.validate_args:
            k = checked(k, [assert_non_negative(k), assert_less_equal(cast(k, "int32"), self.event_size - 1)], "value")
        k, logits = self._both(k, self._logits)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _cdf(self, k: Tensor) -> Tensor:
        """The probability of classes before `k`: as in TensorFlow, excluding `k` itself."""
        k, probs = self._both(k, self._probs)
        before = sequence_mask(k, shape(probs)[-1], probs.dtype)
        return reduce_sum(probs * before, -1)

    def _mode(self) -> Tensor:
        found = cast(argmax(self._logits, -1), self.dtype)
        found.set_shape(self.batch_shape)
        return found


@export("contrib.distributions.OneHotCategorical")
class OneHotCategorical(Classes):
    """`Categorical` whose samples are one-hot vectors (TF: tf.contrib.distributions.OneHotCategorical)."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = "int32",
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        with name_scope(name, values=[v for v in (logits, probs) if v is not None]) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, True, validate_args)
            super().__init__(dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _event_shape(self) -> TensorShape:
        return self._logits.shape[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._logits)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return one_hot(self._classes_n(n, seed, "int32"), _last(self._logits), dtype=self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = cast(x, self._logits.dtype)
        if self.validate_args:
            one = np.array(1, x.dtype.np)
            x = checked(x, [assert_non_negative(x), assert_near(reduce_sum(x, -1), one)], "value")
        return reduce_sum(x * log_softmax(self._logits), -1)

    def _mean(self) -> Tensor:
        return self._probs * 1.0

    def _variance(self) -> Tensor:
        return self._probs * (1.0 - self._probs)

    def _covariance(self) -> Tensor:
        p = self._probs
        return matrix_set_diag(-expand_dims(p, -1) * expand_dims(p, -2), self._variance())

    def _mode(self) -> Tensor:
        return one_hot(argmax(self._logits, -1), _last(self._logits), dtype=self.dtype)


@RegisterKL(Categorical, Categorical)
@RegisterKL(OneHotCategorical, OneHotCategorical)
def _kl_classes(a: Classes, b: Classes, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_categorical_categorical"):
        log_a, log_b = log_softmax(a.logits), log_softmax(b.logits)
        return reduce_sum(a.probs * (log_a - log_b), -1)
