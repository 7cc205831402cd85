# Written by `python -m penstock.api.generate`.
from penstock.distribute import experimental as experimental
from penstock.distribute.inputs import InputContext as InputContext
from penstock.distribute.reduction import CrossDeviceOps as CrossDeviceOps
from penstock.distribute.reduction import AllReduceCrossDeviceOps as HierarchicalCopyAllReduce
from penstock.distribute.reduction import AllReduceCrossDeviceOps as NcclAllReduce
from penstock.distribute.reduction import ReduceOp as ReduceOp
from penstock.distribute.reduction import ReductionToOneDevice as ReductionToOneDevice
from penstock.distribute.strategies import MirroredStrategy as MirroredStrategy
from penstock.distribute.strategies import OneDeviceStrategy as OneDeviceStrategy
from penstock.distribute.strategy import Strategy as Strategy
from penstock.distribute.strategy import get_replica_context as get_replica_context
from penstock.distribute.strategy import get_strategy as get_strategy
from penstock.distribute.strategy import has_strategy as has_strategy
from penstock.distribute.strategy import in_cross_replica_context as in_cross_replica_context

__all__ = [
    "experimental", "InputContext", "CrossDeviceOps", "HierarchicalCopyAllReduce", "NcclAllReduce", "ReduceOp",
    "ReductionToOneDevice", "MirroredStrategy", "OneDeviceStrategy", "Strategy", "get_replica_context", "get_strategy",
    "has_strategy", "in_cross_replica_context"
]
