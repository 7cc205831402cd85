# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.inception import InceptionV3 as InceptionV3
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_tf as preprocess_input

__all__ = [
    "InceptionV3", "decode_predictions", "preprocess_input"
]
