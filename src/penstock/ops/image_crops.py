"""Crops of images: boxes resized to one size (TF: tf.image.crop_and_resize and related ops)."""

from __future__ import annotations

from typing import Any

import torch

from penstock import errors
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.array import SHAPE
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32, int32
from penstock.tensor.shapes import TensorShape

_TYPES = "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}"

# --- crop_and_resize ------------------------------------------------------------------------------------

CROP_AND_RESIZE = define_op(
    "CropAndResize",
    "image: T, boxes: float, box_ind: int32, crop_size: int32",
    "crops: float",
    attrs=[_TYPES, "method: {'bilinear', 'nearest'} = 'bilinear'", "extrapolation_value: float = 0.0"],
    work=128.0,
)


@CROP_AND_RESIZE.shape
def crop_and_resize_shape(
    c: ShapeContext, image: TensorShape, boxes: TensorShape, box_ind: TensorShape, crop_size: TensorShape
) -> TensorShape:
    image, boxes, box_ind = image.with_rank(4), boxes.with_rank(2), box_ind.with_rank(1)
    boxes[1].assert_is_compatible_with(4)
    height, width = c.constant_shape("crop_size").with_rank(2)
    return TensorShape([boxes[0].merge_with(box_ind[0]), height, width, image[3]])


def _check(shape: Any, boxes: torch.Tensor, box_ind: torch.Tensor) -> None:
    batch, height, width, _ = shape
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise invalid(f"boxes must be [num_boxes, 4], not {list(boxes.shape)}")
    if box_ind.shape != boxes.shape[:1]:
        raise invalid(f"box_ind must have one entry per box: {list(box_ind.shape)} for {boxes.shape[0]} boxes")
    if height <= 0 or width <= 0:
        raise invalid(f"image dimensions must be positive, not {height} x {width}")
    if box_ind.numel() and not (box_ind.min() >= 0 and box_ind.max() < batch):
        raise errors.OutOfRangeError(None, None, f"box_ind has values outside [0, {batch})")


def _places(low: torch.Tensor, high: torch.Tensor, size: int, count: int) -> torch.Tensor:
    """[boxes, count]: the position in the image of each row (or column) of the crops."""
    if count == 1:
        return (0.5 * (low + high) * (size - 1))[:, None]
    step = (high - low) * (size - 1) / (count - 1)
    return low[:, None] * (size - 1) + torch.arange(count, dtype=low.dtype, device=low.device) * step[:, None]


class _Corners:
    """For each pixel of each crop: the indices of the four pixels around its position, and its fractions between
    them."""

    def __init__(self, shape: Any, boxes: torch.Tensor, rows: int, columns: int) -> None:
        _, height, width, _ = shape
        y = _places(boxes[:, 0], boxes[:, 2], height, rows)
        x = _places(boxes[:, 1], boxes[:, 3], width, columns)
        self.inside = ((y >= 0) & (y <= height - 1))[:, :, None] & ((x >= 0) & (x <= width - 1))[:, None, :]
        y = torch.where((y >= 0) & (y <= height - 1), y, 0)  # NaN or far away: not inside, so ignored
        x = torch.where((x >= 0) & (x <= width - 1), x, 0)
        self.top, self.left = y.floor().long()[:, :, None], x.floor().long()[:, None, :]
        self.bottom, self.right = y.ceil().long()[:, :, None], x.ceil().long()[:, None, :]
        self.dy, self.dx = (y - y.floor())[:, :, None, None], (x - x.floor())[:, None, :, None]
        self.row = (y + 0.5).floor().long()[:, :, None]  # rounds half up, like C's round
        self.column = (x + 0.5).floor().long()[:, None, :]


