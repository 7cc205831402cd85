"""Batch normalization in one op of TensorFlow 0.x: BatchNormWithGlobalNormalization.

Frozen graphs of 2015 and 2016 have it, among them that of the Inception network which classify_image.py downloads.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock.graph import shape_rules
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.kernel_tools import invalid
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape, merge_dim

_ATTRS = ["T: numbertype", "variance_epsilon: float", "scale_after_normalization: bool"]
BATCH_NORM_WITH_GLOBAL_NORMALIZATION = define_op(
    "BatchNormWithGlobalNormalization", "t: T, m: T, v: T, beta: T, gamma: T", "result: T", attrs=_ATTRS, work=4.0
)
BATCH_NORM_WITH_GLOBAL_NORMALIZATION_GRAD = define_op(
    "BatchNormWithGlobalNormalizationGrad",
    "t: T, m: T, v: T, gamma: T, backprop: T",
    "dx: T, dm: T, dv: T, db: T, dg: T",
    attrs=_ATTRS,
    work=8.0,
)
BATCH_NORM_WITH_GLOBAL_NORMALIZATION_GRAD.not_differentiable()


def _shapes(t: TensorShape, vectors: tuple[TensorShape, ...]) -> tuple[TensorShape, TensorShape]:
    """Of the image, and of a vector of its channels."""
    dims = t.with_rank(4).as_list()
    for vector in vectors:
        dims[3] = merge_dim(dims[3], vector.with_rank(1).as_list()[0], "the channels of t and its statistics")
    return TensorShape(dims), TensorShape(dims[3:])


@BATCH_NORM_WITH_GLOBAL_NORMALIZATION.shape
@shape_rules.of_first
def batch_norm_shape(c: ShapeContext, t: TensorShape, *vectors: TensorShape) -> TensorShape:
    return _shapes(t, vectors)[0]


@BATCH_NORM_WITH_GLOBAL_NORMALIZATION_GRAD.shape
@shape_rules.of_first
def batch_norm_grad_shape(c: ShapeContext, t: TensorShape, *given: TensorShape) -> list[TensorShape]:
    image, vector = _shapes(t.merge_with(given[-1]), given[:3])
    return [image, vector, vector, vector, vector]


@BATCH_NORM_WITH_GLOBAL_NORMALIZATION.kernel(T="half bfloat16 float double")
def batch_norm_kernel(ctx: KernelContext) -> Kernel:
    epsilon, scaled = ctx["variance_epsilon"], ctx["scale_after_normalization"]

    def normalize(t: Any, m: Any, v: Any, beta: Any, gamma: Any) -> torch.Tensor:
        _check(t)
        factor = torch.rsqrt(v + epsilon)
        if scaled:
            factor = factor * gamma
        found: torch.Tensor = (t - m) * factor + beta
        return found

    return normalize


@BATCH_NORM_WITH_GLOBAL_NORMALIZATION_GRAD.kernel(T="half bfloat16 float double")
def batch_norm_grad_kernel(ctx: KernelContext) -> Kernel:
    epsilon, scaled = ctx["variance_epsilon"], ctx["scale_after_normalization"]

    def gradient(t: Any, m: Any, v: Any, gamma: Any, backprop: Any) -> tuple[torch.Tensor, ...]:
        _check(t)
        axes = (0, 1, 2)
        inverse = torch.rsqrt(v + epsilon)
        factor = inverse * gamma if scaled else inverse
        db, products = backprop.sum(axes), (backprop * (t - m)).sum(axes)
        dv = products * factor * inverse * inverse * -0.5
        dg = products * inverse if scaled else torch.zeros_like(gamma)
        return backprop * factor, -db * factor, dv, db, dg

    return gradient


def _check(t: Any) -> None:
    if t.ndim != 4:
        raise invalid(f"input must be 4-dimensional, not of shape {list(t.shape)}")


@BATCH_NORM_WITH_GLOBAL_NORMALIZATION.gradient
def batch_norm_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    t, m, v, _, gamma = op.inputs
    attrs = {name: op.attrs[name] for name in ("variance_epsilon", "scale_after_normalization")}
    return list(BATCH_NORM_WITH_GLOBAL_NORMALIZATION_GRAD(t, m, v, gamma, grad, **attrs))
