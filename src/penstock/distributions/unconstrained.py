"""Distributions with unconstrained parameters, made positive by softplus (TF: contrib)."""

from __future__ import annotations

from typing import Any

from penstock.distributions.discrete import Bernoulli
from penstock.distributions.gamma import Beta, Exponential, Gamma
from penstock.distributions.location_scale import Laplace, StudentT
from penstock.distributions.normal import Normal
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.ops.nn.activations import softplus
from penstock.ops.rounding import floor
from penstock.ops.unary import abs, sigmoid


@export("contrib.distributions.BernoulliWithSigmoidProbs")
class BernoulliWithSigmoidProbs(Bernoulli):
    """A `Bernoulli` with probabilities sigmoid(logits)."""

    def __init__(self, logits: Any = None, name: str = "BernoulliWithSigmoidProbs", **options: Any) -> None:
        super().__init__(probs=sigmoid(convert_to_tensor(logits)), name=name, **options)


@export("contrib.distributions.BetaWithSoftplusConcentration")
class BetaWithSoftplusConcentration(Beta):
    """A `Beta` with softplus of both concentrations."""

    def __init__(
        self, concentration1: Any, concentration0: Any, name: str = "BetaWithSoftplusConcentration", **options: Any
    ) -> None:
        super().__init__(softplus(concentration1), softplus(concentration0), name=name, **options)


@export("contrib.distributions.ExponentialWithSoftplusRate")
class ExponentialWithSoftplusRate(Exponential):
    """An `Exponential` with softplus of the rate."""

    def __init__(self, rate: Any, name: str = "ExponentialWithSoftplusRate", **options: Any) -> None:
        super().__init__(softplus(rate), name=name, **options)


@export("contrib.distributions.GammaWithSoftplusConcentrationRate")
class GammaWithSoftplusConcentrationRate(Gamma):
    """A `Gamma` with softplus of concentration and rate."""

    def __init__(
        self, concentration: Any, rate: Any, name: str = "GammaWithSoftplusConcentrationRate", **options: Any
    ) -> None:
        super().__init__(softplus(concentration), softplus(rate), name=name, **options)


@export("contrib.distributions.LaplaceWithSoftplusScale")
class LaplaceWithSoftplusScale(Laplace):
    """A `Laplace` with softplus of the scale."""

    def __init__(self, loc: Any, scale: Any, name: str = "LaplaceWithSoftplusScale", **options: Any) -> None:
        super().__init__(loc, softplus(scale), name=name, **options)


@export("contrib.distributions.NormalWithSoftplusScale")
class NormalWithSoftplusScale(Normal):
    """A `Normal` with softplus of the scale."""

    def __init__(self, loc: Any, scale: Any, name: str = "NormalWithSoftplusScale", **options: Any) -> None:
        super().__init__(loc, softplus(scale), name=name, **options)


@export("contrib.distributions.StudentTWithAbsDfSoftplusScale")
class StudentTWithAbsDfSoftplusScale(StudentT):
    """A `StudentT` with floor(|df|) degrees of freedom and softplus of the scale."""

    def __init__(
        self, df: Any, loc: Any, scale: Any, name: str = "StudentTWithAbsDfSoftplusScale", **options: Any
    ) -> None:
        super().__init__(floor(abs(df)), loc, softplus(scale), name=name, **options)
