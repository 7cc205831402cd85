"""The gamma family: gamma and exponential, beta and Dirichlet."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.distributions.arguments import checked, floats, positive, undefined_unless
from penstock.distributions.distribution import FULLY_REPARAMETERIZED, Distribution, Univariate
from penstock.distributions.kullback_leibler import RegisterKL
from penstock.export import export
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.array import expand_dims, shape
from penstock.ops.broadcasting import broadcast_to
from penstock.ops.checks import assert_less, assert_near, assert_positive
from penstock.ops.compare import logical_and
from penstock.ops.diagonal import matrix_set_diag
from penstock.ops.filling import ones_like, zeros_like
from penstock.ops.random import random_uniform
from penstock.ops.random_distributions import random_gamma
from penstock.ops.reduce import reduce_all, reduce_sum
from penstock.ops.special import digamma, lgamma
from penstock.ops.special_binary import lbeta, xlogy
from penstock.ops.unary import log, log1p, sqrt, square
from penstock.tensor.shapes import TensorShape


@export("distributions.Gamma", "contrib.distributions.Gamma")
class Gamma(Univariate):
    """Density x^(concentration - 1) exp(-x rate) / Z for x > 0; `concentration` and `rate` broadcast."""

    _parameter_names: tuple[str, ...] = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Gamma",
    ) -> None:
        with name_scope(name, values=[concentration, rate]) as scope:
            concentration, rate = floats(concentration=concentration, rate=rate)
            self._concentration = positive(concentration, validate_args, "concentration")
            self._rate = positive(rate, validate_args, "rate")
            self._batch_of = (self._concentration, self._rate)
            super().__init__(
                self._concentration.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope
            )

    @property
    def concentration(self) -> Tensor:
        return self._concentration

    @property
    def rate(self) -> Tensor:
        return self._rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_gamma([n], self._concentration, self._rate, dtype=self.dtype, seed=seed)

    def _valid(self, x: Tensor) -> Tensor:
        return checked(x, [assert_positive(x)] if self.validate_args else [], "value")

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._valid(x)
        normalization = lgamma(self._concentration) - self._concentration * log(self._rate)
        return xlogy(self._concentration - 1.0, x) - self._rate * x - normalization

    def _cdf(self, x: Tensor) -> Tensor:
        return get_op("Igamma")(self._concentration, self._rate * self._valid(x))

    def _entropy(self) -> Tensor:
        c = self._concentration
        return c - log(self._rate) + lgamma(c) + (1.0 - c) * digamma(c)

    def _mean(self) -> Tensor:
        return self._concentration / self._rate

    def _variance(self) -> Tensor:
        return self._concentration / square(self._rate)

    def _stddev(self) -> Tensor:
        return sqrt(self._concentration) / self._rate

    def _mode(self) -> Tensor:
        mode = (self._concentration - 1.0) / self._rate
        there = self._everywhere(self._concentration) > 1.0
        message = "mode not defined when any concentration <= 1"
        return undefined_unless(there, mode, self.allow_nan_stats, message, self._concentration)


@RegisterKL(Gamma, Gamma)
def _kl_gamma(a: Gamma, b: Gamma, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_gamma_gamma"):
        return (
            (a.concentration - b.concentration) * digamma(a.concentration)
            + lgamma(b.concentration)
            - lgamma(a.concentration)
            + b.concentration * (log(a.rate) - log(b.rate))
            + a.concentration * (b.rate / a.rate - 1.0)
        )


@export("distributions.Exponential", "contrib.distributions.Exponential")
class Exponential(Gamma):
    """Density rate exp(-x rate) for x > 0."""

    _parameter_names = ("rate",)

    def __init__(
        self, rate: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Exponential"
    ) -> None:
        with name_scope(name, values=[rate]) as scope:
            (found,) = floats(rate=rate)
            super().__init__(ones_like(found), found, validate_args, allow_nan_stats, scope)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        least = np.finfo(self.dtype.np).tiny  # the logarithm of 0 is not finite
        return -log(random_uniform(self._draws(n), least, 1.0, self.dtype, seed)) / self._rate

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return -self._rate * self._valid(x)


@export("distributions.Beta", "contrib.distributions.Beta")
class Beta(Univariate):
    """Density x^(concentration1 - 1) (1 - x)^(concentration0 - 1) / Z on (0, 1); both broadcast."""

    _parameter_names = ("concentration1", "concentration0")

    def __init__(
        self,
        concentration1: Any = None,
        concentration0: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Beta",
    ) -> None:
        with name_scope(name, values=[concentration1, concentration0]) as scope:
            one, zero = floats(concentration1=concentration1, concentration0=concentration0)
            self._concentration1 = positive(one, validate_args, "concentration1")
            self._concentration0 = positive(zero, validate_args, "concentration0")
            self._total_concentration = self._concentration1 + self._concentration0
            self._batch_of = (self._total_concentration,)
            super().__init__(one.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def concentration1(self) -> Tensor:
        return self._concentration1

    @property
    def concentration0(self) -> Tensor:
        return self._concentration0

    @property
    def total_concentration(self) -> Tensor:
        return self._total_concentration

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        other = None if seed is None else seed ^ 0x5A5A5A  # a separate random stream
        one = random_gamma([n], self._everywhere(self._concentration1), dtype=self.dtype, seed=seed)
        zero = random_gamma([n], self._everywhere(self._concentration0), dtype=self.dtype, seed=other)
        return one / (one + zero)

    def _valid(self, x: Tensor) -> Tensor:
        if not self.validate_args:
            return x
        inside = [assert_positive(x, message="sample must be positive"), assert_less(x, ones_like(x))]
        return checked(x, inside, "value")

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._valid(x)
        weighted = xlogy(self._concentration1 - 1.0, x) + (self._concentration0 - 1.0) * log1p(-x)
        return weighted - self._log_beta()

    def _log_beta(self) -> Tensor:
        return lgamma(self._concentration1) + lgamma(self._concentration0) - lgamma(self._total_concentration)

    def _cdf(self, x: Tensor) -> Tensor:
        zero = zeros_like(self._total_concentration) + zeros_like(x)
        return get_op("Betainc")(self._concentration1 + zero, self._concentration0 + zero, self._valid(x) + zero)

    def _entropy(self) -> Tensor:
        one, zero, total = self._concentration1, self._concentration0, self._total_concentration
        weighted = (one - 1.0) * digamma(one) + (zero - 1.0) * digamma(zero)
        return self._log_beta() - weighted + (total - 2.0) * digamma(total)

    def _mean(self) -> Tensor:
        return self._concentration1 / self._total_concentration

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self._mean()) / (1.0 + self._total_concentration)

    def _mode(self) -> Tensor:
        mode = (self._concentration1 - 1.0) / (self._total_concentration - 2.0)
        there = logical_and(self._everywhere(self._concentration1) > 1.0, self._everywhere(self._concentration0) > 1.0)
        both = self._concentration1, self._concentration0
        return undefined_unless(there, mode, self.allow_nan_stats, "Mode undefined for concentration <= 1.", *both)


@RegisterKL(Beta, Beta)
def _kl_beta(a: Beta, b: Beta, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_beta_beta"):
        return (
            b._log_beta()
            - a._log_beta()
            - digamma(a.concentration1) * (b.concentration1 - a.concentration1)
            - digamma(a.concentration0) * (b.concentration0 - a.concentration0)
            + digamma(a.total_concentration) * (b.total_concentration - a.total_concentration)
        )


@export("distributions.Dirichlet", "contrib.distributions.Dirichlet")
class Dirichlet(Distribution):
    """Vectors [..., k] of fractions that add up to 1, with density prod x^(concentration - 1) / Z."""

    def __init__(
        self, concentration: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Dirichlet"
    ) -> None:
        with name_scope(name, values=[concentration]) as scope:
            (found,) = floats(concentration=concentration)
            self._concentration = positive(found, validate_args, "concentration")
            self._total_concentration = reduce_sum(self._concentration, -1)
            super().__init__(found.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def concentration(self) -> Tensor:
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        return self._total_concentration

    def _batch_shape(self) -> TensorShape:
        return self._total_concentration.shape

    def _batch_shape_tensor(self) -> Tensor:
        return shape(self._total_concentration)

    def _event_shape(self) -> TensorShape:
        return self._concentration.shape[-1:]

    def _event_shape_tensor(self) -> Tensor:
        return shape(self._concentration)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = random_gamma([n], self._concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, x: Tensor) -> Tensor:
        if self.validate_args:
            one = np.array(1, self.dtype.np)
            sums = assert_near(reduce_sum(x, -1), one, message="sample last-dimension must sum to `1`")
            x = checked(x, [assert_positive(x, message="samples must be positive"), sums], "value")
        return reduce_sum(xlogy(self._concentration - 1.0, x), -1) - lbeta(self._concentration)

    def _entropy(self) -> Tensor:
        c, total = self._concentration, self._total_concentration
        weighted = reduce_sum((c - 1.0) * digamma(c), -1)
        return lbeta(c) + (total - reduce_sum(ones_like(c), -1)) * digamma(total) - weighted

    def _mean(self) -> Tensor:
        return self._concentration / expand_dims(self._total_concentration, -1)

    def _covariance(self) -> Tensor:
        mean = self._mean()
        scale = expand_dims(expand_dims(1.0 + self._total_concentration, -1), -1)
        between = -expand_dims(mean, -1) * expand_dims(mean, -2) / scale
        return matrix_set_diag(between, self._variance())

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1.0 - mean) / expand_dims(1.0 + self._total_concentration, -1)

    def _mode(self) -> Tensor:
        c = self._concentration
        size = reduce_sum(ones_like(c), -1, keepdims=True)
        mode = (c - 1.0) / (expand_dims(self._total_concentration, -1) - size)
        there = broadcast_to(reduce_all(c > 1.0, -1, keepdims=True), shape(c))
        return undefined_unless(there, mode, self.allow_nan_stats, "Mode undefined for concentration <= 1", c)


@RegisterKL(Dirichlet, Dirichlet)
def _kl_dirichlet(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    with name_scope(name, "kl_dirichlet_dirichlet"):
        apart = digamma(a.concentration) - expand_dims(digamma(a.total_concentration), -1)
        more = reduce_sum((a.concentration - b.concentration) * apart, -1)
        return more - lbeta(a.concentration) + lbeta(b.concentration)
