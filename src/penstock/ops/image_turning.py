"""Images flipped, transposed and rotated by quarter turns, and random flips (TF: tf.image)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.graph.scopes import counted_as, more_nodes, name_scope
from penstock.ops.array import reshape, shape
from penstock.ops.basic import identity
from penstock.ops.cast import cast
from penstock.ops.compare import equal, less
from penstock.ops.control_flow.cond import cond
from penstock.ops.image_batches import as_batch, count_checks, without_batch
from penstock.ops.layout import transpose
from penstock.ops.random import random_uniform
from penstock.ops.reversing import reverse
from penstock.tensor.dtypes import int32


@export("image.flip_left_right")
def flip_left_right(image: Any) -> Tensor:
    """The images, 3-D or 4-D, with their columns in reverse."""
    return _flip(image, 1, "flip_left_right")


@export("image.flip_up_down")
def flip_up_down(image: Any) -> Tensor:
    """The images, 3-D or 4-D, with their rows in reverse."""
    return _flip(image, 0, "flip_up_down")


def _flip(image: Any, axis: int, scope: str) -> Tensor:
    with name_scope(None, scope, [image]):
        image = convert_to_tensor(image, name="image")
        rank = image.shape.ndims
        if rank not in (None, 3, 4):
            raise ValueError(f"'image' must have either 3 or 4 dimensions, but has shape {image.shape}.")
        count_checks(image)
        return _of_one(_reversed(image, axis))


def _reversed(image: Tensor, axis: int) -> Tensor:
    return reverse(image, [axis - 3] if image.shape.ndims == 4 else [axis])


def _of_one(image: Tensor) -> Tensor:
    """An image of unknown rank, as of decode_image, counts as one image, of rank 3."""
    if image.shape.ndims is None:
        image.set_shape([None, None, None])
    return image


@export("image.transpose", "image.transpose_image")
def transpose_image(image: Any, name: str | None = None) -> Tensor:
    """The images with rows and columns exchanged."""
    with name_scope(name, "transpose_image", [image]):
        image = convert_to_tensor(image, name="image")
        count_checks(image)
        return transpose(image, [0, 2, 1, 3] if image.shape.ndims == 4 else [1, 0, 2])


@export("image.rot90")
def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """The images rotated by `k` quarter turns, counter-clockwise."""
    with name_scope(name, "rot90", [image, k]) as scope:
        image, k = convert_to_tensor(image, name="image"), convert_to_tensor(k, dtype=int32)
        with counted_as(62 if image.shape.is_fully_defined() else 84):  # TensorFlow's has a branch for each number
            return _rotated(image, k, scope)


def _rotated(image: Tensor, k: Tensor, scope: str) -> Tensor:
    image, added = as_batch(image)
    turned = [
        lambda: identity(image),
        lambda: transpose(reverse(image, [2]), [0, 2, 1, 3]),
        lambda: reverse(image, [1, 2]),
        lambda: reverse(transpose(image, [0, 2, 1, 3]), [2]),
    ]
    known = constant_value(k)
    if known is not None:
        return identity(without_batch(turned[int(known) % 4](), added), name=scope)
    k = k % 4
    found = cond(
        equal(k % 2, 0),
        lambda: cond(equal(k, 0), turned[0], turned[2]),
        lambda: cond(equal(k, 1), turned[1], turned[3]),
    )
    found.set_shape([image.shape.as_list()[0], None, None, image.shape.as_list()[3]])
    return identity(without_batch(found, added), name=scope)


@export("image.random_flip_left_right")
def random_flip_left_right(image: Any, seed: int | None = None) -> Tensor:
    """Each image flipped left to right with probability 1/2, drawn in each step."""
    return _random_flip(image, 1, seed, "random_flip_left_right")


@export("image.random_flip_up_down")
def random_flip_up_down(image: Any, seed: int | None = None) -> Tensor:
    """Each image flipped upside down with probability 1/2, drawn in each step."""
    return _random_flip(image, 0, seed, "random_flip_up_down")


def _random_flip(image: Any, axis: int, seed: int | None, scope: str) -> Tensor:
    with name_scope(None, scope, [image]) as name:
        image = convert_to_tensor(image, name="image")
        count_checks(image)
        if image.shape.ndims != 4:
            chosen = cond(
                less(random_uniform([], 0, 1.0, seed=seed), 0.5),
                lambda: _reversed(image, axis),
                lambda: identity(image),
            )
            chosen.set_shape(image.shape)
            more_nodes(-2)  # the two identities
            return identity(_of_one(chosen), name=name)
        batch = reshape(shape(image)[0], [1])
        more_nodes(-1)  # TensorFlow packs it
        chances = cast(less(random_uniform(batch, 0, 1.0, seed=seed), 0.5), image.dtype)
        flipped = reshape(chances, [-1, 1, 1, 1])
        return identity(_reversed(image, axis) * flipped + image * (1 - flipped), name=name)
