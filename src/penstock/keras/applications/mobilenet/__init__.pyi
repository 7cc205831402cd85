# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.mobile import MobileNet as MobileNet
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_tf as preprocess_input

__all__ = [
    "MobileNet", "decode_predictions", "preprocess_input"
]
