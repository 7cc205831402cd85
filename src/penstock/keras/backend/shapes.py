"""Keras' functions that rearrange, repeat and pad tensors."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import check_data_format
from penstock.keras.backend.tensors import ndim, to_dense
from penstock.ops.array import (
    expand_dims as expand_dims_op,
    reshape as reshape_op,
    shape as shape_op,
    squeeze as squeeze_op,
)
from penstock.ops.cast import cast as cast_op
from penstock.ops.filling import one_hot as one_hot_op
from penstock.ops.image_resize import resize_bilinear, resize_nearest_neighbor
from penstock.ops.joining import concat
from penstock.ops.layout import transpose as transpose_op
from penstock.ops.padding import pad
from penstock.ops.reduce import reduce_prod
from penstock.ops.reversing import reverse as reverse_op, tile as tile_op
from penstock.ops.stacking import stack as stack_op
from penstock.tensor.shapes import TensorShape


@export("keras.backend.cast")
def cast(x: Any, dtype: Any) -> Tensor:
    return cast_op(x, dtype)


@export("keras.backend.concatenate")
def concatenate(tensors: Any, axis: int = -1) -> Tensor:
    """The tensors one after another along `axis`."""
    tensors = [to_dense(tensor) for tensor in tensors]
    rank = ndim(tensors[0])
    return concat(tensors, axis % rank if axis < 0 and rank else axis)


@export("keras.backend.reshape")
def reshape(x: Any, shape: Any) -> Tensor:
    return reshape_op(x, shape)


@export("keras.backend.permute_dimensions")
def permute_dimensions(x: Any, pattern: Any) -> Tensor:
    return transpose_op(x, list(pattern))


@export("keras.backend.flatten")
def flatten(x: Any) -> Tensor:
    """One axis with all elements."""
    return reshape_op(x, [-1])


@export("keras.backend.batch_flatten")
def batch_flatten(x: Any) -> Tensor:
    """All axes but the first as one."""
    sizes = TensorShape(x.shape)[1:]
    return reshape_op(x, [-1, sizes.num_elements() if sizes.is_fully_defined() else reduce_prod(shape_op(x)[1:])])


@export("keras.backend.repeat")
def repeat(x: Any, n: int) -> Tensor:
    """[a, b] -> [a, n, b]."""
    return tile_op(expand_dims_op(x, 1), [1, n, 1])


@export("keras.backend.repeat_elements")
def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """Each element along `axis` `rep` times, one after another."""
    x = convert_to_tensor(x)
    rank = x.shape.ndims
    axis %= rank
    dims, known = shape_op(x), x.shape.as_list()
    sizes = [dims[i] if size is None else size for i, size in enumerate(known)]
    repeated = tile_op(expand_dims_op(x, axis + 1), [1] * (axis + 1) + [rep] + [1] * (rank - axis - 1))
    return reshape_op(repeated, [*sizes[:axis], sizes[axis] * rep, *sizes[axis + 1 :]])


@export("keras.backend.tile")
def tile(x: Any, n: Any) -> Tensor:
    return tile_op(x, [n] if isinstance(n, int) else n)


@export("keras.backend.expand_dims")
def expand_dims(x: Any, axis: int = -1) -> Tensor:
    return expand_dims_op(x, axis)


@export("keras.backend.squeeze")
def squeeze(x: Any, axis: int) -> Tensor:
    return squeeze_op(x, [axis])


@export("keras.backend.shape")
def shape(x: Any) -> Tensor:
    return shape_op(x)


@export("keras.backend.stack")
def stack(x: Any, axis: int = 0) -> Tensor:
    return stack_op(x, axis)


@export("keras.backend.reverse")
def reverse(x: Any, axes: Any) -> Tensor:
    return reverse_op(x, [axes] if isinstance(axes, int) else axes)


@export("keras.backend.one_hot")
def one_hot(indices: Any, num_classes: int) -> Tensor:
    return one_hot_op(indices, num_classes, axis=-1)


@export("keras.backend.temporal_padding")
def temporal_padding(x: Any, padding: tuple[int, int] = (1, 1)) -> Tensor:
    """Zeros before and after the middle axis of a tensor of rank 3."""
    return pad(x, [[0, 0], list(padding), [0, 0]])


@export("keras.backend.spatial_2d_padding")
def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Tensor:
    """Zeros around images."""
    rows = [list(sides) for sides in padding]
    first = check_data_format(data_format) == "channels_first"
    return pad(x, [[0, 0], [0, 0], *rows] if first else [[0, 0], *rows, [0, 0]])


@export("keras.backend.resize_images")
def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images enlarged by whole factors. Raises ValueError for another layout or interpolation."""
    if data_format not in ("channels_first", "channels_last"):
        raise ValueError(f"Invalid `data_format` argument: {data_format}")
    if interpolation not in ("nearest", "bilinear"):
        raise ValueError("interpolation should be one of 'nearest' or 'bilinear'.")
    x = convert_to_tensor(x)
    if data_format == "channels_first":
        x = transpose_op(x, [0, 2, 3, 1])
    dims, known = shape_op(x), x.shape.as_list()
    resize = {"nearest": resize_nearest_neighbor, "bilinear": resize_bilinear}[interpolation]
    enlarged = resize(x, [dims[1] * height_factor, dims[2] * width_factor])
    height, width = (
        None if n is None else n * f for n, f in zip(known[1:3], (height_factor, width_factor), strict=True)
    )
    enlarged.set_shape([known[0], height, width, known[3]])
    return transpose_op(enlarged, [0, 3, 1, 2]) if data_format == "channels_first" else enlarged
