# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_caffe as preprocess_input
from penstock.keras.applications.residual import ResNet50 as ResNet50

__all__ = [
    "decode_predictions", "preprocess_input", "ResNet50"
]
