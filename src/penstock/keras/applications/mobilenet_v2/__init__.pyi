# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.mobile import MobileNetV2 as MobileNetV2
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_tf as preprocess_input

__all__ = [
    "MobileNetV2", "decode_predictions", "preprocess_input"
]
