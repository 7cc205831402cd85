"""Images in files, and as arrays (TF: tf.keras.preprocessing.image; facts from keras_preprocessing 1.1)."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from penstock.export import export
from penstock.keras.backend.settings import check_data_format, floatx

MODES = {"grayscale": 1, "rgb": 3, "rgba": 4}
"""Channels by `color_mode`."""

_RESIZED = {
    name: Image.Resampling[name.upper()] for name in ("nearest", "bilinear", "bicubic", "hamming", "box", "lanczos")
}


@export("keras.preprocessing.image.load_img")
def load_img(
    path: Any, grayscale: bool = False, color_mode: str = "rgb", target_size: Any = None, interpolation: str = "nearest"
) -> Image.Image:
    """The image in a file, of `target_size` (height, width) if it is given. Gray ones keep 16 or 32 bits."""
    if grayscale is True:
        warnings.warn('grayscale is deprecated. Please use color_mode = "grayscale"', stacklevel=2)
        color_mode = "grayscale"
    if color_mode not in MODES:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    image: Image.Image = Image.open(io.BytesIO(Path(path).read_bytes()))
    if color_mode != "grayscale":
        image = image.convert(color_mode.upper())
    elif image.mode not in ("L", "I;16", "I"):
        image = image.convert("L")
    if target_size is None or image.size == (target_size[1], target_size[0]):
        return image
    if interpolation not in _RESIZED:
        raise ValueError(f"Invalid interpolation method {interpolation} specified. Supported are {', '.join(_RESIZED)}")
    return image.resize((target_size[1], target_size[0]), _RESIZED[interpolation])


@export("keras.preprocessing.image.img_to_array")
def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """An image as floats [h, w, c], or for "channels_first" [c, h, w]."""
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(f"Unknown data_format: {data_format}")
    array = np.asarray(img, dtype=dtype or floatx())
    first = check_data_format(data_format) == "channels_first"
    if array.ndim == 2:
        return array[None] if first else array[:, :, None]
    if array.ndim != 3:
        raise ValueError(f"Unsupported image shape: {array.shape}")
    return array.transpose(2, 0, 1) if first else array


@export("keras.preprocessing.image.array_to_img")
def array_to_img(x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None) -> Image.Image:
    """An array as an image; with `scale`, its least and greatest values become black and white."""
    array = np.asarray(x, dtype=dtype or floatx())
    if array.ndim != 3:
        raise ValueError(
            f"Expected image array to have rank 3 (single image). Got array with shape: {np.asarray(x).shape}"
        )
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(f"Invalid data_format: {data_format}")
    if check_data_format(data_format) == "channels_first":
        array = array.transpose(1, 2, 0)
    if scale:
        array = array - array.min()
        array = (array / array.max() if array.max() != 0 else array) * 255
    if array.shape[2] == 1:
        wide = array.max() > 255
        return Image.fromarray(array[:, :, 0].astype("int32" if wide else "uint8"))
    if array.shape[2] not in (3, 4):
        raise ValueError(f"Unsupported channel number: {array.shape[2]}")
    return Image.fromarray(array.astype("uint8"))


@export("keras.preprocessing.image.save_img")
def save_img(
    path: Any, x: Any, data_format: str | None = None, file_format: str | None = None, scale: bool = True, **kwargs: Any
) -> None:
    """Write an array to a file as an image; the name says in which format, unless `file_format` does."""
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and file_format in ("jpg", "jpeg"):
        warnings.warn("The JPG format does not support RGBA images, converting to RGB.", stacklevel=2)
        image = image.convert("RGB")
    if image.mode == "I" and (file_format or str(path)).lower().endswith("png"):
        image = image.convert("I;16")  # which Pillow did itself until 12
    image.save(path, format=file_format, **kwargs)
