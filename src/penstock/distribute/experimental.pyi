# Written by `python -m penstock.api.generate`.
from penstock.distribute.multi_worker import CollectiveCommunication as CollectiveCommunication
from penstock.distribute.multi_worker import MultiWorkerMirroredStrategy as MultiWorkerMirroredStrategy
from penstock.distribute.strategies import CentralStorageStrategy as CentralStorageStrategy
from penstock.distribute.strategies import ParameterServerStrategy as ParameterServerStrategy

__all__ = [
    "CollectiveCommunication", "MultiWorkerMirroredStrategy", "CentralStorageStrategy", "ParameterServerStrategy"
]
