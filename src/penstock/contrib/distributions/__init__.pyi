# Written by `python -m penstock.api.generate`.
from penstock.contrib.distributions.composed import Independent as Independent
from penstock.contrib.distributions.composed import Mixture as Mixture
from penstock.contrib.distributions.composed import MixtureSameFamily as MixtureSameFamily
from penstock.contrib.distributions.counts import Binomial as Binomial
from penstock.contrib.distributions.counts import Geometric as Geometric
from penstock.contrib.distributions.counts import NegativeBinomial as NegativeBinomial
from penstock.contrib.distributions.functions import fill_triangular as fill_triangular
from penstock.contrib.distributions.functions import fill_triangular_inverse as fill_triangular_inverse
from penstock.contrib.distributions.functions import matrix_diag_transform as matrix_diag_transform
from penstock.contrib.distributions.functions import reduce_weighted_logsumexp as reduce_weighted_logsumexp
from penstock.contrib.distributions.functions import softplus_inverse as softplus_inverse
from penstock.contrib.distributions.multivariate_normal import MultivariateNormalFullCovariance as MultivariateNormalFullCovariance
from penstock.contrib.distributions.multivariate_normal import MultivariateNormalTriL as MultivariateNormalTriL
from penstock.contrib.distributions.numbers import Cauchy as Cauchy
from penstock.contrib.distributions.numbers import Deterministic as Deterministic
from penstock.contrib.distributions.numbers import Gumbel as Gumbel
from penstock.contrib.distributions.numbers import Logistic as Logistic
from penstock.contrib.distributions.numbers import Poisson as Poisson
from penstock.contrib.distributions.numbers import RelaxedBernoulli as RelaxedBernoulli
from penstock.contrib.distributions.positive_numbers import Chi2 as Chi2
from penstock.contrib.distributions.positive_numbers import Chi2WithAbsDf as Chi2WithAbsDf
from penstock.contrib.distributions.positive_numbers import HalfNormal as HalfNormal
from penstock.contrib.distributions.positive_numbers import InverseGamma as InverseGamma
from penstock.contrib.distributions.positive_numbers import InverseGammaWithSoftplusConcentrationRate as InverseGammaWithSoftplusConcentrationRate
from penstock.contrib.distributions.statistics import percentile as percentile
from penstock.contrib.distributions.transformed import TransformedDistribution as TransformedDistribution
from penstock.distributions.discrete import Bernoulli as Bernoulli
from penstock.distributions.discrete import Categorical as Categorical
from penstock.distributions.discrete import OneHotCategorical as OneHotCategorical
from penstock.distributions.distribution import Distribution as Distribution
from penstock.distributions.distribution import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from penstock.distributions.distribution import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from penstock.distributions.distribution import ReparameterizationType as ReparameterizationType
from penstock.distributions.gamma import Beta as Beta
from penstock.distributions.gamma import Dirichlet as Dirichlet
from penstock.distributions.gamma import Exponential as Exponential
from penstock.distributions.gamma import Gamma as Gamma
from penstock.distributions.kullback_leibler import RegisterKL as RegisterKL
from penstock.distributions.kullback_leibler import kl_divergence as kl
from penstock.distributions.kullback_leibler import kl_divergence as kl_divergence
from penstock.distributions.location_scale import Laplace as Laplace
from penstock.distributions.location_scale import StudentT as StudentT
from penstock.distributions.location_scale import Uniform as Uniform
from penstock.distributions.multinomial import DirichletMultinomial as DirichletMultinomial
from penstock.distributions.multinomial import Multinomial as Multinomial
from penstock.distributions.normal import MultivariateNormalDiag as MultivariateNormalDiag
from penstock.distributions.normal import Normal as Normal
from penstock.distributions.relaxed import ExpRelaxedOneHotCategorical as ExpRelaxedOneHotCategorical
from penstock.distributions.relaxed import RelaxedOneHotCategorical as RelaxedOneHotCategorical
from penstock.distributions.unconstrained import BernoulliWithSigmoidProbs as BernoulliWithSigmoidProbs
from penstock.distributions.unconstrained import BetaWithSoftplusConcentration as BetaWithSoftplusConcentration
from penstock.distributions.unconstrained import ExponentialWithSoftplusRate as ExponentialWithSoftplusRate
from penstock.distributions.unconstrained import GammaWithSoftplusConcentrationRate as GammaWithSoftplusConcentrationRate
from penstock.distributions.unconstrained import LaplaceWithSoftplusScale as LaplaceWithSoftplusScale
from penstock.distributions.unconstrained import NormalWithSoftplusScale as NormalWithSoftplusScale
from penstock.distributions.unconstrained import StudentTWithAbsDfSoftplusScale as StudentTWithAbsDfSoftplusScale

__all__ = [
    "Independent", "Mixture", "MixtureSameFamily", "Binomial", "Geometric", "NegativeBinomial", "fill_triangular",
    "fill_triangular_inverse", "matrix_diag_transform", "reduce_weighted_logsumexp", "softplus_inverse",
    "MultivariateNormalFullCovariance", "MultivariateNormalTriL", "Cauchy", "Deterministic", "Gumbel", "Logistic",
    "Poisson", "RelaxedBernoulli", "Chi2", "Chi2WithAbsDf", "HalfNormal", "InverseGamma",
    "InverseGammaWithSoftplusConcentrationRate", "percentile", "TransformedDistribution", "Bernoulli", "Categorical",
    "OneHotCategorical", "Distribution", "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED", "ReparameterizationType",
    "Beta", "Dirichlet", "Exponential", "Gamma", "RegisterKL", "kl", "kl_divergence", "Laplace", "StudentT", "Uniform",
    "DirichletMultinomial", "Multinomial", "MultivariateNormalDiag", "Normal", "ExpRelaxedOneHotCategorical",
    "RelaxedOneHotCategorical", "BernoulliWithSigmoidProbs", "BetaWithSoftplusConcentration",
    "ExponentialWithSoftplusRate", "GammaWithSoftplusConcentrationRate", "LaplaceWithSoftplusScale",
    "NormalWithSoftplusScale", "StudentTWithAbsDfSoftplusScale"
]
