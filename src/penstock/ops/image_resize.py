"""Resizing images (TF: tf.image.resize_*): bilinear, bicubic, nearest neighbour, area, and their gradients.

An image is resized along rows and then along columns. The gradient returns every value to where it was taken from.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.array import SHAPE
from penstock.ops.image_taps import TapMaker, area_taps, cubic_taps, linear_taps, nearest_indices, resized, unsample
from penstock.ops.kernel_tools import as_signed, invalid
from penstock.ops.slicing import SLICE
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_CENTERS = ["align_corners: bool = false", "half_pixel_centers: bool = false"]
_ANY = "T: {int8, uint8, int16, uint16, int32, int64, %shalf, float, double, bfloat16}"


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
        raise invalid(f"images must be 4-dimensional: {list(images.shape)}")
    if images.shape[1] == 0 or images.shape[2] == 0 or images.shape[3] == 0:
        raise invalid(f"input image must be of non-zero size, but is {list(images.shape)}")


def check_grads(grads: torch.Tensor, original: torch.Tensor) -> None:
    check_images(original)
    if grads.ndim != 4 or (grads.shape[0], grads.shape[3]) != (original.shape[0], original.shape[3]):
        raise invalid(f"grads {list(grads.shape)} are not of images {list(original.shape)}")


def size_of(size: torch.Tensor) -> tuple[int, int]:
    if size.shape != (2,):
        raise invalid(f"size must be 1-dimensional with 2 elements, not {list(size.shape)}")
    height, width = size.tolist()
    if height <= 0 or width <= 0:
        raise invalid(f"output dimensions must be positive, not {height} x {width}")
    return height, width


def check_centers(ctx: KernelContext) -> tuple[bool, bool]:
    align, half = ctx["align_corners"], ctx["half_pixel_centers"]
    if align and half:
        raise invalid("If half_pixel_centers is True, align_corners must be False.")
    return align, half


# --- bilinear and bicubic -------------------------------------------------------------------------------


def _smooth_op(name: str, taps: TapMaker, more: str, grad_types: str) -> tuple[OpDef, OpDef]:
    """ResizeBilinear or ResizeBicubic, and its gradient's op."""
    op = define_op(name, "images: T, size: int32", "resized_images: float", attrs=[_ANY % more, *_CENTERS], work=16.0)
    op.shape(resized_shape)
    grad_op = define_op(
        f"{name}Grad", "grads: float, original_image: T", "output: T", attrs=[f"T: {grad_types}", *_CENTERS], work=16.0
    )
    grad_op.shape(_original_shape)

    @op.kernel(host=("size",))
    def resize_kernel(ctx: KernelContext) -> Kernel:
        align, half = check_centers(ctx)

        def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
            check_images(images)
            height, width = size_of(size)
            _, rows, columns, _ = images.shape
            if (rows, columns) == (height, width):
                return images.to(torch.float32, copy=True)
            return resized(images, taps(rows, height, align, half), taps(columns, width, align, half))

        return resize

    @grad_op.kernel()
    def resize_grad_kernel(ctx: KernelContext) -> Kernel:
        align, half = check_centers(ctx)

        def resize_grad(grads: torch.Tensor, original: torch.Tensor) -> torch.Tensor:
            check_grads(grads, original)
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
    "ResizeNearestNeighbor", "images: T, size: int32", "resized_images: T", attrs=[_ANY % "", *_CENTERS], work=16.0
)
RESIZE_NEAREST.shape(resized_shape)


@RESIZE_NEAREST.kernel(host=("size",))
def resize_nearest_kernel(ctx: KernelContext) -> Kernel:
    align, half = ctx["align_corners"], ctx["half_pixel_centers"]

    def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        check_images(images)
        height, width = size_of(size)
        rows = torch.from_numpy(nearest_indices(images.shape[1], height, align, half)).to(images.device)
        columns = torch.from_numpy(nearest_indices(images.shape[2], width, align, half)).to(images.device)
        return as_signed(images)[:, rows][:, :, columns].view(images.dtype)

    return resize


RESIZE_NEAREST_GRAD = define_op(
    "ResizeNearestNeighborGrad", "grads: T, size: int32", "output: T",
    attrs=["T: {uint8, int8, int32, half, float, double, bfloat16}", *_CENTERS],
work=8.0)  # fmt: skip
RESIZE_NEAREST_GRAD.shape(resized_shape)


@RESIZE_NEAREST_GRAD.kernel(host=("size",))
def resize_nearest_grad_kernel(ctx: KernelContext) -> Kernel:
    align, half = ctx["align_corners"], ctx["half_pixel_centers"]

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

RESIZE_AREA = define_op(
    "ResizeArea", "images: T, size: int32", "resized_images: float", attrs=[_ANY % "", _CENTERS[0]], work=4.0
)
RESIZE_AREA.shape(resized_shape)
RESIZE_AREA.not_differentiable()


@RESIZE_AREA.kernel(host=("size",))
def resize_area_kernel(ctx: KernelContext) -> Kernel:
    align = ctx["align_corners"]

    def resize(images: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        check_images(images)
        height, width = size_of(size)
        _, rows, columns, _ = images.shape
        return resized(images, area_taps(rows, height, align), area_taps(columns, width, align))

    return resize


# --- functions ------------------------------------------------------------------------------------------


def _images(images: Any) -> Tensor:
    return convert_to_tensor(images, name="images")


def _size(size: Any) -> Tensor:
    return convert_to_tensor(size, dtype="int32", name="size")


@export("image.resize_bilinear")
def resize_bilinear(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Images [batch, height, width, channels] at `size` [new_height, new_width] as float32, linearly interpolated."""
    return RESIZE_BILINEAR(
        _images(images), _size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@export("image.resize_bicubic")
def resize_bicubic(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Like `resize_bilinear`, with cubic convolution."""
    return RESIZE_BICUBIC(
        _images(images), _size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@export("image.resize_nearest_neighbor")
def resize_nearest_neighbor(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None, half_pixel_centers: bool = False
) -> Tensor:
    """Images at `size`, each pixel the nearest one of the input; keeps the dtype."""
    return RESIZE_NEAREST(
        _images(images), _size(size), align_corners=align_corners, half_pixel_centers=half_pixel_centers, name=name
    )


@export("image.resize_area")
def resize_area(images: Any, size: Any, align_corners: bool = False, name: str | None = None) -> Tensor:
    """Images at `size` as float32, each pixel the mean of the area that it covers."""
    return RESIZE_AREA(_images(images), _size(size), align_corners=align_corners, name=name)
