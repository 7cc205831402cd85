"""Distributions of positive numbers that only tf.contrib.distributions has."""

from __future__ import annotations

import math
from typing import Any

from penstock.distributions.arguments import checked, floats, positive, undefined_unless
from penstock.distributions.distribution import FULLY_REPARAMETERIZED, Univariate
from penstock.distributions.gamma import Gamma
from penstock.distributions.tails import finite_ndtri
from penstock.export import export
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.checks import assert_positive
from penstock.ops.filling import zeros
from penstock.ops.nn.activations import relu, softplus
from penstock.ops.random import random_normal
from penstock.ops.random_distributions import random_gamma
from penstock.ops.rounding import floor
from penstock.ops.special import digamma, erf, lgamma
from penstock.ops.unary import abs, log, square


@export("contrib.distributions.HalfNormal")
class HalfNormal(Univariate):
    """The absolute value of `scale` times a standard normal number (TF: tf.contrib.distributions.HalfNormal)."""

    _parameter_names = ("scale",)

    def __init__(
        self, scale: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "HalfNormal"
    ) -> None:
        with name_scope(name, values=[scale]) as scope:
            self._scale = positive(convert_to_tensor(scale, name="scale"), validate_args, "scale")
            self._batch_of = (self._scale,)
            super().__init__(self._scale.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def scale(self) -> Tensor:
        return self._scale

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return abs(random_normal(self._draws(n), dtype=self.dtype, seed=seed) * self._scale)

    def _log_prob(self, x: Tensor) -> Tensor:
        density = 0.5 * math.log(2 / math.pi) - log(self._scale) - 0.5 * square(x / self._scale)
        return get_op("SelectV2")(x >= 0.0, density, constant(-math.inf, self.dtype))

    def _cdf(self, x: Tensor) -> Tensor:
        return erf(relu(x) / self._scale / math.sqrt(2.0))

    def _quantile(self, p: Tensor) -> Tensor:
        return self._scale * finite_ndtri((1.0 + p) / 2.0)

    def _entropy(self) -> Tensor:
        return 0.5 * log(math.pi * square(self._scale) / 2.0) + 0.5

    def _mean(self) -> Tensor:
        return self._scale * math.sqrt(2.0 / math.pi)

    def _variance(self) -> Tensor:
        return square(self._scale) * (1.0 - 2.0 / math.pi)

    def _mode(self) -> Tensor:
        return zeros(self.batch_shape_tensor(), self.dtype)


@export("contrib.distributions.InverseGamma")
class InverseGamma(Univariate):
    """1 / x for an x of a gamma distribution (TF: tf.contrib.distributions.InverseGamma)."""

    _parameter_names = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGamma",
    ) -> None:
        with name_scope(name, values=[concentration, rate]) as scope:
            concentration, rate = floats(concentration=concentration, rate=rate)
            self._concentration = positive(concentration, validate_args, "concentration")
            self._rate = positive(rate, validate_args, "rate")
            self._batch_of = (self._concentration, self._rate)
            super().__init__(self._rate.dtype, FULLY_REPARAMETERIZED, validate_args, allow_nan_stats, name=scope)

    @property
    def concentration(self) -> Tensor:
        return self._concentration

    @property
    def rate(self) -> Tensor:
        return self._rate

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return 1.0 / random_gamma([n], self._concentration, self._rate, dtype=self.dtype, seed=seed)

    def _valid(self, x: Tensor) -> Tensor:
        return checked(x, [assert_positive(x)] if self.validate_args else [], "value")

    def _log_prob(self, x: Tensor) -> Tensor:
        x, c = self._valid(x), self._concentration
        return c * log(self._rate) - lgamma(c) - (1.0 + c) * log(x) - self._rate / x

    def _cdf(self, x: Tensor) -> Tensor:
        return get_op("Igammac")(self._concentration, self._rate / self._valid(x))

    def _entropy(self) -> Tensor:
        c = self._concentration
        return c + log(self._rate) + lgamma(c) - (1.0 + c) * digamma(c)

    def _above(self, least: float, value: Tensor, what: str) -> Tensor:
        there = self._everywhere(self._concentration) > least
        message = f"{what} undefined when any concentration <= {least:g}"
        return undefined_unless(there, value, self.allow_nan_stats, message, self._concentration - (least - 1.0))

    def _mean(self) -> Tensor:
        return self._above(1.0, self._rate / (self._concentration - 1.0), "mean")

    def _variance(self) -> Tensor:
        c = self._concentration
        return self._above(2.0, square(self._rate / (c - 1.0)) / (c - 2.0), "variance")

    def _mode(self) -> Tensor:
        return self._rate / (1.0 + self._concentration)


@export("contrib.distributions.InverseGammaWithSoftplusConcentrationRate")
class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """An `InverseGamma` whose parameters are the softplus of those given."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        with name_scope(name, values=[concentration, rate]) as scope:
            super().__init__(softplus(concentration), softplus(rate), validate_args, allow_nan_stats, scope)


@export("contrib.distributions.Chi2")
class Chi2(Gamma):
    """The sum of the squares of `df` standard normal numbers (TF: tf.contrib.distributions.Chi2)."""

    _parameter_names = ("df",)

    def __init__(self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2") -> None:
        with name_scope(name, values=[df]) as scope:
            self._df = positive(convert_to_tensor(df, name="df"), validate_args, "df")
            super().__init__(0.5 * self._df, constant(0.5, self._df.dtype), validate_args, allow_nan_stats, scope)

    @property
    def df(self) -> Tensor:
        return self._df


@export("contrib.distributions.Chi2WithAbsDf")
class Chi2WithAbsDf(Chi2):
    """A `Chi2` with floor(|df|) degrees of freedom."""

    def __init__(
        self, df: Any, validate_args: bool = False, allow_nan_stats: bool = True, name: str = "Chi2WithAbsDf"
    ) -> None:
        with name_scope(name, values=[df]) as scope:
            super().__init__(floor(abs(convert_to_tensor(df, name="df"))), validate_args, allow_nan_stats, scope)
