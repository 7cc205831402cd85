"""Probability distributions (TF: tf.distributions)."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.distributions.discrete import Bernoulli as Bernoulli, Categorical as Categorical
from penstock.distributions.distribution import (
    FULLY_REPARAMETERIZED as FULLY_REPARAMETERIZED,
    NOT_REPARAMETERIZED as NOT_REPARAMETERIZED,
    Distribution as Distribution,
    ReparameterizationType as ReparameterizationType,
)
from penstock.distributions.gamma import (
    Beta as Beta,
    Dirichlet as Dirichlet,
    Exponential as Exponential,
    Gamma as Gamma,
)
from penstock.distributions.kullback_leibler import RegisterKL as RegisterKL, kl_divergence as kl_divergence
from penstock.distributions.location_scale import Laplace as Laplace, StudentT as StudentT, Uniform as Uniform
from penstock.distributions.multinomial import DirichletMultinomial as DirichletMultinomial, Multinomial as Multinomial
from penstock.distributions.normal import Normal as Normal

_absent.tell_in(__name__)
