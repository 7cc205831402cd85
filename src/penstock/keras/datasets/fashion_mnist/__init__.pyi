# Written by `python -m penstock.api.generate`.
from penstock.keras.datasets.loading import fashion_mnist as load_data

__all__ = [
    "load_data"
]
