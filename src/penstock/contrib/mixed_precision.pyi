# Written by `python -m penstock.api.generate`.
from penstock.train.loss_scale_managers import ExponentialUpdateLossScaleManager as ExponentialUpdateLossScaleManager
from penstock.train.loss_scale_managers import FixedLossScaleManager as FixedLossScaleManager
from penstock.train.loss_scale_managers import LossScaleManager as LossScaleManager
from penstock.train.loss_scale_managers import LossScaleOptimizer as LossScaleOptimizer

__all__ = [
    "ExponentialUpdateLossScaleManager", "FixedLossScaleManager", "LossScaleManager", "LossScaleOptimizer"
]
