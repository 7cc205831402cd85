# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import preprocess_input as preprocess_input

__all__ = [
    "decode_predictions", "preprocess_input"
]
