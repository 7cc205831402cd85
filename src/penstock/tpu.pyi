# Written by `python -m penstock.api.generate`.
from penstock.estimator.on_tpus import CrossShardOptimizer as CrossShardOptimizer
from penstock.estimator.on_tpus import bfloat16_scope as bfloat16_scope
from penstock.estimator.on_tpus import cross_replica_sum as cross_replica_sum

__all__ = [
    "CrossShardOptimizer", "bfloat16_scope", "cross_replica_sum"
]
