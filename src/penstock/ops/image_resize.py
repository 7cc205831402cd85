"""Resizing images (TF: tf.image.resize_*): bilinear, bicubic, nearest neighbour, area, and their gradients.

A resize along one axis takes, for each output position, a few input positions with weights ("taps"); an image is
resized by its rows and then by its columns. The gradient puts every value back where it was taken from.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.array import SHAPE
from penstock.ops.slicing import SLICE
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

Taps = list[tuple[torch.Tensor, torch.Tensor]]
"""For each tap: the input position and the weight of every output position."""
TapMaker = Callable[[int, int, bool, bool], Taps]
f32 = np.float32

_CENTERS = ["align_corners: bool = false", "half_pixel_centers: bool = false"]
_ANY = "T: {int8, uint8, int16, uint16, int32, int64, %shalf, float, double, bfloat16}"


def scale_of(size: int, wanted: int, align_corners: bool) -> np.float32:
    """Input positions for each output position, in float32 as TensorFlow counts."""
    if align_corners and wanted > 1:
        return f32(size - 1) / f32(wanted - 1)
    return f32(size) / f32(wanted)


def positions(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    """The place in the input, with a fraction, of each output position."""
    scale, out = scale_of(size, wanted, align_corners), np.arange(wanted, dtype=f32)
    return (out + f32(0.5)) * scale - f32(0.5) if half_pixel else out * scale


def _taps(indices: list[np.ndarray], weights: list[np.ndarray]) -> Taps:
    return [
        (torch.from_numpy(i.astype(np.int64)), torch.from_numpy(w.astype(f32)))
        for i, w in zip(indices, weights, strict=True)
    ]


def linear_taps(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> Taps:
    at = positions(size, wanted, align_corners, half_pixel)
    below = np.floor(at)
    part = at - below
    return _taps(
        [np.maximum(below, 0), np.minimum(np.ceil(at), size - 1)],
        [f32(1) - part, part],
    )


def nearest_indices(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> np.ndarray:
    scale, out = scale_of(size, wanted, align_corners), np.arange(wanted, dtype=f32)
    at = (out + f32(0.5)) * scale if half_pixel else out * scale
    at = np.floor(at + f32(0.5)) if align_corners else np.floor(at)
    return np.clip(at, 0, size - 1).astype(np.int64)


_TABLE = 1024  # TensorFlow looks cubic weights up in a table of this size


def cubic_taps(size: int, wanted: int, align_corners: bool, half_pixel: bool) -> Taps:
    """Keys' cubic convolution with a = -0.5 where centers are at half pixels, else a = -0.75."""
    a = -0.5 if half_pixel else -0.75
    at = positions(size, wanted, align_corners, half_pixel)
    base = np.floor(at)
    offset = np.rint((at - base) * _TABLE)
    near, far = offset / _TABLE, 1 - offset / _TABLE

    def inner(x: np.ndarray) -> np.ndarray:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def outer(x: np.ndarray) -> np.ndarray:
        x = x + 1
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    weights = [outer(near), inner(near), inner(far), outer(far)]
    wanted_at = [base - 1, base, base + 1, base + 2]
    indices = [np.clip(i, 0, size - 1) for i in wanted_at]
    if half_pixel:  # what lies outside does not count
        weights = [np.where(i == j, w, 0) for i, j, w in zip(wanted_at, indices, weights, strict=True)]
        total = sum(weights)
        weights = [np.where(np.abs(total) > 1e-30, w / total, w) for w in weights]
    return _taps(indices, weights)


def area_matrix(size: int, wanted: int, align_corners: bool) -> torch.Tensor:
    """[wanted, size] float32: how much of each input position an output position covers, adding up to 1."""
    scale = float(scale_of(size, wanted, align_corners))
    start = np.arange(wanted)[:, None] * scale
    cell = np.arange(size)[None, :]
    covered = np.clip(np.minimum(start + scale, cell + 1) - np.maximum(start, cell), 0, None)
    last = np.clip(start + scale - size, 0, None)[:, 0]  # beyond the border, the last position goes on
    covered[:, -1] += np.minimum(last, scale)
    return torch.from_numpy((covered / scale).astype(f32))


def resample(x: torch.Tensor, axis: int, taps: Taps) -> torch.Tensor:
    """`x` along `axis` at the places of `taps`."""
    shape = [1] * x.ndim
    shape[axis] = -1
    found = None
    for index, weight in taps:
        part = x.index_select(axis, index.to(x.device)) * weight.to(x).view(shape)
        found = part if found is None else found + part
    assert found is not None
    return found


