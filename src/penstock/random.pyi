# Written by `python -m penstock.api.generate`.
from penstock.graph.scopes import get_seed as get_seed
from penstock.graph.scopes import set_random_seed as set_random_seed
from penstock.ops.candidate_sampling import all_candidate_sampler as all_candidate_sampler
from penstock.ops.candidate_sampling import fixed_unigram_candidate_sampler as fixed_unigram_candidate_sampler
from penstock.ops.candidate_sampling import learned_unigram_candidate_sampler as learned_unigram_candidate_sampler
from penstock.ops.candidate_sampling import log_uniform_candidate_sampler as log_uniform_candidate_sampler
from penstock.ops.candidate_sampling import uniform_candidate_sampler as uniform_candidate_sampler
from penstock.ops.random import categorical as categorical
from penstock.ops.random import multinomial as multinomial
from penstock.ops.random import random_normal as normal
from penstock.ops.random import random_shuffle as shuffle
from penstock.ops.random import truncated_normal as truncated_normal
from penstock.ops.random import random_uniform as uniform
from penstock.ops.random_distributions import random_gamma as gamma
from penstock.ops.random_distributions import random_poisson as poisson
from penstock.ops.random_stateless import stateless_categorical as stateless_categorical
from penstock.ops.random_stateless import stateless_multinomial as stateless_multinomial
from penstock.ops.random_stateless import stateless_random_normal as stateless_normal
from penstock.ops.random_stateless import stateless_truncated_normal as stateless_truncated_normal
from penstock.ops.random_stateless import stateless_random_uniform as stateless_uniform

__all__ = [
    "get_seed", "set_random_seed", "all_candidate_sampler", "fixed_unigram_candidate_sampler",
    "learned_unigram_candidate_sampler", "log_uniform_candidate_sampler", "uniform_candidate_sampler", "categorical",
    "multinomial", "normal", "shuffle", "truncated_normal", "uniform", "gamma", "poisson", "stateless_categorical",
    "stateless_multinomial", "stateless_normal", "stateless_truncated_normal", "stateless_uniform"
]
