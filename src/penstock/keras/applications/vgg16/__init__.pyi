# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_caffe as preprocess_input
from penstock.keras.applications.vgg import VGG16 as VGG16

__all__ = [
    "decode_predictions", "preprocess_input", "VGG16"
]
