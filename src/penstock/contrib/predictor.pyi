# Written by `python -m penstock.api.generate`.
from penstock.estimator.predictor import from_estimator as from_estimator
from penstock.estimator.predictor import from_saved_model as from_saved_model

__all__ = [
    "from_estimator", "from_saved_model"
]