def unsample(g: torch.Tensor, axis: int, taps: Taps, size: int) -> torch.Tensor:
    """The adjoint of `resample`: from the gradient of its result to that of its input, of `size` positions."""
    shape = [1] * g.ndim
    shape[axis] = -1
    dims = list(g.shape)
    dims[axis] = size
    found = torch.zeros(dims, dtype=g.dtype, device=g.device)
    for index, weight in taps:
        found.index_add_(axis, index.to(g.device), g * weight.to(g).view(shape))
    return found


# --- shapes ---------------------------------------------------------------------------------------------


def resized_shape(c: ShapeContext, images: TensorShape, size: TensorShape) -> TensorShape:
    """[batch, height, width, channels] with height and width of the input `size`."""
    images = images.with_rank(4)
    size.with_rank(1)
    height, width = c.constant_shape("size").with_rank(2)
    return TensorShape([images[0], height, width, images[3]])


def _original_shape(c: ShapeContext, grads: TensorShape, original: TensorShape) -> TensorShape:
    return original.with_rank(4)


def check_images(images: torch.Tensor) -> None:
    if images.ndim != 4:
        raise errors.InvalidArgumentError(None, None, f"images must be 4-dimensional: {list(images.shape)}")
    if images.shape[1] == 0 or images.shape[2] == 0 or images.shape[3] == 0:
        raise errors.InvalidArgumentError(
            None, None, f"input image must be of non-zero size, but is {list(images.shape)}"
        )


def size_of(size: torch.Tensor) -> tuple[int, int]:
    if size.shape != (2,):
        raise errors.InvalidArgumentError(
            None, None, f"size must be 1-dimensional with 2 elements, not {list(size.shape)}"
        )
    height, width = size.tolist()
    if height <= 0 or width <= 0:
        raise errors.InvalidArgumentError(None, None, f"output dimensions must be positive, not {height} x {width}")
    return height, width


def _check_centers(n: Any) -> tuple[bool, bool]:
    align, half = n["align_corners"], n["half_pixel_centers"]
    if align and half:
        raise errors.InvalidArgumentError(None, None, "If half_pixel_centers is True, align_corners must be False.")
    return align, half


# --- bilinear and bicubic -------------------------------------------------------------------------------


