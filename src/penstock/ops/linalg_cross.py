"""The cross product (TF: tf.cross)."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.elementwise import REAL
from penstock.ops.kernel_tools import TORCH_LACKS, via_numpy
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

CROSS = define_op("Cross", "a: T, b: T", "product: T", attrs=["T: realnumbertype"], work=16.0)


@CROSS.shape
@shape_rules.of_first
def cross_shape(c: ShapeContext, a: TensorShape, b: TensorShape) -> TensorShape:
    merged = a.with_rank_at_least(1).merge_with(b.with_rank_at_least(1))
    if merged.ndims is not None:
        merged[-1].assert_is_compatible_with(3)
    return merged


def _check(a: Any, b: Any) -> None:
    if a.shape != b.shape:
        message = f"Both inputs must be of same shape: {list(a.shape)} vs. {list(b.shape)}"
        raise errors.InvalidArgumentError(None, None, message)
    if not a.ndim or a.shape[-1] != 3:
        message = f"Cross-products are only defined for 3-element vectors, not {list(a.shape)}"
        raise errors.FailedPreconditionError(None, None, message)


@CROSS.kernel(T=REAL)
def cross_kernel(ctx: KernelContext) -> Kernel:
    def cross(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        _check(a, b)
        first, second = a.roll(-1, -1) * b.roll(-2, -1), a.roll(-2, -1) * b.roll(-1, -1)
        return first - second

    return cross


@CROSS.kernel("CPU", T=TORCH_LACKS)
def cross_numpy_kernel(ctx: KernelContext) -> Kernel:
    def cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        _check(a, b)
        return np.roll(a, -1, -1) * np.roll(b, -2, -1) - np.roll(a, -2, -1) * np.roll(b, -1, -1)

    return via_numpy(cross, ctx["T"])


@CROSS.gradient
def cross_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    a, b = op.inputs
    return [CROSS(b, grad), CROSS(grad, a)]


@export("cross", "linalg.cross")
def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross products of vectors [..., 3] (TF: tf.cross)."""
    return CROSS(convert_to_tensor(a), convert_to_tensor(b), name=name)
