"""Images scaled and moved with a filter (TF: ScaleAndTranslate, which `tf.image.resize` of TensorFlow 2 is built from).

Along each axis every output pixel is a weighted mean of the input pixels around the place that it is taken from: a
matrix of weights. The gradient multiplies by its transpose. Facts from TensorFlow 1.15's scale_and_translate_op.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
import torch

from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.cast import cast
from penstock.ops.image_resize import check_grads, check_images, resized_shape, size_of
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32
from penstock.tensor.shapes import TensorShape

f32 = np.float32

# --- filters: weights by distance, at least 0, and the distance from which on they are 0 -------------------


def _lanczos(radius: int) -> Callable[[np.ndarray], np.ndarray]:
    def weight(x: np.ndarray) -> np.ndarray:
        near = np.maximum(x, f32(1e-3))
        turn = f32(np.pi) * near
        found = f32(radius) * np.sin(turn) * np.sin(turn / f32(radius)) / (turn * turn)
        return np.where(x > radius, f32(0), np.where(x <= f32(1e-3), f32(1), found))

    return weight


def _gaussian(x: np.ndarray) -> np.ndarray:
    return np.where(x >= 1.5, f32(0), np.exp(-x * x / f32(0.5)))


def _box(x: np.ndarray) -> np.ndarray:
    return np.where(x < 0.5, f32(1), np.where(x == 0.5, f32(0.5), f32(0)))


def _triangle(x: np.ndarray) -> np.ndarray:
    return np.maximum(1 - x, f32(0))


def _cubic(b: float, c: float) -> Callable[[np.ndarray], np.ndarray]:
    """Of Mitchell and Netravali's family."""

    def weight(x: np.ndarray) -> np.ndarray:
        inner = ((2 - 1.5 * b - c) * x + (-3 + 2 * b + c)) * x * x + (1 - b / 3)
        outer = (((-b / 6 - c) * x + (b + 5 * c)) * x + (-2 * b - 8 * c)) * x + (4 * b / 3 + 4 * c)
        return np.where(x >= 2, 0, np.where(x >= 1, outer, inner)).astype(f32)

    return weight


_FILTERS: dict[str, tuple[float, Callable[[np.ndarray], np.ndarray]]] = {
    "lanczos1": (1, _lanczos(1)),
    "lanczos3": (3, _lanczos(3)),
    "lanczos5": (5, _lanczos(5)),
    "gaussian": (1.5, _gaussian),
    "box": (1, _box),
    "triangle": (1, _triangle),
    "keyscubic": (2, _cubic(0, 0.5)),
    "mitchellcubic": (2, _cubic(1 / 3, 1 / 3)),
}


@lru_cache(64)
def _weights(size: int, wanted: int, scale: float, translation: float, kind: str, antialias: bool) -> torch.Tensor:
    """float32 [wanted, size]: how much of each input position an output position has. Those that come from outside of
    the image have nothing."""
    radius, weight = _FILTERS[kind]
    inverse = f32(1 / scale)
    spread = max(inverse, f32(1)) if antialias else f32(1)  # a smaller image has means of more pixels
    at = (np.arange(wanted, dtype=f32) + f32(0.5)) * inverse + -inverse * f32(translation)
    reach = f32(radius) * spread
    first = np.clip(np.ceil(at - reach - f32(0.5)), 0, size - 1)
    last = np.clip(np.floor(at + reach - f32(0.5)), 0, size - 1)
    pixels = np.arange(size, dtype=f32)
    distances = np.abs((pixels + f32(0.5) - at[:, None]) * (f32(1) / spread))
    found = np.where((pixels >= first[:, None]) & (pixels <= last[:, None]), weight(distances), f32(0))
    total = found.sum(1, keepdims=True)
    kept = ((at >= 0) & (at <= size))[:, None] & (np.abs(total) >= 1000 * np.finfo(f32).tiny)
    with np.errstate(all="ignore"), torch.inference_mode(False):  # they are kept, also for who computes gradients
        return torch.from_numpy(np.where(kept, found / total, f32(0)).astype(f32))


