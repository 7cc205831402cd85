# Written by `python -m penstock.api.generate`.
from penstock.tune.hooks import PruningCallback as PruningCallback
from penstock.tune.hooks import PruningHook as PruningHook
from penstock.tune.reporting import Pruned as Pruned
from penstock.tune.reporting import folder as folder
from penstock.tune.reporting import report as report
from penstock.tune.sampler import GPEIMCMC as GPEIMCMC
from penstock.tune.study import run as run

__all__ = [
    "PruningCallback", "PruningHook", "Pruned", "folder", "report", "GPEIMCMC", "run"
]
