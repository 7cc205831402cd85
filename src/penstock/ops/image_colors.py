"""Colours, brightness and contrast of images, also by chance, and measures of how images differ (TF: tf.image)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.control_flow.cond import cond
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.arithmetic import add
from penstock.ops.array import expand_dims, reshape, shape
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.compare import less
from penstock.ops.image_color import ADJUST_CONTRAST, ADJUST_HUE, ADJUST_SATURATION
from penstock.ops.image_functions import convert_image_dtype, flip_left_right, flip_up_down
from penstock.ops.joining import concat
from penstock.ops.padding import pad
from penstock.ops.random import random_uniform
from penstock.ops.reduce import reduce_mean, reduce_sum
from penstock.ops.reversing import tile
from penstock.ops.unary import abs as abs_, log, square
from penstock.tensor.dtypes import float32, half


def _as_floats(image: Any) -> tuple[Tensor, Any]:
    """The image in [0, 1] as floats, and the dtype to give back."""
    image = convert_to_tensor(image, name="image")
    if image.dtype in (float32, half):
        return image, image.dtype
    return convert_image_dtype(image, float32), image.dtype


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """[..., 3] → [..., 1], of the same dtype: 0.2989 red, 0.587 green, 0.114 blue."""
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        floats = convert_image_dtype(images, float32)
        grey = reduce_sum(floats * np.array([0.2989, 0.5870, 0.1140], np.float32), -1, keepdims=True)
        return convert_image_dtype(grey, images.dtype, name=scope)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """[..., 1] → [..., 3], three times the same."""
    with name_scope(name, "grayscale_to_rgb", [images]):
        images = convert_to_tensor(images, name="images")
        rank = images.shape.ndims
        if rank is None:
            times = concat([shape(shape(images)) * 0 + 1, [3]], 0)[1:]
            return tile(images, times)
        images.shape[-1].assert_is_compatible_with(1)
        return tile(images, [1] * (rank - 1) + [3])


_YIQ = np.array([[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]])
_FROM_YIQ = np.array([[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]])
_YUV = np.array([[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]])
_FROM_YUV = np.array([[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]])


def _times(images: Any, matrix: np.ndarray) -> Tensor:
    images = convert_to_tensor(images, name="images")
    weights = matrix.astype(images.dtype.as_numpy_dtype)
    return reduce_sum(expand_dims(images, -1) * weights, -2)


def rgb_to_yiq(images: Any) -> Tensor:
    """Colours [..., 3] in [0, 1] as luma and two differences (NTSC)."""
    return _times(images, _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yiq`."""
    return _times(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Colours [..., 3] in [0, 1] as luma and two differences (PAL)."""
    return _times(images, _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """The inverse of `rgb_to_yuv`."""
    return _times(images, _FROM_YUV)


# --- adjusting ------------------------------------------------------------------------------------------


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """`delta`, in parts of the whole range, added to every value."""
    with name_scope(None, "adjust_brightness", [image, delta]) as scope:
        floats, dtype = _as_floats(image)
        return convert_image_dtype(add(floats, cast(delta, floats.dtype)), dtype, saturate=True, name=scope)


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Each channel's distance from its mean over the image, times `contrast_factor`."""
    with name_scope(None, "adjust_contrast", [images, contrast_factor]) as scope:
        floats, dtype = _as_floats(images)
        adjusted = ADJUST_CONTRAST(floats, convert_to_tensor(contrast_factor, dtype=float32))
        return convert_image_dtype(adjusted, dtype, saturate=True, name=scope)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * value ** gamma, on values in [0, 1]."""
    if isinstance(gamma, int | float) and gamma < 0:
        raise ValueError("Gamma should be a non-negative real number.")
    with name_scope(None, "adjust_gamma", [image, gamma, gain]) as scope:
        floats, dtype = _as_floats(image)
        return convert_image_dtype(
            cast(gain, floats.dtype) * floats ** cast(gamma, floats.dtype), dtype, True, name=scope
        )


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """The hue of RGB images turned by `delta`, in [-1, 1]: 1 is once round."""
    with name_scope(name, "adjust_hue", [image]) as scope:
        floats, dtype = _as_floats(image)
        return convert_image_dtype(ADJUST_HUE(floats, convert_to_tensor(delta, dtype=float32)), dtype, name=scope)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """The saturation of RGB images times `saturation_factor`."""
    with name_scope(name, "adjust_saturation", [image]) as scope:
        floats, dtype = _as_floats(image)
        adjusted = ADJUST_SATURATION(floats, convert_to_tensor(saturation_factor, dtype=float32))
        return convert_image_dtype(adjusted, dtype, name=scope)


def random_brightness(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_brightness` by a delta from [-max_delta, max_delta), drawn in each step."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_contrast` by a factor from [lower, upper), drawn in each step."""
    return adjust_contrast(image, random_uniform([], *_range(lower, upper), seed=seed))


def random_saturation(image: Any, lower: float, upper: float, seed: int | None = None) -> Tensor:
    """`adjust_saturation` by a factor from [lower, upper), drawn in each step."""
    return adjust_saturation(image, random_uniform([], *_range(lower, upper), seed=seed))


def _range(lower: float, upper: float) -> tuple[float, float]:
    if upper <= lower:
        raise ValueError("upper must be > lower.")
    if lower < 0:
        raise ValueError("lower must be non-negative.")
    return lower, upper


def random_hue(image: Any, max_delta: float, seed: int | None = None) -> Tensor:
    """`adjust_hue` by a delta from [-max_delta, max_delta), drawn in each step; max_delta in [0, 0.5]."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be in [0, 0.5].")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Each image flipped left to right, or not, with even chances, drawn in each step."""
    return _random_flip(image, flip_left_right, seed, "random_flip_left_right")


def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Each image flipped upside down, or not, with even chances, drawn in each step."""
    return _random_flip(image, flip_up_down, seed, "random_flip_up_down")


def _random_flip(image: Any, flip: Any, seed: int | None, scope: str) -> Tensor:
    with name_scope(None, scope, [image]) as name:
        image = convert_to_tensor(image, name="image")
        if image.shape.ndims != 4:
            chosen = cond(
                less(random_uniform([], 0, 1.0, seed=seed), 0.5), lambda: flip(image), lambda: identity(image)
            )
            chosen.set_shape(image.shape)
            return identity(chosen, name=name)
        batch = shape(image)[0]
        chances = cast(less(random_uniform(reshape(batch, [1]), 0, 1.0, seed=seed), 0.5), image.dtype)
        flipped = reshape(chances, [-1, 1, 1, 1])
        return identity(flip(image) * flipped + image * (1 - flipped), name=name)


# --- measures -------------------------------------------------------------------------------------------


def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the absolute differences of neighbouring pixels, of each image: [] or [batch]."""
    with name_scope(name, "total_variation"):
        images = convert_to_tensor(images)
        axes = {3: [0, 1, 2], 4: [1, 2, 3]}.get(images.shape.ndims)
        if axes is None:
            raise ValueError("'images' must be either 3 or 4-dimensional.")
        rows = images[..., 1:, :, :] - images[..., :-1, :, :]
        columns = images[..., :, 1:, :] - images[..., :, :-1, :]
        return reduce_sum(abs_(rows), axes) + reduce_sum(abs_(columns), axes)


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """Differences of each pixel [batch, h, w, d] to the next one below and to the right; 0 in the last row, column."""
    image = convert_to_tensor(image)
    if image.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    rows = image[:, 1:, :, :] - image[:, :-1, :, :]
    columns = image[:, :, 1:, :] - image[:, :, :-1, :]
    return pad(rows, [[0, 0], [0, 1], [0, 0], [0, 0]]), pad(columns, [[0, 0], [0, 0], [0, 1], [0, 0]])


def sobel_edges(image: Any) -> Tensor:
    """[batch, h, w, d] → [batch, h, w, d, 2]: Sobel's derivative down and to the right, borders reflected."""
    image = convert_to_tensor(image)
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")

    def at(rows: int, columns: int) -> Tensor:
        return padded[:, rows : rows - 2 or None, columns : columns - 2 or None, :]

    down = at(2, 0) + 2 * at(2, 1) + at(2, 2) - at(0, 0) - 2 * at(0, 1) - at(0, 2)
    right = at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0)
    return concat([expand_dims(down, -1), expand_dims(right, -1)], -1)


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio, in dB, of images [..., h, w, d] whose values reach `max_val`."""
    with name_scope(name, "PSNR", [a, b]):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        top = convert_image_dtype(cast(max_val, a.dtype), float32)
        a, b = convert_image_dtype(a, float32), convert_image_dtype(b, float32)
        error = reduce_mean(square(a - b), [-3, -2, -1])
        return 20 * log(top) / math.log(10.0) - np.float32(10 / math.log(10)) * log(error)


def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The structural similarity of images [..., h, w, d], at least filter_size large, whose values reach `max_val`."""
    with name_scope(None, "SSIM", [img1, img2]):
        img1, img2 = convert_to_tensor(img1), convert_to_tensor(img2)
        top = convert_image_dtype(cast(max_val, img1.dtype), float32)
        x, y = convert_image_dtype(img1, float32), convert_image_dtype(img2, float32)
        similarity, _ = _ssim_maps(x, y, top, filter_size, filter_sigma, k1, k2)
        return reduce_mean(similarity, [-1])


