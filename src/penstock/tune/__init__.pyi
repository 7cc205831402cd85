# Written by `python -m penstock.api.generate`.
from penstock.tune.sampler import GPEIMCMC as GPEIMCMC

__all__ = [
    "GPEIMCMC"
]
