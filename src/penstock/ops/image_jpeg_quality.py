"""Pictures as JPEG files of lower quality would show them (TF: tf.image.adjust_jpeg_quality)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.image_decode_jpeg import decode_jpeg
from penstock.ops.image_encode import ENCODE_JPEG_VARIABLE_QUALITY
from penstock.ops.image_values import convert_image_dtype
from penstock.ops.random import random_uniform
from penstock.tensor.dtypes import int32, uint8


@export("image.adjust_jpeg_quality")
def adjust_jpeg_quality(image: Any, jpeg_quality: Any, name: str | None = None) -> Tensor:
    """The image [h, w, 1 or 3] after it has been a JPEG file of `jpeg_quality`, an int from 0 to 100, or a tensor of
    int32. The dtype stays."""
    with name_scope(name, "adjust_jpeg_quality", [image]):
        image = convert_to_tensor(image, name="image")
        quality = convert_to_tensor(jpeg_quality, int32)
        file = ENCODE_JPEG_VARIABLE_QUALITY(convert_image_dtype(image, uint8), quality)
        return convert_image_dtype(decode_jpeg(file), image.dtype)


@export("image.random_jpeg_quality")
def random_jpeg_quality(image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any = None) -> Tensor:
    """`adjust_jpeg_quality` with a quality from `min_jpeg_quality` on, below `max_jpeg_quality`.

    Raises ValueError unless these are from 0 to 100, and in this order.
    """
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    quality = random_uniform([], min_jpeg_quality, max_jpeg_quality, seed=seed, dtype=int32)
    return adjust_jpeg_quality(image, quality)
