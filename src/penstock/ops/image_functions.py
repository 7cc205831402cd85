"""Cropping, padding and resizing of images, composed of other ops (TF: tf.image)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, counted_as, more_nodes, name_scope
from penstock.old_names import is_index, old_arguments
from penstock.ops.arithmetic import maximum, minimum, multiply
from penstock.ops.array import SHAPE, expand_dims, squeeze
from penstock.ops.basic import identity
from penstock.ops.cast import cast, to_int32
from penstock.ops.checks import assert_greater_equal, assert_non_negative, assert_positive
from penstock.ops.image_resize import (
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_nearest_neighbor,
)
from penstock.ops.padding import pad
from penstock.ops.rounding import round as round_
from penstock.ops.slicing import slice as slice_
from penstock.ops.stacking import stack, unstack
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


def as_batch(image: Tensor) -> tuple[Tensor, bool]:
    """The images with a batch dimension, and whether one was added; an unknown rank counts as one image.

    Raises ValueError for a rank other than 3 or 4.
    """
    rank = image.shape.ndims
    if rank not in (None, 3, 4):
        raise ValueError(f"'images' must have either 3 or 4 dimensions, but has shape {image.shape}.")
    if rank == 4:
        return image, False
    batch = expand_dims(image, 0)
    batch.set_shape([1, None, None, None])
    return batch, True


def without_batch(image: Tensor, added: bool) -> Tensor:
    return squeeze(image, [0]) if added else image


def sizes(image: Tensor) -> list[Any]:
    """Each dimension as a number if it is known, otherwise as a scalar tensor."""
    known = image.shape.as_list()
    if None not in known:
        return known
    dynamic = unstack(SHAPE(image), num=len(known))
    return [d if d is not None else dynamic[i] for i, d in enumerate(known)]


def count_checks(image: Tensor) -> None:
    """What TensorFlow 1.15 checks in the step counts as nodes: that no dimension is 0, unless all are known."""
    more_nodes(1 if image.shape.is_fully_defined() else 23)


def _counted(image: Tensor, fixed: Sequence[Any], known: int, checked: int, one: int, both: int) -> Any:
    """How many nodes TensorFlow 1.15 makes of an image: with all dimensions known; with height and width known; with
    one of them; with neither. `fixed`: as arguments that are tensors add others, they are left as they are."""
    if any(isinstance(value, Tensor) for value in fixed):
        return contextlib.nullcontext()
    dims = [None] * 4 if image.shape.ndims is None else image.shape.as_list()
    unknown = [checked, one, both][dims[-3:-1].count(None)]
    return counted_as(known if None not in dims else unknown)


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


@export("image.resize_image_with_crop_or_pad", "image.resize_with_crop_or_pad")
def resize_image_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """Images cropped, or padded with zeros, evenly on both sides, to the target size (3-D or 4-D)."""
    with name_scope(None, "resize_image_with_crop_or_pad", [image]):
        image = convert_to_tensor(image, name="image")
        rank, more = image.shape.ndims, 0 if image.shape.ndims == 4 else 3
        others = [None] if rank is None else [*image.shape.as_list()[:-3], image.shape.as_list()[-1]]
        last = more + 2 * (None in others)  # what compares the result with the target
        with _counted(image, [target_height, target_width], 11 + more, 83 + last, 136 + last, 173 + last):
            return _cropped_or_padded(image, target_height, target_width)


def _cropped_or_padded(image: Tensor, target_height: Any, target_width: Any) -> Tensor:
    image, added = as_batch(image)
    _, height, width, _ = sizes(image)
    image = _checked(image, [(target_height, "target_height", True), (target_width, "target_width", True)])
    more_width, more_height = target_width - width, target_height - height
    cut = crop_to_bounding_box(
        image, _half(-more_height), _half(-more_width), _least(target_height, height), _least(target_width, width)
    )
    padded = pad_to_bounding_box(cut, _half(more_height), _half(more_width), target_height, target_width)
    fixed = [d if isinstance(d, int) else None for d in (target_height, target_width)]
    padded.set_shape([image.shape.as_list()[0], *fixed, image.shape.as_list()[3]])
    return without_batch(padded, added)


def _half(x: Any) -> Any:
    return maximum(x // 2, 0) if isinstance(x, Tensor) else max(x // 2, 0)


def _least(x: Any, y: Any) -> Any:
    return minimum(x, y) if isinstance(x, Tensor) or isinstance(y, Tensor) else min(x, y)


def _checked(image: Tensor, wanted: list[tuple[Any, str, bool]]) -> Tensor:
    """`image`, after checking that sizes are positive (or at least 0): now if they are numbers, otherwise in the
    step."""
    asserts = []
    for value, name, positive in wanted:
        if isinstance(value, Tensor):
            check = assert_positive if positive else assert_non_negative
            asserts.append(check(value, message=f"{name} must be {'> 0' if positive else '>= 0'}"))
        elif value < positive:
            raise ValueError(f"{name} must be {'> 0' if positive else '>= 0'}, not {value}.")
    if not asserts:
        return image
    with control_dependencies(asserts):
        return identity(image)


def _fits(image: Tensor, larger: Any, smaller: Any, message: str) -> Tensor:
    if isinstance(larger, Tensor) or isinstance(smaller, Tensor):
        with control_dependencies([assert_greater_equal(larger, smaller, message=message)]):
            return identity(image)
    if larger < smaller:
        raise ValueError(f"{message}: {larger} < {smaller}.")
    return image


@export("image.crop_to_bounding_box")
def crop_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The part of the images that begins at the offsets and has the target size. Raises ValueError if it extends
    outside."""
    with name_scope(None, "crop_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        more = 0 if image.shape.ndims == 4 else 3
        window = (offset_height, offset_width, target_height, target_width)
        with _counted(image, window, 4 + more, 28 + more, 33 + more, 38 + more):
            return _cropped(image, *window)


def _cropped(image: Tensor, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    image, added = as_batch(image)
    _, height, width, _ = sizes(image)
    image = _checked(
        image,
        [(offset_width, "offset_width", False), (offset_height, "offset_height", False),
         (target_width, "target_width", True), (target_height, "target_height", True)],
    )  # fmt: skip
    image = _fits(image, width, target_width + offset_width, "width must be >= target + offset")
    image = _fits(image, height, target_height + offset_height, "height must be >= target + offset")
    begin = stack([0, offset_height, offset_width, 0])
    cropped = slice_(image, begin, stack([-1, target_height, target_width, -1]))
    fixed = [d if isinstance(d, int) else None for d in (target_height, target_width)]
    cropped.set_shape([image.shape.as_list()[0], *fixed, image.shape.as_list()[3]])
    return without_batch(cropped, added)


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The images with zeros around them: offsets above and to the left, and the target size in total."""
    with name_scope(None, "pad_to_bounding_box", [image]):
        image = convert_to_tensor(image, name="image")
        more = 0 if image.shape.ndims == 4 else 3
        window = (offset_height, offset_width, target_height, target_width)
        with _counted(image, window, 5 + more, 29 + more, 43 + more, 49 + more):
            return _padded(image, *window)


def _padded(image: Tensor, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    image, added = as_batch(image)
    _, height, width, _ = sizes(image)
    right, below = target_width - offset_width - width, target_height - offset_height - height
    image = _checked(image, [(offset_height, "offset_height", False), (offset_width, "offset_width", False)])
    image = _fits(image, right, 0, "width must be <= target - offset")
    image = _fits(image, below, 0, "height must be <= target - offset")
    paddings = stack([stack([0, 0]), stack([offset_height, below]), stack([offset_width, right]), stack([0, 0])])
    padded = pad(image, paddings)
    fixed = [d if isinstance(d, int) else None for d in (target_height, target_width)]
    padded.set_shape([image.shape.as_list()[0], *fixed, image.shape.as_list()[3]])
    return without_batch(padded, added)


@export("image.resize_image_with_pad")
def resize_image_with_pad(
    image: Any, target_height: Any, target_width: Any, method: int = ResizeMethod.BILINEAR, align_corners: bool = False
) -> Tensor:
    """The images at the largest size within the target that keeps their aspect ratio, with zeros around them."""
    with name_scope(None, "resize_image_with_pad", [image]):
        image, added = as_batch(convert_to_tensor(image, name="images"))
        image = _checked(image, [(target_height, "target_height", True), (target_width, "target_width", True)])
        _, height, width, _ = sizes(image)
        have_height, have_width = cast(height, float32), cast(width, float32)
        ratio = maximum(have_width / cast(target_width, float32), have_height / cast(target_height, float32))
        new_height, new_width = to_int32(have_height / ratio), to_int32(have_width / ratio)
        above = maximum(0, to_int32((cast(target_height, float32) - have_height / ratio) / 2))
        left = maximum(0, to_int32((cast(target_width, float32) - have_width / ratio) / 2))
        resized = resize_images(image, stack([new_height, new_width]), method, align_corners)
        padded = pad_to_bounding_box(resized, above, left, target_height, target_width)
        return without_batch(padded, added)


@export("image.central_crop")
def central_crop(image: Any, central_fraction: float) -> Tensor:
    """The centre of the images: `central_fraction`, in (0, 1], of each side."""
    if not 0.0 < central_fraction <= 1.0:
        raise ValueError(f"central_fraction must be within (0, 1], not {central_fraction}")
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if central_fraction == 1.0:
            return image
        more = 2 if image.shape.ndims == 4 else 0
        with _counted(image, [], 4, 26, 45 + more, 58 + more):
            return _centre(image, central_fraction)


def _centre(image: Tensor, central_fraction: float) -> Tensor:
    images, added = as_batch(image)
    _, height, width, _ = sizes(images)
    top, left = _start(height, central_fraction), _start(width, central_fraction)
    tall, wide = height - top * 2, width - left * 2
    cropped = slice_(images, stack([0, top, left, 0]), stack([-1, tall, wide, -1]))
    fixed = [d if isinstance(d, int) else None for d in (tall, wide)]
    cropped.set_shape([images.shape.as_list()[0], *fixed, images.shape.as_list()[3]])
    return without_batch(cropped, added)


def _start(size: Any, fraction: float) -> Any:
    if isinstance(size, Tensor):
        exact = cast(size, "float64")
        return to_int32((exact - exact * fraction) / 2)
    return int((size - size * fraction) / 2)
