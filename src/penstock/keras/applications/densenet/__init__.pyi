# Written by `python -m penstock.api.generate`.
from penstock.keras.applications.dense_blocks import DenseNet121 as DenseNet121
from penstock.keras.applications.dense_blocks import DenseNet169 as DenseNet169
from penstock.keras.applications.dense_blocks import DenseNet201 as DenseNet201
from penstock.keras.applications.preparation import decode_predictions as decode_predictions
from penstock.keras.applications.preparation import as_torch as preprocess_input

__all__ = [
    "DenseNet121", "DenseNet169", "DenseNet201", "decode_predictions", "preprocess_input"
]
