# Written by `python -m penstock.api.generate`.
from penstock.keras.estimator.conversion import model_to_estimator as model_to_estimator

__all__ = [
    "model_to_estimator"
]
