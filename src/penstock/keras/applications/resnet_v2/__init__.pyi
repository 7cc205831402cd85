# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_tf as preprocess_input
from penstock.keras.applications.residual import ResNet101V2 as ResNet101V2
from penstock.keras.applications.residual import ResNet152V2 as ResNet152V2
from penstock.keras.applications.residual import ResNet50V2 as ResNet50V2

__all__ = [
    "decode_predictions", "preprocess_input", "ResNet101V2", "ResNet152V2", "ResNet50V2"
]
