"""Convolutions whose kernel is another one at each place."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import check_data_format
from penstock.ops.array import expand_dims, reshape, squeeze
from penstock.ops.image_patches import extract_image_patches
from penstock.ops.layout import transpose
from penstock.ops.matrix import matmul


@export("keras.backend.local_conv2d")
def local_conv2d(
    inputs: Any, kernel: Any, kernel_size: Any, strides: Any, output_shape: Any, data_format: str | None = None
) -> Tensor:
    """The product of each patch of images with its kernel; kernel: [places, kernel_size * channels, filters].

    The rows of kernels are in the order of a patch's memory: [h, w, c], or [c, h, w] for "channels_first".
    """
    first = check_data_format(data_format) == "channels_first"
    x, kernel = convert_to_tensor(inputs), convert_to_tensor(kernel)
    count, covered, filters = kernel.shape.as_list()
    area = kernel_size[0] * kernel_size[1]
    if first:
        x = transpose(x, [0, 2, 3, 1])
        by_place = transpose(reshape(kernel, [count, covered // area, area, filters]), [0, 2, 1, 3])
        kernel = reshape(by_place, [count, covered, filters])
    patches = extract_image_patches(x, [1, *kernel_size, 1], [1, *strides, 1], [1, 1, 1, 1], "VALID")
    rows = transpose(reshape(patches, [-1, count, covered]), [1, 0, 2])
    outputs = transpose(matmul(rows, kernel), [1, 2, 0] if first else [1, 0, 2])
    return reshape(outputs, [-1, filters, *output_shape] if first else [-1, *output_shape, filters])


@export("keras.backend.local_conv1d")
def local_conv1d(inputs: Any, kernel: Any, kernel_size: Any, strides: Any, data_format: str | None = None) -> Tensor:
    """The product of each patch of sequences with its kernel; kernel: [places, kernel_size * channels, filters]."""
    along = 2 if check_data_format(data_format) == "channels_first" else 1
    x, kernel = expand_dims(convert_to_tensor(inputs), along), convert_to_tensor(kernel)
    places = [1, kernel.shape.as_list()[0]]
    outputs = local_conv2d(x, kernel, [1, *kernel_size], [1, *strides], places, data_format)
    return squeeze(outputs, [along])
