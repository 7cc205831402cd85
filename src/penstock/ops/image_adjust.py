"""Colours, brightness and contrast of images, including random changes (TF: tf.image)."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import counted_as, more_nodes, name_scope
from penstock.ops.arithmetic import add
from penstock.ops.array import expand_dims, shape
from penstock.ops.cast import cast
from penstock.ops.filling import ones_like
from penstock.ops.image_color import ADJUST_CONTRAST, ADJUST_HUE, ADJUST_SATURATION
from penstock.ops.image_values import convert_image_dtype
from penstock.ops.joining import concat
from penstock.ops.random import random_uniform
from penstock.ops.reduce import reduce_sum
from penstock.ops.reversing import tile
from penstock.tensor.dtypes import float32, half


def _as_floats(image: Any) -> tuple[Tensor, Any]:
    """The image in [0, 1] as floats, and the dtype to convert back to."""
    image = convert_to_tensor(image, name="image")
    if image.dtype in (float32, half):
        return image, image.dtype
    return convert_image_dtype(image, float32), image.dtype


@export("image.rgb_to_grayscale")
def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """[..., 3] → [..., 1], of the same dtype: 0.2989 red, 0.587 green, 0.114 blue."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(images, float32)
        # TensorFlow's is a tensordot.
        more_nodes(32 if images.shape.ndims is None else 10 if images.shape.is_fully_defined() else 24)
        grey = reduce_sum(floats * np.array([0.2989, 0.5870, 0.1140], np.float32), -1, keepdims=True)
        return convert_image_dtype(grey, images.dtype, name=scope)


@export("image.grayscale_to_rgb")
def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """[..., 1] → [..., 3], three times the same."""
    with name_scope(name, "grayscale_to_rgb", [images]):
        images = convert_to_tensor(images, name="images")
        rank = images.shape.ndims
        with counted_as(14 if images.shape.is_fully_defined() else 46):  # with TensorFlow's checks
            if rank is None:
                times = concat([ones_like(shape(images)[1:]), [3]], 0)
                return tile(images, times)
            images.shape[-1].assert_is_compatible_with(1)
            tiled = tile(images, [1] * (rank - 1) + [3])
            tiled.set_shape([None] * (rank - 1) + [3])
            return tiled


_YIQ = np.array([[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]])
_FROM_YIQ = np.array([[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])
_YUV = np.array([[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])
_FROM_YUV = np.array([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


def _times(images: Any, matrix: np.ndarray) -> Tensor:
    images = convert_to_tensor(images, name="images")
    weights = matrix.astype(images.dtype.as_numpy_dtype)
    return reduce_sum(expand_dims(images, -1) * weights, -2)


@export("image.rgb_to_yiq")
def rgb_to_yiq(images: Any) -> Tensor:
    """Colours [..., 3] in [0, 1] as luma and two differences (NTSC)."""
    return _times(images, _YIQ)


@export("image.yiq_to_rgb")
def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`."""
    return _times(images, _FROM_YIQ)


@export("image.rgb_to_yuv")
def rgb_to_yuv(images: Any) -> Tensor:
    """Colours [..., 3] in [0, 1] as luma and two differences (PAL)."""
    return _times(images, _YUV)


@export("image.yuv_to_rgb")
def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`."""
    return _times(images, _FROM_YUV)


# --- adjusting ------------------------------------------------------------------------------------------


@export("image.adjust_brightness")
def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """Adds `delta`, as a fraction of the whole range, to every value."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        floats, dtype = _as_floats(image)
        return convert_image_dtype(add(floats, cast(delta, floats.dtype)), dtype, saturate=True, name=scope)


@export("image.adjust_contrast")
def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Multiplies each channel's distance from its mean over the image by `contrast_factor`."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        floats, dtype = _as_floats(images)
        adjusted = ADJUST_CONTRAST(floats, convert_to_tensor(contrast_factor, dtype=float32))
        return convert_image_dtype(adjusted, dtype, saturate=True, name=scope)


@export("image.adjust_gamma")
def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * value ** gamma, for values in [0, 1]."""
    if isinstance(gamma, int | float) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    with name_scope(None, "adjust_gamma", [image, gamma, gain]) as scope:
        floats, dtype = _as_floats(image)
        return convert_image_dtype(
            cast(gain, floats.dtype) * floats ** cast(gamma, floats.dtype), dtype, True, name=scope
        )


@export("image.adjust_hue")
def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Rotates the hue of RGB images by `delta` in [-1, 1]; 1 is a full turn."""
    with name_scope(name, "adjust_hue", [image]) as scope:
        floats, dtype = _as_floats(image)
        return convert_image_dtype(ADJUST_HUE(floats, convert_to_tensor(delta, dtype=float32)), dtype, name=scope)


@export("image.adjust_saturation")
def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Multiplies the saturation of RGB images by `saturation_factor`."""
    with name_scope(name, "adjust_saturation", [image]) as scope:
        floats, dtype = _as_floats(image)
        adjusted = ADJUST_SATURATION(floats, convert_to_tensor(saturation_factor, dtype=float32))
        return convert_image_dtype(adjusted, dtype, name=scope)


@export("image.random_brightness")
def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a delta from [-max_delta, max_delta), drawn in each step."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


@export("image.random_contrast")
def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor from [lower, upper), drawn in each step."""
    return adjust_contrast(image, random_uniform([], *_range(lower, upper), seed=seed))


@export("image.random_saturation")
def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a factor from [lower, upper), drawn in each step."""
    return adjust_saturation(image, random_uniform([], *_range(lower, upper), seed=seed))


def _range(lower: float, upper: float) -> tuple[float, float]:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return lower, upper


@export("image.random_hue")
def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a delta from [-max_delta, max_delta), drawn in each step; max_delta in [0, 0.5]."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be in [0, 0.5].")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))