@CROP_AND_RESIZE.kernel(host=("crop_size",))
def crop_and_resize_kernel(ctx: KernelContext) -> Kernel:
    nearest, outside = ctx["method"] == b"nearest", ctx["extrapolation_value"]

    def crop(image: torch.Tensor, boxes: torch.Tensor, box_ind: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        _check(image.shape, boxes, box_ind)
        rows, columns = (int(v) for v in size.tolist())
        if rows <= 0 or columns <= 0:
            raise invalid(f"crop dimensions must be positive, not {rows} x {columns}")
        at = _Corners(image.shape, boxes, rows, columns)
        which, source = box_ind.long()[:, None, None], image.float()
        if nearest:
            found = source[which, at.row, at.column]
        else:
            top = torch.lerp(source[which, at.top, at.left], source[which, at.top, at.right], at.dx)
            bottom = torch.lerp(source[which, at.bottom, at.left], source[which, at.bottom, at.right], at.dx)
            found = torch.lerp(top, bottom, at.dy)
        return torch.where(at.inside[..., None], found, torch.tensor(outside, device=found.device))

    return crop


CROP_GRAD_IMAGE = define_op(
    "CropAndResizeGradImage",
    "grads: float, boxes: float, box_ind: int32, image_size: int32",
    "output: T",
    attrs=["T: {float, half, double}", "method: {'bilinear', 'nearest'} = 'bilinear'"],
    work=128.0,
)
CROP_GRAD_IMAGE.not_differentiable()


@CROP_GRAD_IMAGE.shape
def crop_grad_image_shape(c: ShapeContext, *_: TensorShape) -> TensorShape:
    return c.constant_shape("image_size").with_rank(4)


@CROP_GRAD_IMAGE.kernel(host=("image_size",))
def crop_grad_image_kernel(ctx: KernelContext) -> Kernel:
    nearest, dtype = ctx["method"] == b"nearest", ctx.torch_dtype()

    def grad(grads: torch.Tensor, boxes: torch.Tensor, box_ind: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        shape = tuple(size.tolist())
        _check(shape, boxes, box_ind)
        at = _Corners(shape, boxes, grads.shape[1], grads.shape[2])
        which = box_ind.long()[:, None, None]
        g = torch.where(at.inside[..., None], grads, 0).to(dtype)
        found = torch.zeros(shape, dtype=dtype, device=grads.device)
        if nearest:
            return found.index_put_((which, at.row, at.column), g, accumulate=True)
        dy, dx = at.dy.to(dtype), at.dx.to(dtype)
        for row, by_row in ((at.top, 1 - dy), (at.bottom, dy)):
            for column, by_column in ((at.left, 1 - dx), (at.right, dx)):
                found.index_put_((which, row, column), g * by_row * by_column, accumulate=True)
        return found

    return grad


CROP_GRAD_BOXES = define_op(
    "CropAndResizeGradBoxes",
    "grads: float, image: T, boxes: float, box_ind: int32",
    "output: float",
    attrs=[_TYPES, "method: {'bilinear'} = 'bilinear'"],
    work=128.0,
)
CROP_GRAD_BOXES.not_differentiable()


@CROP_GRAD_BOXES.shape
def crop_grad_boxes_shape(c: ShapeContext, grads: Any, image: Any, boxes: TensorShape, box_ind: Any) -> TensorShape:
    return boxes.with_rank(2)


@CROP_GRAD_BOXES.kernel()
def crop_grad_boxes_kernel(ctx: KernelContext) -> Kernel:
    def grad(grads: torch.Tensor, image: torch.Tensor, boxes: torch.Tensor, box_ind: torch.Tensor) -> torch.Tensor:
        _check(image.shape, boxes, box_ind)
        _, height, width, _ = image.shape
        _, rows, columns, _ = grads.shape
        at = _Corners(image.shape, boxes, rows, columns)
        which, source = box_ind.long()[:, None, None], image.float()
        corners = [source[which, r, c] for r in (at.top, at.bottom) for c in (at.left, at.right)]
        top_left, top_right, bottom_left, bottom_right = corners
        by_y = (1 - at.dx) * (bottom_left - top_left) + at.dx * (bottom_right - top_right)
        by_x = (1 - at.dy) * (top_right - top_left) + at.dy * (bottom_right - bottom_left)
        g = torch.where(at.inside[..., None], grads, 0)
        dy, dx = (g * by_y).sum(-1), (g * by_x).sum(-1)
        y1, y2 = _share(dy.sum(2), height, rows)
        x1, x2 = _share(dx.sum(1), width, columns)
        return torch.stack([y1, x1, y2, x2], 1)

    return grad


def _share(by_place: torch.Tensor, size: int, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Converts the gradient of each row's position to those of the two ends of the box."""
    if count == 1:
        half = by_place[:, 0] * 0.5 * (size - 1)
        return half, half
    part = torch.arange(count, dtype=by_place.dtype, device=by_place.device) / (count - 1)
    return (by_place * (1 - part)).sum(1) * (size - 1), (by_place * part).sum(1) * (size - 1)


@CROP_AND_RESIZE.gradient
def crop_and_resize_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    image, boxes, box_ind, _ = op.inputs
    method = op.attrs["method"]
    by_image = None
    if image.dtype.is_floating:
        by_image = CROP_GRAD_IMAGE(grad, boxes, box_ind, SHAPE(image), T=image.dtype, method=method)
    return [by_image, CROP_GRAD_BOXES(grad, image, boxes, box_ind), None, None]


@export("image.crop_and_resize")
def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Tensor:
    """Boxes [n, (y1, x1, y2, x2)], as fractions of the image, of images [batch, h, w, channels], resized to
    `crop_size`.

    box_ind [n]: the image of each box. A box may be flipped (y1 > y2) and extend outside the image, where the result is
    `extrapolation_value`. Returns [n, crop_height, crop_width, channels] float32. TF: tf.image.crop_and_resize.
    """
    box_ind = box_ind if box_indices is None else box_indices
    return CROP_AND_RESIZE(
        convert_to_tensor(image, name="image"),
        convert_to_tensor(boxes, dtype=float32, name="boxes"),
        convert_to_tensor(box_ind, dtype=int32, name="box_ind"),
        convert_to_tensor(crop_size, dtype=int32),
        method=method,
        extrapolation_value=extrapolation_value,
        name=name,
    )
