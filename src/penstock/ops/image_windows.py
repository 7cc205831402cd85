"""Images cropped and padded, composed of other ops (TF: tf.image)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import control_dependencies, counted_as, name_scope
from penstock.ops.arithmetic import maximum, minimum
from penstock.ops.basic import identity
from penstock.ops.cast import cast, to_int32
from penstock.ops.checks import assert_greater_equal, assert_non_negative, assert_positive
from penstock.ops.image_batches import as_batch, sizes, without_batch
from penstock.ops.image_functions import ResizeMethod, resize_images
from penstock.ops.padding import pad
from penstock.ops.slicing import slice as slice_
from penstock.ops.stacking import stack
from penstock.tensor.dtypes import float32


def _counted(image: Tensor, fixed: Sequence[Any], known: int, checked: int, one: int, both: int) -> Any:
    """How many nodes TensorFlow 1.15 makes of an image: with all dimensions known; with height and width known; with
    one of them; with neither. `fixed`: as arguments that are tensors add others, they are left as they are."""
    if any(isinstance(value, Tensor) for value in fixed):
        return contextlib.nullcontext()
    dims = [None] * 4 if image.shape.ndims is None else image.shape.as_list()
    unknown = [checked, one, both][dims[-3:-1].count(None)]
    return counted_as(known if None not in dims else unknown)


def _of_size(found: Tensor, images: Tensor, height: Any, width: Any, added: bool) -> Tensor:
    """What was made of a batch of images, its shape told as far as it is known, and without a batch that was added."""
    batch, *_, channels = images.shape.as_list()
    found.set_shape([batch, *(d if isinstance(d, int) else None for d in (height, width)), channels])
    return without_batch(found, added)


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
    return _of_size(padded, image, target_height, target_width, added)


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
    window = (offset_height, offset_width, target_height, target_width)
    return _in_window("crop_to_bounding_box", image, window, _cropped, (4, 28, 33, 38))


def _in_window(
    name: str, image: Any, window: Sequence[Any], make: Callable[..., Tensor], counts: Sequence[int]
) -> Tensor:
    """What `make` makes of the images and the window; counts: those of `_counted` for four dimensions."""
    with name_scope(None, name, [image]):
        image = convert_to_tensor(image, name="image")
        more = 0 if image.shape.ndims == 4 else 3
        known, checked, one, both = (count + more for count in counts)
        with _counted(image, window, known, checked, one, both):
            return make(image, *window)


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
    return _of_size(cropped, image, target_height, target_width, added)


@export("image.pad_to_bounding_box")
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """The images with zeros around them: offsets above and to the left, and the target size in total."""
    window = (offset_height, offset_width, target_height, target_width)
    return _in_window("pad_to_bounding_box", image, window, _padded, (5, 29, 43, 49))


def _padded(image: Tensor, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    image, added = as_batch(image)
    _, height, width, _ = sizes(image)
    right, below = target_width - offset_width - width, target_height - offset_height - height
    image = _checked(image, [(offset_height, "offset_height", False), (offset_width, "offset_width", False)])
    image = _fits(image, right, 0, "width must be <= target - offset")
    image = _fits(image, below, 0, "height must be <= target - offset")
    paddings = stack([stack([0, 0]), stack([offset_height, below]), stack([offset_width, right]), stack([0, 0])])
    padded = pad(image, paddings)
    return _of_size(padded, image, target_height, target_width, added)


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
    return _of_size(cropped, images, tall, wide, added)


def _start(size: Any, fraction: float) -> Any:
    if isinstance(size, Tensor):
        exact = cast(size, "float64")
        return to_int32((exact - exact * fraction) / 2)
    return int((size - size * fraction) / 2)
