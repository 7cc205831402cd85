"""Measures of images and of how two images differ (TF: tf.image)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.arithmetic import maximum, pow as pow_
from penstock.ops.array import expand_dims, reshape, shape
from penstock.ops.cast import cast
from penstock.ops.image_values import convert_image_dtype
from penstock.ops.joining import concat
from penstock.ops.padding import pad
from penstock.ops.reduce import reduce_mean, reduce_prod, reduce_sum
from penstock.ops.reversing import tile
from penstock.ops.stacking import stack
from penstock.ops.unary import abs as abs_, log, square
from penstock.tensor.dtypes import float32

_MSSSIM_WEIGHTS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)
"""The weights of five scales in the paper on multiscale similarity (Wang, Simoncelli and Bovik, 2003)."""


@export("image.total_variation")
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


@export("image.image_gradients")
def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """Differences of each pixel [batch, h, w, d] to the next one below and to the right; 0 in the last row or
    column."""
    image = convert_to_tensor(image)
    if image.shape.ndims != 4:
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}.")
    rows = image[:, 1:, :, :] - image[:, :-1, :, :]
    columns = image[:, :, 1:, :] - image[:, :, :-1, :]
    return pad(rows, [[0, 0], [0, 1], [0, 0], [0, 0]]), pad(columns, [[0, 0], [0, 0], [0, 1], [0, 0]])


@export("image.sobel_edges")
def sobel_edges(image: Any) -> Tensor:
    """[batch, h, w, d] → [batch, h, w, d, 2]: Sobel's vertical and horizontal derivatives, with reflected borders."""
    image = convert_to_tensor(image)
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], mode="REFLECT")

    def at(rows: int, columns: int) -> Tensor:
        return padded[:, rows : rows - 2 or None, columns : columns - 2 or None, :]

    down = at(2, 0) + 2 * at(2, 1) + at(2, 2) - at(0, 0) - 2 * at(0, 1) - at(0, 2)
    right = at(0, 2) + 2 * at(1, 2) + at(2, 2) - at(0, 0) - 2 * at(1, 0) - at(2, 0)
    return concat([expand_dims(down, -1), expand_dims(right, -1)], -1)


@export("image.psnr")
def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The peak signal-to-noise ratio, in dB, of images [..., h, w, d] whose values reach `max_val`."""
    with name_scope(name, "PSNR", [a, b]):
        a, b = convert_to_tensor(a), convert_to_tensor(b)
        top = convert_image_dtype(cast(max_val, a.dtype), float32)
        a, b = convert_image_dtype(a, float32), convert_image_dtype(b, float32)
        error = reduce_mean(square(a - b), [-3, -2, -1])
        return 20 * log(top) / math.log(10.0) - np.float32(10 / math.log(10)) * log(error)


@export("image.ssim")
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


@export("image.ssim_multiscale")
def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Any = _MSSSIM_WEIGHTS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """The similarity of images [..., h, w, d] at several scales, each half as large as the one before.

    It is the product of the contrast and structure terms of `ssim` at all scales but the smallest, and of `ssim` at
    that one, each to the power of its entry in `power_factors`. The smallest images must be filter_size large.
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        img1, img2 = convert_to_tensor(img1), convert_to_tensor(img2)
        top = convert_image_dtype(cast(max_val, img1.dtype), float32)
        images = [convert_image_dtype(img1, float32), convert_image_dtype(img2, float32)]
        terms = []
        for scale in range(len(power_factors)):
            if scale:
                images = [_half(image) for image in images]
            similarity, structure = _ssim_maps(images[0], images[1], top, filter_size, filter_sigma, k1, k2)
            terms.append(maximum(structure if scale < len(power_factors) - 1 else similarity, 0.0))
        factors = pow_(stack(terms, axis=-1), convert_to_tensor(np.array(power_factors, np.float32)))
        return reduce_mean(reduce_prod(factors, [-1]), [-1])


def _half(images: Tensor) -> Tensor:
    """[..., h, w, d] → [..., ceil(h / 2), ceil(w / 2), d]: means of 2x2 pixels, after repeating an odd last row or
    column."""
    from penstock.ops.nn.pooling_functions import avg_pool

    dims = shape(images)
    flat = reshape(images, concat([[-1], dims[-3:]], 0))
    odd = dims[-3:-1] % 2
    padded = pad(flat, stack([[0, 0], stack([0, odd[0]]), stack([0, odd[1]]), [0, 0]]), mode="SYMMETRIC")
    halved = avg_pool(padded, [1, 2, 2, 1], [1, 2, 2, 1], "VALID")
    return reshape(halved, concat([dims[:-3], shape(halved)[1:]], 0))


def _ssim_maps(
    x: Tensor, y: Tensor, top: Any, filter_size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """The similarity, and its contrast and structure terms, for each channel: [..., d]."""
    from penstock.ops.nn.conv_functions import depthwise_conv2d

    at = np.arange(filter_size) - (filter_size - 1) / 2
    kernel = np.exp(-(at[:, None] ** 2 + at[None, :] ** 2) / (2 * sigma**2))
    window = tile((kernel / kernel.sum()).astype(np.float32)[:, :, None, None], stack([1, 1, shape(x)[-1], 1]))

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
