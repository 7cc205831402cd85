# Written by `python -m penstock.api.generate`.
from penstock.keras.datasets.loading import boston_housing as load_data

__all__ = [
    "load_data"
]
