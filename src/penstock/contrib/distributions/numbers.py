"""Distributions of numbers that only tf.contrib.distributions has."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.contrib.distributions.bijectors.elementwise import Sigmoid
from penstock.contrib.distributions.transformed import TransformedDistribution
from penstock.distributions.arguments import floats, logits_and_probs, positive
from penstock.distributions.distribution import NOT_REPARAMETERIZED, Univariate
from penstock.distributions.location_and_scale import LocationScale
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.cast import cast
from penstock.ops.compare import less_equal
from penstock.ops.filling import fill, zeros
from penstock.ops.nn.activations import softplus
from penstock.ops.random import random_uniform
from penstock.ops.random_distributions import random_poisson
from penstock.ops.rounding import floor
from penstock.ops.special import lgamma
from penstock.ops.trigonometry import atan, tan
from penstock.ops.unary import abs, exp, log, log1p, sigmoid, square


def _open_uniform(of: Univariate, n: Any, seed: int | None) -> Tensor:
    """Draws from (0, 1), whose logarithms are finite."""
    return random_uniform(of._draws(n), np.finfo(of.dtype.np).tiny, 1.0, of.dtype, seed)


@export("contrib.distributions.Logistic")
class Logistic(LocationScale):
    """The distribution whose cumulative probability is sigmoid((x - loc) / scale) (TF:
    tf.contrib.distributions.Logistic)."""

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        u = _open_uniform(self, n, seed)
        return self._loc + self._scale * (log(u) - log(1.0 - u))

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -z - 2.0 * softplus(-z) - log(self._scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -softplus(-self._z(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return sigmoid(self._z(x))

    def _log_survival_function(self, x: Tensor) -> Tensor:
        return -softplus(self._z(x))

    def _survival_function(self, x: Tensor) -> Tensor:
        return sigmoid(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc + self._scale * (log(p) - log(1.0 - p))

    def _entropy(self) -> Tensor:
        return self._everywhere(2.0 + log(self._scale))

    def _mean(self) -> Tensor:
        return self._everywhere(self._loc)

    def _stddev(self) -> Tensor:
        return self._everywhere(self._scale * (math.pi / math.sqrt(3.0)))

    def _mode(self) -> Tensor:
        return self._mean()


@export("contrib.distributions.Gumbel")
class Gumbel(LocationScale):
    """The distribution of the greatest of many numbers: cumulative exp(-exp(-(x - loc) / scale)) (TF:
    tf.contrib.distributions.Gumbel)."""

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._loc - self._scale * log(-log(_open_uniform(self, n, seed)))

    def _log_prob(self, x: Tensor) -> Tensor:
        z = self._z(x)
        return -(z + exp(-z)) - log(self._scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -exp(-self._z(x))

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc - self._scale * log(-log(p))

    def _entropy(self) -> Tensor:
        return self._everywhere(1.0 + log(self._scale) + np.euler_gamma)

    def _mean(self) -> Tensor:
        return self._everywhere(self._loc + self._scale * np.euler_gamma)

    def _stddev(self) -> Tensor:
        return self._everywhere(self._scale * (math.pi / math.sqrt(6.0)))

    def _mode(self) -> Tensor:
        return self._everywhere(self._loc)


@export("contrib.distributions.Cauchy")
class Cauchy(LocationScale):
    """The quotient of two normal numbers: density 1 / (pi scale (1 + z^2)) (TF: tf.contrib.distributions.Cauchy). Its
    mean and deviation are not defined."""

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._quantile(random_uniform(self._draws(n), 0.0, 1.0, self.dtype, seed))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -log1p(square(self._z(x))) - math.log(math.pi) - log(self._scale)

    def _cdf(self, x: Tensor) -> Tensor:
        return atan(self._z(x)) / math.pi + 0.5

    def _quantile(self, p: Tensor) -> Tensor:
        return self._loc + self._scale * tan(math.pi * (p - 0.5))

    def _entropy(self) -> Tensor:
        return self._everywhere(math.log(4 * math.pi) + log(self._scale))

    def _undefined(self, what: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{what}` is undefined for Cauchy distribution.")
        return fill(self.batch_shape_tensor(), np.array(np.nan, self.dtype.np))

    def _mean(self) -> Tensor:
        return self._undefined("mean")

    def _stddev(self) -> Tensor:
        return self._undefined("stddev")

    def _mode(self) -> Tensor:
        return self._everywhere(self._loc)


@export("contrib.distributions.Deterministic")
class Deterministic(Univariate):
    """Always `loc`: the probability of what is within atol + rtol |loc| of it is 1, of anything else 0 (TF:
    tf.contrib.distributions.Deterministic)."""

    _parameter_names = ("loc",)

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        with name_scope(name, values=[loc, atol, rtol]) as scope:
            self._loc = convert_to_tensor(loc, name="loc")
            self._atol = convert_to_tensor(0 if atol is None else atol, self._loc.dtype, name="atol")
            self._rtol = convert_to_tensor(0 if rtol is None else rtol, self._loc.dtype, name="rtol")
            self._batch_of = (self._loc,)
            super().__init__(self._loc.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def loc(self) -> Tensor:
        return self._loc

    @property
    def atol(self) -> Tensor:
        return self._atol

    @property
    def rtol(self) -> Tensor:
        return self._rtol

    def _slack(self) -> Tensor:
        return self._atol + self._rtol * abs(self._loc)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return self._loc + zeros(self._draws(n), self.dtype)

    def _prob(self, x: Tensor) -> Tensor:
        return cast(less_equal(abs(x - self._loc), self._slack()), self.dtype)

    def _cdf(self, x: Tensor) -> Tensor:
        return cast(x >= self._loc - self._slack(), self.dtype)

    def _entropy(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Tensor:
        return self._loc * 1

    def _variance(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)

    def _mode(self) -> Tensor:
        return self._mean()


@export("contrib.distributions.Poisson")
class Poisson(Univariate):
    """Numbers of events, of which `rate` or exp(`log_rate`) happen on average, as floats; one of them is given, else a
    ValueError (TF: tf.contrib.distributions.Poisson)."""

    _parameter_names = ("rate",)

    def __init__(
        self,
        rate: Any = None,
        log_rate: Any = None,
        interpolate_nondiscrete: bool = True,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Poisson",
    ) -> None:
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of rate and log_rate.")
        with name_scope(name, values=[rate, log_rate]) as scope:
            if log_rate is None:
                self._rate = positive(floats(rate=rate)[0], validate_args, "rate")
                self._log_rate = log(self._rate)
            else:
                self._log_rate = floats(log_rate=log_rate)[0]
                self._rate = exp(self._log_rate)
            self._between = interpolate_nondiscrete
            self._batch_of = (self._rate,)
            super().__init__(self._rate.dtype, NOT_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def rate(self) -> Tensor:
        return self._rate

    @property
    def log_rate(self) -> Tensor:
        return self._log_rate

    @property
    def interpolate_nondiscrete(self) -> bool:
        """Whether numbers between whole ones have the density that the formula gives, instead of 0."""
        return self._between

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return random_poisson(self._rate, [n], self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = cast(x, self.dtype)
        found = x * self._log_rate - lgamma(1.0 + x) - self._rate
        return found if self._between else found + log(cast((x >= 0.0) & less_equal(x, floor(x)), self.dtype))

    def _mean(self) -> Tensor:
        return self._rate * 1.0

    def _variance(self) -> Tensor:
        return self._rate * 1.0

    def _mode(self) -> Tensor:
        return floor(self._rate)


@export("contrib.distributions.RelaxedBernoulli")
class RelaxedBernoulli(TransformedDistribution):
    """Numbers between 0 and 1, close to both for low temperatures, with gradients: sigmoid((logits + logistic noise) /
    temperature) (TF: tf.contrib.distributions.RelaxedBernoulli)."""

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        with name_scope(name) as scope:
            self._logits, self._probs = logits_and_probs(logits, probs, False, validate_args)
            given = convert_to_tensor(temperature, self._logits.dtype, name="temperature")
            self._temperature = positive(given, validate_args, "temperature")
            noise = Logistic(self._logits / self._temperature, 1.0 / self._temperature, validate_args, allow_nan_stats)
            super().__init__(noise, Sigmoid(validate_args=validate_args), validate_args=validate_args, name=scope)

    @property
    def temperature(self) -> Tensor:
        return self._temperature

    @property
    def logits(self) -> Tensor:
        return self._logits

    @property
    def probs(self) -> Tensor:
        return self._probs