def _ssim_maps(
    x: Tensor, y: Tensor, top: Any, filter_size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """The similarity, and its part of contrast and structure, of each channel: [..., d]."""
    from penstock.ops.nn.conv_functions import depthwise_conv2d

    at = np.arange(filter_size) - (filter_size - 1) / 2
    kernel = np.exp(-(at[:, None] ** 2 + at[None, :] ** 2) / (2 * sigma**2))
    channels = int(x.shape[-1])
    window = np.tile((kernel / kernel.sum()).astype(np.float32)[:, :, None, None], (1, 1, channels, 1))

    def blur(image: Tensor) -> Tensor:
        dims = shape(image)
        flat = reshape(image, concat([[-1], dims[-3:]], 0))
        blurred = depthwise_conv2d(flat, window, [1, 1, 1, 1], "VALID")
        return reshape(blurred, concat([dims[:-3], shape(blurred)[1:]], 0))

    c1, c2 = (k1 * top) ** 2, (k2 * top) ** 2
    mean_x, mean_y = blur(x), blur(y)
    both, squares = mean_x * mean_y, square(mean_x) + square(mean_y)
    luminance = (2.0 * both + c1) / (squares + c1)
    structure = (2.0 * (blur(x * y) - both) + c2) / (blur(square(x) + square(y)) - squares + c2)
    return reduce_mean(luminance * structure, [-3, -2]), reduce_mean(structure, [-3, -2])
