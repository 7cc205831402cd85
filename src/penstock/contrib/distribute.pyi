# Written by `python -m penstock.api.generate`.
from penstock.distribute.multi_worker import CollectiveAllReduceStrategy as CollectiveAllReduceStrategy
from penstock.distribute.reduction import AllReduceCrossDeviceOps as AllReduceCrossDeviceOps
from penstock.distribute.reduction import AllReduceCrossDeviceOps as AllReduceCrossTowerOps
from penstock.distribute.reduction import CrossDeviceOps as CrossDeviceOps
from penstock.distribute.reduction import CrossDeviceOps as CrossTowerOps
from penstock.distribute.reduction import ReductionToOneDevice as ReductionToOneDeviceCrossDeviceOps
from penstock.distribute.reduction import ReductionToOneDevice as ReductionToOneDeviceCrossTowerOps
from penstock.distribute.strategies import ContribMirroredStrategy as MirroredStrategy
from penstock.distribute.strategies import ContribOneDeviceStrategy as OneDeviceStrategy
from penstock.distribute.strategies import ContribParameterServerStrategy as ParameterServerStrategy
from penstock.distribute.strategy import Strategy as DistributionStrategy
from penstock.distribute.strategy import get_cross_replica_context as get_cross_replica_context
from penstock.distribute.strategy import get_cross_replica_context as get_cross_tower_context
from penstock.distribute.strategy import get_strategy as get_distribution_strategy
from penstock.distribute.strategy import get_replica_context as get_replica_context
from penstock.distribute.strategy import get_replica_context as get_tower_context
from penstock.distribute.strategy import has_strategy as has_distribution_strategy
from penstock.estimator.distributed import DistributeConfig as DistributeConfig

__all__ = [
    "CollectiveAllReduceStrategy", "AllReduceCrossDeviceOps", "AllReduceCrossTowerOps", "CrossDeviceOps",
    "CrossTowerOps", "ReductionToOneDeviceCrossDeviceOps", "ReductionToOneDeviceCrossTowerOps", "MirroredStrategy",
    "OneDeviceStrategy", "ParameterServerStrategy", "DistributionStrategy", "get_cross_replica_context",
    "get_cross_tower_context", "get_distribution_strategy", "get_replica_context", "get_tower_context",
    "has_distribution_strategy", "DistributeConfig"
]
