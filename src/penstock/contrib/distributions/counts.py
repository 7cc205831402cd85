"""Distributions of counts that only tf.contrib.distributions has: of successes, and of failures before them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.distributions.arguments import checked, floats, logits_and_probs
from penstock.distributions.distribution import NOT_REPARAMETERIZED, Univariate
from penstock.export import export
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.checks import assert_equal, assert_less_equal, assert_non_negative
from penstock.ops.filling import ones_like, zeros, zeros_like
from penstock.ops.nn.activations import softplus
from penstock.ops.random import random_uniform
from penstock.ops.random_distributions import random_gamma, random_poisson
from penstock.ops.rounding import floor
from penstock.ops.special import lgamma
from penstock.ops.special_binary import betainc
from penstock.ops.unary import exp, expm1, log, log1p, sigmoid


def _whole(x: Tensor) -> list[Operation]:
    """Checks that x are counts."""
    return [assert_non_negative(x), assert_equal(x, floor(x), message="counts cannot contain fractional components.")]


class _Trials(Univariate):
    """Base class of distributions with `logits` or `probs` of success, and perhaps a `total_count`; they broadcast."""

    def __init__(
        self,
        total_count: Any,
        logits: Any,
        probs: Any,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
    ) -> None:
        given = [each for each in (total_count, logits, probs) if each is not None]
        with name_scope(name, values=given) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
            self._batch_of: tuple[Tensor, ...] = (self._probs,)
            if total_count is not None:
                total, _ = floats(total_count=total_count, probs=self._probs)
                self._total_count = checked(total, self._count_checks(total) if validate_args else [], "total_count")
                self._batch_of = (self._total_count, self._probs)
            super().__init__(self._probs.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    def _count_checks(self, total: Tensor) -> list[Operation]:
        return [assert_non_negative(total)]

    @property
    def logits(self) -> Tensor:
        """The log odds of success."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of success."""
        return self._probs

    def _valid(self, x: Tensor) -> Tensor:
        return checked(x, _whole(x) if self.validate_args else [], "value")


@export("contrib.distributions.Binomial")
class Binomial(_Trials):
    """How many of `total_count` trials succeed (TF: tf.contrib.distributions.Binomial). As in TensorFlow, it cannot be
    sampled from."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Binomial",
    ) -> None:
        super().__init__(total_count, logits, probs, validate_args, allow_nan_stats, name)

    def _count_checks(self, total: Tensor) -> list[Operation]:
        return _whole(total)

    @property
    def total_count(self) -> Tensor:
        return self._total_count

    def _valid(self, x: Tensor) -> Tensor:
        x = super()._valid(x)
        return checked(x, [assert_less_equal(x, self._total_count)] if self.validate_args else [], "value")

    def _log_prob(self, x: Tensor) -> Tensor:
        x, n = self._valid(x), self._total_count
        ways = lgamma(1.0 + n) - lgamma(1.0 + n - x) - lgamma(1.0 + x)
        return x * log(self._probs) + (n - x) * log1p(-self._probs) + ways

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._valid(x) + zeros_like(self._probs + self._total_count)
        fewer, p = x < self._total_count, self._probs + zeros_like(x)
        failures = get_op("SelectV2")(fewer, self._total_count - x, ones_like(x))  # betainc takes positive numbers
        return get_op("SelectV2")(fewer, betainc(failures, x + 1.0, 1.0 - p), ones_like(x))

    def _mean(self) -> Tensor:
        return self._total_count * self._probs

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._probs)

    def _mode(self) -> Tensor:
        return floor((1.0 + self._total_count) * self._probs)


@export("contrib.distributions.Geometric")
class Geometric(_Trials):
    """How many trials fail before the first success (TF: tf.contrib.distributions.Geometric)."""

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        super().__init__(None, logits, probs, validate_args, allow_nan_stats, name)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        least = np.finfo(self.dtype.np).tiny  # the logarithm of 0 is not finite
        drawn = random_uniform(self._draws(n), least, 1.0, self.dtype, seed)
        return floor(log(drawn) / log1p(-self._probs))

    def _log_prob(self, x: Tensor) -> Tensor:
        x = floor(self._valid(x)) * ones_like(self._probs)
        p = self._probs * ones_like(x)
        return get_op("Xlogy")(x, 1.0 - p) + log(p)

    def _cdf(self, x: Tensor) -> Tensor:
        x = floor(self._valid(x)) * ones_like(self._probs)
        return get_op("SelectV2")(x < 0.0, zeros_like(x), -expm1((1.0 + x) * log1p(-self._probs)))

    def _entropy(self) -> Tensor:
        return softplus(self._logits) / self._probs - self._logits

    def _mean(self) -> Tensor:
        return exp(-self._logits)

    def _variance(self) -> Tensor:
        return self._mean() / self._probs

    def _mode(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)


@export("contrib.distributions.NegativeBinomial")
class NegativeBinomial(_Trials):
    """How many trials succeed before `total_count` fail (TF: tf.contrib.distributions.NegativeBinomial)."""

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NegativeBinomial",
    ) -> None:
        super().__init__(total_count, logits, probs, validate_args, allow_nan_stats, name)

    @property
    def total_count(self) -> Tensor:
        return self._total_count

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        """A gamma draw is the mean of a Poisson draw."""
        rate = random_gamma([n], self._total_count, exp(-self._logits), dtype=self.dtype, seed=seed)
        return random_poisson(rate, [], dtype=self.dtype, seed=None if seed is None else seed + 1)

    def _log_prob(self, x: Tensor) -> Tensor:
        x, r = self._valid(x), self._total_count
        ways = lgamma(r + x) - lgamma(1.0 + x) - lgamma(r)
        return -r * softplus(self._logits) - x * softplus(-self._logits) + ways

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._valid(x) + zeros_like(self._probs + self._total_count)
        return betainc(self._total_count + zeros_like(x), 1.0 + x, sigmoid(-self._logits) + zeros_like(x))

    def _mean(self) -> Tensor:
        return self._total_count * exp(self._logits)

    def _variance(self) -> Tensor:
        return self._mean() / sigmoid(-self._logits)

    def _mode(self) -> Tensor:
        r = self._total_count
        return floor(get_op("SelectV2")(r > 1.0, r - 1.0, zeros_like(r)) * exp(self._logits))
