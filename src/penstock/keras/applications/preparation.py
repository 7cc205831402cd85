"""What images are before the models see them, and what their predictions mean."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import check_data_format, floatx
from penstock.keras.utils.files import get_file
from penstock.ops.cast import cast
from penstock.ops.reversing import reverse

_CLASSES = "https://storage.googleapis.com/download.tensorflow.org/data/imagenet_class_index.json"
_BGR_MEANS = (103.939, 116.779, 123.68)
_MEANS, _DEVIATIONS = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


@export("keras.applications.imagenet_utils.preprocess_input")
def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Images with values from 0 to 255, in one of three ways.

    "caffe": BGR less the means of ImageNet's channels. "tf": from -1 to 1. "torch": from 0 to 1, then less the means,
    divided by the deviations.
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Unknown mode {mode!r}: it is one of caffe, tf, torch")
    tensor = isinstance(x, Tensor)
    if not tensor:
        x = np.asarray(x)
    if not (x.dtype.is_floating if tensor else np.issubdtype(x.dtype, np.floating)):
        x = cast(x, floatx()) if tensor else x.astype(floatx())
    if not tensor:
        return _in_place(x, check_data_format(data_format) == "channels_first", mode)
    if mode == "tf":
        return x / 127.5 - 1.0
    axis = -3 if check_data_format(data_format) == "channels_first" else -1
    shape = [3, 1, 1] if axis == -3 else [3]

    def of_channels(values: Any) -> np.ndarray:
        return np.reshape(values, shape).astype(x.dtype.as_numpy_dtype)

    if mode == "torch":
        return (x / 255.0 - of_channels(_MEANS)) / of_channels(_DEVIATIONS)
    return reverse(x, [len(x.shape) + axis]) - of_channels(_BGR_MEANS)


def _in_place(x: np.ndarray, first: bool, mode: str) -> np.ndarray:
    """The same of an array of floats, which is changed itself, as programs that call it for nothing else know."""
    if mode == "tf":
        x /= 127.5
        x -= 1.0
        return x
    if mode == "torch":
        x /= 255.0
    else:
        x = np.flip(x, -3 if first else -1)  # the same numbers, in another order
    channels = np.moveaxis(x, -3, -1) if first else x
    channels -= np.asarray(_MEANS if mode == "torch" else _BGR_MEANS, x.dtype)
    if mode == "torch":
        channels /= np.asarray(_DEVIATIONS, x.dtype)
    return x


@export(
    "keras.applications.vgg16.preprocess_input", "keras.applications.vgg19.preprocess_input",
    "keras.applications.resnet50.preprocess_input", "keras.applications.resnet.preprocess_input",
)  # fmt: skip
def as_caffe(x: Any, data_format: str | None = None) -> Any:
    """Images with values from 0 to 255 as BGR, less the means of ImageNet's channels."""
    return preprocess_input(x, data_format, "caffe")


@export(
    "keras.applications.inception_v3.preprocess_input", "keras.applications.inception_resnet_v2.preprocess_input",
    "keras.applications.xception.preprocess_input", "keras.applications.mobilenet.preprocess_input",
    "keras.applications.mobilenet_v2.preprocess_input", "keras.applications.resnet_v2.preprocess_input",
)  # fmt: skip
def as_tf(x: Any, data_format: str | None = None) -> Any:
    """Images with values from 0 to 255 as values from -1 to 1."""
    return preprocess_input(x, data_format, "tf")


@export("keras.applications.densenet.preprocess_input")
def as_torch(x: Any, data_format: str | None = None) -> Any:
    """Images with values from 0 to 255, standardised by ImageNet's means and deviations."""
    return preprocess_input(x, data_format, "torch")


@export(
    "keras.applications.imagenet_utils.decode_predictions", "keras.applications.vgg16.decode_predictions",
    "keras.applications.vgg19.decode_predictions", "keras.applications.resnet50.decode_predictions",
    "keras.applications.resnet.decode_predictions", "keras.applications.resnet_v2.decode_predictions",
    "keras.applications.inception_v3.decode_predictions", "keras.applications.xception.decode_predictions",
    "keras.applications.inception_resnet_v2.decode_predictions", "keras.applications.mobilenet.decode_predictions",
    "keras.applications.mobilenet_v2.decode_predictions", "keras.applications.densenet.decode_predictions",
)  # fmt: skip
def decode_predictions(preds: Any, top: int = 5) -> list[list[tuple[str, str, float]]]:
    """For each row of probabilities the `top` classes: (WordNet's number, name, probability)."""
    preds = np.asarray(preds)
    if preds.ndim != 2 or preds.shape[1] != 1000:
        raise ValueError(
            "`decode_predictions` expects a batch of predictions (i.e. a 2D array of shape (samples, 1000)). "
            f"Found array with shape: {preds.shape}"
        )
    path = get_file(
        "imagenet_class_index.json", _CLASSES, cache_subdir="models", file_hash="c2c37ea517e94d9795004a39431a14cb"
    )
    with open(path, encoding="utf-8") as file:
        classes = json.load(file)
    best = [np.argsort(-row, kind="stable")[:top] for row in preds]
    return [[(*classes[str(i)], row[i]) for i in order] for row, order in zip(preds, best, strict=True)]
