# Written by `python -m penstock.api.generate`.
from penstock.distributions.discrete import Bernoulli as Bernoulli
from penstock.distributions.discrete import Categorical as Categorical
from penstock.distributions.distribution import Distribution as Distribution
from penstock.distributions.distribution import FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED
from penstock.distributions.distribution import NOT_REPARAMETERIZED as NOT_REPARAMETERIZED
from penstock.distributions.distribution import ReparameterizationType as ReparameterizationType
from penstock.distributions.gamma import Beta as Beta
from penstock.distributions.gamma import Dirichlet as Dirichlet
from penstock.distributions.gamma import Exponential as Exponential
from penstock.distributions.gamma import Gamma as Gamma
from penstock.distributions.kullback_leibler import RegisterKL as RegisterKL
from penstock.distributions.kullback_leibler import kl_divergence as kl_divergence
from penstock.distributions.location_scale import Laplace as Laplace
from penstock.distributions.location_scale import StudentT as StudentT
from penstock.distributions.location_scale import Uniform as Uniform
from penstock.distributions.multinomial import DirichletMultinomial as DirichletMultinomial
from penstock.distributions.multinomial import Multinomial as Multinomial
from penstock.distributions.normal import Normal as Normal

__all__ = [
    "Bernoulli", "Categorical", "Distribution", "FULLY_REPARAMETERIZED", "NOT_REPARAMETERIZED",
    "ReparameterizationType", "Beta", "Dirichlet", "Exponential", "Gamma", "RegisterKL", "kl_divergence", "Laplace",
    "StudentT", "Uniform", "DirichletMultinomial", "Multinomial", "Normal"
]
