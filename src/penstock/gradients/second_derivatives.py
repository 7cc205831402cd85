"""Gradients of gradient ops, computed by the backward walk from the same formula written in simple ops.

They are here rather than next to their ops because the walk imports ops.
"""

from __future__ import annotations

from typing import Any

from penstock.gradients.gradients import gradients
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.ops.nn.batch_norm import FUSED_BATCH_NORM_GRAD, FUSED_BATCH_NORM_GRAD_V2, FUSED_BATCH_NORM_GRAD_V3
from penstock.ops.nn.conv import dims_of
from penstock.tensor.dtypes import float32


@FUSED_BATCH_NORM_GRAD.gradient
@FUSED_BATCH_NORM_GRAD_V2.gradient
@FUSED_BATCH_NORM_GRAD_V3.gradient
def fused_batch_norm_grad_gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    """The second derivative: the gradient of the same formula written in simple ops."""
    y_backprop, x, scale, mean, variance = op.inputs[:5]
    known = [y_backprop, x, scale] if op.attrs["is_training"] else [y_backprop, x, scale, mean, variance]
    results = _grad_in_simple_ops(op)
    found = gradients(results, known, grad_ys=list(grads[:3]), stop_gradients=known)
    return [*found, *[None] * (len(op.inputs) - len(known))]


def _grad_in_simple_ops(op: Operation) -> list[Tensor]:
    """x_backprop, scale_backprop and offset_backprop in differentiable form."""
    g, x, scale, mean, variance = op.inputs[:5]
    layout = op.attrs["data_format"]
    axis = layout.index(b"C")
    others = [i for i in range(len(layout)) if i != axis]
    wide = [1] * len(layout)
    wide[axis] = -1

    def total(t: Tensor, kind: str = "Sum") -> Tensor:
        return get_op(kind)(t, others, keep_dims=True)

    def spread(vector: Tensor) -> Tensor:
        return get_op("Reshape")(vector, wide)

    def vector(t: Tensor) -> Tensor:
        return get_op("Reshape")(t, dims_of(scale))

    x_dtype = x.dtype.base_dtype
    if x_dtype != float32:
        g, x = get_op("Cast")(g, DstT=float32), get_op("Cast")(x, DstT=float32)
    if op.attrs["is_training"]:
        center = x - total(x, "Mean")
        inverse = get_op("Rsqrt")(total(center * center, "Mean") + op.attrs["epsilon"])
        normal = center * inverse
        by_x = spread(scale) * inverse * (g - total(g, "Mean") - normal * total(g * normal, "Mean"))
    else:
        inverse = get_op("Rsqrt")(spread(variance) + op.attrs["epsilon"])
        normal = (x - spread(mean)) * inverse
        by_x = g * spread(scale) * inverse
    if x_dtype != float32:
        by_x = get_op("Cast")(by_x, DstT=x_dtype)
    return [by_x, vector(total(g * normal)), vector(total(g))]
