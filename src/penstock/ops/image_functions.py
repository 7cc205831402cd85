"""Images of another size, composed of other ops (TF: tf.image.resize_images)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.old_names import is_index, old_arguments
from penstock.ops.arithmetic import minimum, multiply
from penstock.ops.cast import cast
from penstock.ops.image_batches import as_batch, sizes, without_batch
from penstock.ops.image_resize import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
)
from penstock.ops.rounding import round as round_
from penstock.ops.stacking import stack
from penstock.tensor.dtypes import float32, int32


@export("image.ResizeMethod")
class ResizeMethod:
    """How `resize_images` interpolates (TF: tf.image.ResizeMethod)."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS: dict[Any, Callable[..., Tensor]] = {
    ResizeMethod.BILINEAR: resize_bilinear,
    ResizeMethod.NEAREST_NEIGHBOR: resize_nearest_neighbor,
    ResizeMethod.BICUBIC: resize_bicubic,
    ResizeMethod.AREA: resize_area,
    "bilinear": resize_bilinear,  # TensorFlow 2's names
    "nearest": resize_nearest_neighbor,
    "bicubic": resize_bicubic,
    "area": resize_area,
}


@export("image.resize", "image.resize_images")
@old_arguments(
    "tf.image.resize_images",
    "tf.image.resize_images(images, [new_height, new_width])",
    order="images new_height new_width method align_corners",
    told_by=lambda new_height=None, new_width=None, **_: is_index(new_height) and new_width is not None,
    adapt=lambda given: given | {"size": [given.pop("new_height"), given.pop("new_width")]},
)
def resize_images(
    images: Any,
    size: Any,
    method: int = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images [batch, height, width, channels] or [height, width, channels] at `size` [new_height, new_width].

    float32, except for nearest neighbours and images that already have that size, which keep their dtype. With
    `preserve_aspect_ratio` the largest size within `size`. Raises ValueError for what is not an image. TF:
    tf.image.resize_images.
    """
    with name_scope(name, "resize", [images, size]):
        images = convert_to_tensor(images, name="images")
        if images.shape.ndims is None:
            raise ValueError("'images' contains no shape: its rank must be known, 3 or 4.")
        images, added = as_batch(images)
        size = _new_size(size)
        wanted = constant_value(size)
        if preserve_aspect_ratio:
            size = _largest_within(images, size)
            wanted = constant_value(size)
        if wanted is not None and images.shape.as_list()[1:3] == [int(v) for v in wanted]:
            return without_batch(images, added)
        if method not in _METHODS:
            raise ValueError(f"Resize method is not implemented: {method!r}")
        resized = _METHODS[method](images, size, align_corners=align_corners)
        return without_batch(resized, added)


def _new_size(size: Any) -> Tensor:
    try:
        size = convert_to_tensor(size, dtype=int32, name="size")
    except (TypeError, ValueError) as error:
        raise ValueError(f"'size' must be a 1-D int32 Tensor, not {size!r}") from error
    if not size.shape.is_compatible_with([2]):
        raise ValueError(f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width; it has shape {size.shape}")
    return size


def _largest_within(images: Tensor, size: Tensor) -> Tensor:
    _, height, width, _ = sizes(images)
    wanted = constant_value(size)
    if wanted is not None and isinstance(height, int) and isinstance(width, int):  # in float32, as below
        known = np.array([height, width], np.float32)
        new = np.round(known * (wanted.astype(np.float32) / known).min()).astype(np.int32)
        return convert_to_tensor(new, name="size")
    have = stack([cast(height, float32), cast(width, float32)])
    factor = cast(size, float32) / have
    return cast(round_(multiply(have, minimum(factor[0], factor[1]))), int32)
