"""Random numbers (TF: tf.random): each function is written where its op is, and listed here."""

from __future__ import annotations

from penstock import absent as _absent
from penstock.graph.scopes import get_seed as get_seed, set_random_seed as set_random_seed
from penstock.ops.candidate_sampling import (
    all_candidate_sampler as all_candidate_sampler,
    fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler as learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler as log_uniform_candidate_sampler,
    uniform_candidate_sampler as uniform_candidate_sampler,
)
from penstock.ops.random import (
    categorical as categorical,
    multinomial as multinomial,
    random_normal as normal,
    random_shuffle as shuffle,
    random_uniform as uniform,
    truncated_normal as truncated_normal,
)
from penstock.ops.random_distributions import random_gamma as gamma, random_poisson as poisson

__all__ = [
    "all_candidate_sampler",
    "categorical",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_seed",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_random_seed",
    "shuffle",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]

_absent.tell_in(__name__)
