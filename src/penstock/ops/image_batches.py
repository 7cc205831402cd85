"""What functions of one image or a batch of them have in common."""

from __future__ import annotations

from typing import Any

from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes
from penstock.ops.array import SHAPE, expand_dims, squeeze
from penstock.ops.stacking import unstack


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
