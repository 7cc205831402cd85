# Written by `python -m penstock.api.generate`.
from penstock.keras.datasets.loading import cifar10 as load_data

__all__ = [
    "load_data"
]
