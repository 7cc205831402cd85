"""Probability distributions (TF: tf.contrib.distributions): those of `tf.distributions`, and a few more."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.distributions import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    Bernoulli as Bernoulli,
    Beta as Beta,
    Categorical as Categorical,
    Dirichlet as Dirichlet,
    DirichletMultinomial as DirichletMultinomial,
    Distribution as Distribution,
    Exponential as Exponential,
    Gamma as Gamma,
    Laplace as Laplace,
    Multinomial as Multinomial,
    Normal as Normal,
    RegisterKL as RegisterKL,
    ReparameterizationType as ReparameterizationType,
    StudentT as StudentT,
    Uniform as Uniform,
    kl_divergence as kl_divergence,
)
from penstock.distributions.discrete import OneHotCategorical as OneHotCategorical
from penstock.distributions.normal import MultivariateNormalDiag as MultivariateNormalDiag
from penstock.distributions.relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from penstock.distributions.unconstrained import (
    BernoulliWithSigmoidProbs as BernoulliWithSigmoidProbs,
    BetaWithSoftplusConcentration as BetaWithSoftplusConcentration,
    ExponentialWithSoftplusRate as ExponentialWithSoftplusRate,
    GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate,
    LaplaceWithSoftplusScale as LaplaceWithSoftplusScale,
    NormalWithSoftplusScale as NormalWithSoftplusScale,
    StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale,
)

kl = kl_divergence  # the name before TF 1.2

_absent.tell_in(__name__)
