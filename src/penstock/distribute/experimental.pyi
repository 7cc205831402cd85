# Written by `python -m penstock.api.generate`.
from penstock.distribute.strategies import CentralStorageStrategy as CentralStorageStrategy

__all__ = [
    "CentralStorageStrategy"
]