def _multiplied(images: torch.Tensor, rows: torch.Tensor, columns: torch.Tensor) -> torch.Tensor:
    """images [n, h, w, c] by rows [h', h] and columns [w', w]: [n, h', w', c]."""
    n, height, width, channels = images.shape
    tall = torch.matmul(rows, images.reshape(n, height, width * channels)).reshape(-1, width, channels)
    return torch.matmul(columns, tall).reshape(n, len(rows), len(columns), channels)


def _maker(ctx: KernelContext) -> Callable[..., list[torch.Tensor]]:
    """A function of (input sizes, output sizes, scale, translation): the weights of rows and of columns."""
    kind, antialias = ctx["kernel_type"].decode().lower(), ctx["antialias"]
    if kind not in _FILTERS:
        raise invalid(f"Unrecognized kernel type: {kind}")

    def make(
        sizes: tuple[int, int], wanted: tuple[int, int], scale: torch.Tensor, translation: torch.Tensor
    ) -> list[torch.Tensor]:
        for value in (scale, translation):
            if value.shape != (2,):
                raise invalid(f"scale and translation must have two elements, not {list(value.shape)}")
        if not bool((scale > 0).all()):
            raise invalid(f"Scale must be greater than zero, not {scale.tolist()}.")
        each = zip(sizes, wanted, scale.tolist(), translation.tolist(), strict=True)
        return [_weights(*numbers, kind, antialias) for numbers in each]

    return make


# --- ops ------------------------------------------------------------------------------------------------

_ATTRS = ["kernel_type: string = 'lanczos3'", "antialias: bool = true"]
SCALE_AND_TRANSLATE = define_op(
    "ScaleAndTranslate",
    "images: T, size: int32, scale: float, translation: float",
    "resized_images: float",
    attrs=["T: {int8, uint8, int16, uint16, int32, int64, bfloat16, half, float, double}", *_ATTRS],
    work=16.0,
)
SCALE_AND_TRANSLATE_GRAD = define_op(
    "ScaleAndTranslateGrad",
    "grads: T, original_image: T, scale: float, translation: float",
    "output: T",
    attrs=["T: {float}", *_ATTRS],
    work=16.0,
)


@SCALE_AND_TRANSLATE.shape
def scaled_shape(
    c: ShapeContext, images: TensorShape, size: TensorShape, scale: TensorShape, translation: TensorShape
) -> TensorShape:
    return resized_shape(c, images, size)


@SCALE_AND_TRANSLATE_GRAD.shape
def original_shape(
    c: ShapeContext, grads: TensorShape, original: TensorShape, scale: TensorShape, translation: TensorShape
) -> TensorShape:
    return original.with_rank(4)


@SCALE_AND_TRANSLATE.kernel(host=("size", "scale", "translation"))
def scale_and_translate_kernel(ctx: KernelContext) -> Kernel:
    make = _maker(ctx)

    def scaled(
        images: torch.Tensor, size: torch.Tensor, scale: torch.Tensor, translation: torch.Tensor
    ) -> torch.Tensor:
        check_images(images)
        weights = make(images.shape[1:3], size_of(size), scale, translation)
        return _multiplied(images.float(), *(each.to(images.device) for each in weights))

    return scaled


@SCALE_AND_TRANSLATE_GRAD.kernel(host=("scale", "translation"))
def scale_and_translate_grad_kernel(ctx: KernelContext) -> Kernel:
    make = _maker(ctx)

    def scaled_back(
        grads: torch.Tensor, original: torch.Tensor, scale: torch.Tensor, translation: torch.Tensor
    ) -> torch.Tensor:
        check_grads(grads, original)
        weights = make(original.shape[1:3], grads.shape[1:3], scale, translation)
        return _multiplied(grads, *(each.t().to(grads.device) for each in weights))

    return scaled_back


@SCALE_AND_TRANSLATE.gradient
def scale_and_translate_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    images, _, scale, translation = op.inputs
    settings = {key: op.attrs[key] for key in ("kernel_type", "antialias")}
    found = SCALE_AND_TRANSLATE_GRAD(grad, cast(images, float32), scale, translation, **settings)
    return [cast(found, images.dtype), None, None, None]


SCALE_AND_TRANSLATE_GRAD.not_differentiable()
