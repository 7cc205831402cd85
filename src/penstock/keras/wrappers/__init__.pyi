# Written by `python -m penstock.api.generate`.
from penstock.keras.wrappers import scikit_learn as scikit_learn

__all__ = [
    "scikit_learn"
]
