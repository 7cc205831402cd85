# Written by `python -m penstock.api.generate`.
from penstock.keras.wrappers.scikit_learn.estimators import KerasClassifier as KerasClassifier
from penstock.keras.wrappers.scikit_learn.estimators import KerasRegressor as KerasRegressor

__all__ = [
    "KerasClassifier", "KerasRegressor"
]
