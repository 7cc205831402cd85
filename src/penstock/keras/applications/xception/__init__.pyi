# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_tf as preprocess_input
from penstock.keras.applications.separable import Xception as Xception

__all__ = [
    "decode_predictions", "preprocess_input", "Xception"
]
