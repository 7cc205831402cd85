# Written by `python -m penstock.api.generate`.
from penstock.estimator.on_tpus import CrossShardOptimizer as CrossShardOptimizer
from penstock.estimator.on_tpus import InputPipelineConfig as InputPipelineConfig
from penstock.estimator.on_tpus import TPURunConfig as RunConfig
from penstock.estimator.on_tpus import TPUConfig as TPUConfig
from penstock.estimator.on_tpus import TPUEstimator as TPUEstimator
from penstock.estimator.on_tpus import TPUEstimatorSpec as TPUEstimatorSpec
from penstock.estimator.on_tpus import bfloat16_scope as bfloat16_scope
from penstock.estimator.on_tpus import cross_replica_sum as cross_replica_sum

__all__ = [
    "CrossShardOptimizer", "InputPipelineConfig", "RunConfig", "TPUConfig", "TPUEstimator", "TPUEstimatorSpec",
    "bfloat16_scope", "cross_replica_sum"
]
