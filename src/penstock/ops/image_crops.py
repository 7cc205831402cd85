"""Cutting images up: boxes resized to one size, patches, glimpses (TF: tf.image.crop_and_resize and kin)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.array import SHAPE
from penstock.tensor.dtypes import float32, int32
from penstock.tensor.shapes import TensorShape

_TYPES = "T: {uint8, uint16, int8, int16, int32, int64, half, float, double}"

# --- crop_and_resize ------------------------------------------------------------------------------------

CROP_AND_RESIZE = define_op(
    "CropAndResize",
    "image: T, boxes: float, box_ind: int32, crop_size: int32",
    "crops: float",
    attrs=[_TYPES, "method: {'bilinear', 'nearest'} = 'bilinear'", "extrapolation_value: float = 0.0"],
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
        raise errors.InvalidArgumentError(None, None, f"boxes must be [num_boxes, 4], not {list(boxes.shape)}")
    if box_ind.shape != boxes.shape[:1]:
        raise errors.InvalidArgumentError(
            None, None, f"box_ind must have one entry a box: {list(box_ind.shape)} for {boxes.shape[0]} boxes"
        )
    if height <= 0 or width <= 0:
        raise errors.InvalidArgumentError(None, None, f"image dimensions must be positive, not {height} x {width}")
    if box_ind.numel() and not (box_ind.min() >= 0 and box_ind.max() < batch):
        raise errors.OutOfRangeError(None, None, f"box_ind has values outside [0, {batch})")


def _places(low: torch.Tensor, high: torch.Tensor, size: int, count: int) -> torch.Tensor:
    """[boxes, count]: where in the image each row (or column) of the crops is taken."""
    if count == 1:
        return (0.5 * (low + high) * (size - 1))[:, None]
    step = (high - low) * (size - 1) / (count - 1)
    return low[:, None] * (size - 1) + torch.arange(count, dtype=low.dtype, device=low.device) * step[:, None]


class _Corners:
    """For each pixel of each crop: the four pixels around its place, as indices, and how far it is between them."""

    def __init__(self, shape: Any, boxes: torch.Tensor, rows: int, columns: int) -> None:
        _, height, width, _ = shape
        y = _places(boxes[:, 0], boxes[:, 2], height, rows)
        x = _places(boxes[:, 1], boxes[:, 3], width, columns)
        self.inside = ((y >= 0) & (y <= height - 1))[:, :, None] & ((x >= 0) & (x <= width - 1))[:, None, :]
        y = torch.where((y >= 0) & (y <= height - 1), y, 0)  # NaN and far away: not inside, so of no account
        x = torch.where((x >= 0) & (x <= width - 1), x, 0)
        self.top, self.left = y.floor().long()[:, :, None], x.floor().long()[:, None, :]
        self.bottom, self.right = y.ceil().long()[:, :, None], x.ceil().long()[:, None, :]
        self.dy, self.dx = (y - y.floor())[:, :, None, None], (x - x.floor())[:, None, :, None]
        self.row, self.column = y.round().long()[:, :, None], x.round().long()[:, None, :]
        up = y - y.floor() >= 0.5  # half goes up, as C's round does
        self.row = (y.floor().long() + up)[:, :, None]
        right = x - x.floor() >= 0.5
        self.column = (x.floor().long() + right)[:, None, :]


@CROP_AND_RESIZE.kernel(host=("crop_size",))
def crop_and_resize_kernel(n: Any) -> Kernel:
    nearest, outside = n["method"] == b"nearest", n["extrapolation_value"]

    def crop(image: torch.Tensor, boxes: torch.Tensor, box_ind: torch.Tensor, size: torch.Tensor) -> torch.Tensor:
        _check(image.shape, boxes, box_ind)
        rows, columns = (int(v) for v in size.tolist())
        if rows <= 0 or columns <= 0:
            raise errors.InvalidArgumentError(None, None, f"crop dimensions must be positive, not {rows} x {columns}")
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
)
CROP_GRAD_IMAGE.not_differentiable()


@CROP_GRAD_IMAGE.shape
def crop_grad_image_shape(c: ShapeContext, *_: TensorShape) -> TensorShape:
    return c.constant_shape("image_size").with_rank(4)


@CROP_GRAD_IMAGE.kernel(host=("image_size",))
def crop_grad_image_kernel(n: Any) -> Kernel:
    nearest, dtype = n["method"] == b"nearest", n.torch_dtype()

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
)
CROP_GRAD_BOXES.not_differentiable()


@CROP_GRAD_BOXES.shape
def crop_grad_boxes_shape(c: ShapeContext, grads: Any, image: Any, boxes: TensorShape, box_ind: Any) -> TensorShape:
    return boxes.with_rank(2)


@CROP_GRAD_BOXES.kernel()
def crop_grad_boxes_kernel(n: Any) -> Kernel:
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
    """From the gradient of each row's place to those of the two ends of the box."""
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
    """Boxes [n, (y1, x1, y2, x2)], in parts of the image, of images [batch, h, w, channels], resized to `crop_size`.

    box_ind [n]: the image of each box. A box may be turned round (y1 > y2) and reach outside, where the result is
    `extrapolation_value`. Gives [n, crop_height, crop_width, channels] float32. TF: tf.image.crop_and_resize.
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


# --- patches --------------------------------------------------------------------------------------------

EXTRACT_IMAGE_PATCHES = define_op(
    "ExtractImagePatches",
    "images: T",
    "patches: T",
    attrs=[
        "ksizes: list(int) >= 4",
        "strides: list(int) >= 4",
        "rates: list(int) >= 4",
        "T: {bfloat16, half, float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, complex64, "
        "complex128, bool}",
        "padding: {'SAME', 'VALID'}",
    ],
)


def _windows(size: int, k: int, stride: int, rate: int, same: bool) -> tuple[int, int]:
    """How many windows fit, and how much is padded before."""
    reach = (k - 1) * rate + 1
    if not same:
        return max(0, -(-(size - reach + 1) // stride)), 0
    count = -(-size // stride)
    return count, max(0, (count - 1) * stride + reach - size) // 2


@EXTRACT_IMAGE_PATCHES.shape
def extract_image_patches_shape(c: ShapeContext, images: TensorShape) -> TensorShape:
    images = images.with_rank(4)
    a, same = c.attrs, c.attrs["padding"] == b"SAME"
    for name in ("ksizes", "strides", "rates"):
        if len(a[name]) != 4 or a[name][0] != 1 or a[name][3] != 1:
            raise ValueError(f"{name} must be [1, rows, columns, 1], not {a[name]}")
        if min(a[name]) < 1:
            raise ValueError(f"{name} must be positive, not {a[name]}")
    dims: list[int | None] = []
    for i in (1, 2):
        size = images[i].value
        dims.append(None if size is None else _windows(size, a["ksizes"][i], a["strides"][i], a["rates"][i], same)[0])
    depth = None if images[3].value is None else images[3].value * a["ksizes"][1] * a["ksizes"][2]
    return TensorShape([images[0].value, *dims, depth])


@EXTRACT_IMAGE_PATCHES.kernel()
def extract_image_patches_kernel(n: Any) -> Kernel:
    (_, kh, kw, _), (_, sh, sw, _), (_, rh, rw, _) = n["ksizes"], n["strides"], n["rates"]
    same = n["padding"] == b"SAME"

    def indices(size: int, k: int, stride: int, rate: int) -> torch.Tensor:
        """[windows, k]: positions in the input; those in the padding count as `size`."""
        count, before = _windows(size, k, stride, rate, same)
        at = np.arange(count)[:, None] * stride - before + np.arange(k)[None, :] * rate
        return torch.from_numpy(np.where((at < 0) | (at >= size), size, at))

    def patches(images: torch.Tensor) -> torch.Tensor:
        if images.ndim != 4:
            raise errors.InvalidArgumentError(None, None, f"images must be 4-dimensional: {list(images.shape)}")
        batch, height, width, depth = images.shape
        rows = indices(height, kh, sh, rh).to(images.device)
        columns = indices(width, kw, sw, rw).to(images.device)
        padded = images
        if same:
            padded = images.new_zeros((batch, height + 1, width + 1, depth))
            padded[:, :height, :width] = images
        found = padded[:, rows[:, None, :, None], columns[None, :, None, :]]
        return found.reshape(batch, rows.shape[0], columns.shape[0], kh * kw * depth)

    return patches


@EXTRACT_IMAGE_PATCHES.gradient
def extract_image_patches_gradient(op: Operation, grad: Tensor) -> Tensor:
    """Every value goes back to its pixel: the patches of an image of pixel numbers say which."""
    (image,) = op.inputs
    reshape, transpose = get_op("Reshape"), get_op("Transpose")
    pack, multiply = get_op("Pack"), get_op("Mul")
    batch, height, width, depth = _dims(image)
    _, out_height, out_width, _ = _dims(grad)
    _, kh, kw, _ = op.attrs["ksizes"]
    count = multiply(height, width)
    numbers = reshape(get_op("Range")(1, get_op("AddV2")(count, 1), 1), pack([1, height, width, 1]))
    attrs = {key: op.attrs[key] for key in ("ksizes", "strides", "rates", "padding")}
    pixel = EXTRACT_IMAGE_PATCHES(numbers, **attrs)  # 0 in the padding
    split = reshape(grad, pack([batch, out_height, out_width, kh * kw, depth]))
    by_window = transpose(split, [1, 2, 3, 0, 4])
    flat = reshape(by_window, pack([-1, multiply(batch, depth)]))
    summed = get_op("UnsortedSegmentSum")(flat, reshape(pixel, [-1]), get_op("AddV2")(count, 1))
    kept = get_op("Slice")(summed, [1, 0], [-1, -1])
    return transpose(reshape(kept, pack([height, width, batch, depth])), [2, 0, 1, 3])


def _dims(x: Tensor) -> list[Any]:
    """The four sizes: numbers where they are known, else scalar tensors."""
    known = constant_value(SHAPE(x)) if x.shape.is_fully_defined() else None
    if known is not None:
        return [convert_to_tensor(int(d), dtype=int32) for d in known]
    return list(get_op("Unpack")(SHAPE(x), num=4, axis=0))


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Tensor:
    """Patches of `ksizes` [1, rows, columns, 1], one every `strides`, each put in depth (TF: extract_image_patches).

    images [batch, h, w, depth] → [batch, rows, columns, ksize_rows * ksize_columns * depth]. `rates`: the distance
    of the pixels of a patch from each other.
    """
    ksizes = ksizes if sizes is None else sizes
    return EXTRACT_IMAGE_PATCHES(
        convert_to_tensor(images), ksizes=ksizes, strides=strides, rates=rates, padding=padding, name=name
    )
