"""Images in files, and as arrays (TF: tf.keras.preprocessing.image)."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from penstock.export import export
from penstock.keras.backend.settings import check_data_format, floatx


@export("keras.preprocessing.image.load_img")
def load_img(
    path: Any, grayscale: bool = False, color_mode: str = "rgb", target_size: Any = None, interpolation: str = "nearest"
) -> Image.Image:
    """The image in a file, of `target_size` (height, width) if it is given."""
    mode = {"grayscale": "L", "rgb": "RGB", "rgba": "RGBA"}.get("grayscale" if grayscale else color_mode)
    if mode is None:
        raise ValueError('color_mode must be "grayscale", "rgb", or "rgba"')
    with Image.open(path) as file:
        image = file.convert(mode)
    if target_size is None or image.size == (target_size[1], target_size[0]):
        return image
    methods = {
        "nearest": Image.Resampling.NEAREST,
        "bilinear": Image.Resampling.BILINEAR,
        "bicubic": Image.Resampling.BICUBIC,
        "lanczos": Image.Resampling.LANCZOS,
        "box": Image.Resampling.BOX,
    }
    if interpolation not in methods:
        raise ValueError(f"Invalid interpolation method {interpolation} specified. Supported are {', '.join(methods)}")
    return image.resize((target_size[1], target_size[0]), methods[interpolation])


@export("keras.preprocessing.image.img_to_array")
def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> np.ndarray:
    """An image as floats [h, w, c], or for "channels_first" [c, h, w]."""
    array = np.asarray(img, dtype=dtype or floatx())
    if array.ndim == 2:
        array = array[:, :, None]
    if array.ndim != 3:
        raise ValueError(f"Unsupported image shape: {array.shape}")
    return array.transpose(2, 0, 1) if check_data_format(data_format) == "channels_first" else array


@export("keras.preprocessing.image.array_to_img")
def array_to_img(x: Any, data_format: str | None = None, scale: bool = True) -> Image.Image:
    """An array as an image; with `scale`, its least and greatest values become black and white."""
    array = np.asarray(x, dtype=floatx())
    if array.ndim != 3:
        raise ValueError(f"Expected image array to have rank 3 (single image). Got array with shape: {array.shape}")
    if check_data_format(data_format) == "channels_first":
        array = array.transpose(1, 2, 0)
    if scale:
        array = array - array.min()
        array = array * (255.0 / array.max()) if array.max() else array
    return Image.fromarray(array[:, :, 0].astype("uint8") if array.shape[2] == 1 else array.astype("uint8"))


@export("keras.preprocessing.image.save_img")
def save_img(path: Any, x: Any, data_format: str | None = None, scale: bool = True, **kwargs: Any) -> None:
    """Write an array to a file as an image."""
    array_to_img(x, data_format, scale).save(path, **kwargs)