def _smooth_op(name: str, taps: TapMaker, more: str, grad_types: str) -> tuple[OpDef, OpDef]:
    """ResizeBilinear or ResizeBicubic, and its gradient's op."""
    op = define_op(name, "images: T, size: int32", "resized_images: float", attrs=[_ANY % more, *_CENTERS])
    op.shape(resized_shape)
    grad_op = define_op(
        f"{name}Grad", "grads: float, original_image: T", "output: T", attrs=[f"T: {grad_types}", *_CENTERS]
    )
    grad_op.shape(_original_shape)

    @op.kernel(host=("size",))
    def resize_kernel(n: Any) -> Kernel:
        align, half = _check_centers(n)

        def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
            check_images(images)
            height, width = size_of(size)
            x = images.float()
            if x.shape[1:3] == (height, width):
                return x.clone() if x is images else x
            x = resample(x, 1, taps(x.shape[1], height, align, half))
            return resample(x, 2, taps(x.shape[2], width, align, half))

        return resize

    @grad_op.kernel()
    def resize_grad_kernel(n: Any) -> Kernel:
        align, half = _check_centers(n)

        def resize_grad(grads: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
            check_images(original)
            if grads.ndim != 4 or (grads.shape[0], grads.shape[3]) != (original.shape[0], original.shape[3]):
                raise errors.InvalidArgumentError(
                    None, None, f"grads {list(grads.shape)} are not of images {list(original.shape)}"
                )
            _, height, width, _ = original.shape
            g = unsample(grads.to(original.dtype), 2, taps(width, grads.shape[2], align, half), width)
            return unsample(g, 1, taps(height, grads.shape[1], align, half), height)

        return resize_grad

    @op.gradient
    def resize_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
        return [grad_op(grad, op.inputs[0], **_centers(op)), None]

    return op, grad_op


def _centers(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in ("align_corners", "half_pixel_centers")}


RESIZE_BILINEAR, RESIZE_BILINEAR_GRAD = _smooth_op("ResizeBilinear", linear_taps, "bfloat16, ", "floattype")
RESIZE_BICUBIC, RESIZE_BICUBIC_GRAD = _smooth_op("ResizeBicubic", cubic_taps, "", "{float, double}")
RESIZE_BICUBIC_GRAD.not_differentiable()


def spatial_size(image: Tensor) -> Tensor:
    """[height, width] of images, as a tensor."""
    return SLICE(SHAPE(image), [1], [2])


@RESIZE_BILINEAR_GRAD.gradient
def resize_bilinear_grad_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [RESIZE_BILINEAR(grad, spatial_size(op.inputs[0]), **_centers(op)), None]


# --- nearest neighbour ----------------------------------------------------------------------------------

RESIZE_NEAREST = define_op(
    "ResizeNearestNeighbor", "images: T, size: int32", "resized_images: T", attrs=[_ANY % "", *_CENTERS]
)
RESIZE_NEAREST.shape(resized_shape)


@RESIZE_NEAREST.kernel(host=("size",))
def resize_nearest_kernel(n: Any) -> Kernel:
    align, half = n["align_corners"], n["half_pixel_centers"]

    def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        check_images(images)
        height, width = size_of(size)
        rows = torch.from_numpy(nearest_indices(images.shape[1], height, align, half)).to(images.device)
        columns = torch.from_numpy(nearest_indices(images.shape[2], width, align, half)).to(images.device)
        if images.dtype == torch.uint16:
            return images.view(torch.int16)[:, rows][:, :, columns].view(torch.uint16)
        return images[:, rows][:, :, columns]

    return resize


RESIZE_NEAREST_GRAD = define_op(
    "ResizeNearestNeighborGrad", "grads: T, size: int32", "output: T",
    attrs=["T: {uint8, int8, int32, half, float, double, bfloat16}", *_CENTERS],
)  # fmt: skip
RESIZE_NEAREST_GRAD.shape(resized_shape)


@RESIZE_NEAREST_GRAD.kernel(host=("size",))
def resize_nearest_grad_kernel(n: Any) -> Kernel:
    align, half = n["align_corners"], n["half_pixel_centers"]

    def resize_grad(grads: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        check_images(grads)
        height, width = size_of(size)
        batch, rows, columns, channels = grads.shape
        r = torch.from_numpy(nearest_indices(height, rows, align, half)).to(grads.device)
        c = torch.from_numpy(nearest_indices(width, columns, align, half)).to(grads.device)
        found = grads.new_zeros((batch, height, columns, channels)).index_add_(1, r, grads)
        return grads.new_zeros((batch, height, width, channels)).index_add_(2, c, found)

    return resize_grad


@RESIZE_NEAREST.gradient
def resize_nearest_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [RESIZE_NEAREST_GRAD(grad, spatial_size(op.inputs[0]), **_centers(op)), None]


RESIZE_NEAREST_GRAD.not_differentiable()

# --- area -----------------------------------------------------------------------------------------------

RESIZE_AREA = define_op("ResizeArea", "images: T, size: int32", "resized_images: float", attrs=[_ANY % "", _CENTERS[0]])
RESIZE_AREA.shape(resized_shape)
RESIZE_AREA.not_differentiable()


@RESIZE_AREA.kernel(host=("size",))
def resize_area_kernel(n: Any) -> Kernel:
    align = n["align_corners"]

    def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        check_images(images)
        height, width = size_of(size)
        x = images.float()
        rows = area_matrix(x.shape[1], height, align).to(x.device)
        columns = area_matrix(x.shape[2], width, align).to(x.device)
        x = torch.tensordot(rows, x, ([1], [1])).movedim(0, 1)
        return torch.tensordot(columns, x, ([1], [2])).permute(1, 2, 0, 3).contiguous()

    return resize


# --- functions ------------------------------------------------------------------------------------------


def _images(images: Any) -> Tensor:
    return convert_to_tensor(images, name="images")


def _size(size: Any) -> Tensor:
    return convert_to_tensor(size, dtype="int32", name="size")


def resize_bilinear(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Images [batch, height, width, channels] at `size` [new_height, new_width] as float32, linearly interpolated."""
    return RESIZE_BILINEAR(
        _images(images), _size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_bicubic(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """As `resize_bilinear`, by cubic convolution."""
    return RESIZE_BICUBIC(
        _images(images), _size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_nearest_neighbor(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Images at `size`, each pixel the nearest one of the input; of the input's dtype."""
    return RESIZE_NEAREST(
        _images(images), _size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images at `size` as float32, each pixel the mean of the area that it covers."""
    return RESIZE_AREA(_images(images), _size(size), align_corners=align_corners, name=name)


def dtype_limits(dtype: DType) -> tuple[float, float]:
    """The smallest and the largest value of an image: [0, 1] for floats, what the type holds for integers."""
    return (0.0, 1.0) if dtype.is_floating else (0.0, float(dtype.max))
