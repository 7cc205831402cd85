"""Whether the target is among the top predictions (TF: InTopK)."""

from __future__ import annotations

from typing import Any

import torch

from penstock.export import export
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import ShapeContext
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape, merge_dim


def _shape(c: ShapeContext, predictions: TensorShape, targets: TensorShape, *k: TensorShape) -> TensorShape:
    rows = predictions.with_rank(2).as_list()[0]
    return TensorShape([merge_dim(rows, targets.with_rank(1).as_list()[0], "the rows of predictions and targets")])


def _in_top_k(predictions: torch.Tensor, targets: torch.Tensor, k: int) -> torch.Tensor:
    """False if a target is not a class, or if a relevant prediction is not finite."""
    if predictions.ndim != 2 or targets.ndim != 1 or predictions.shape[0] != targets.shape[0]:
        raise ValueError(
            "predictions must be a matrix and targets a vector of as many rows, got shapes "
            f"{list(predictions.shape)} and {list(targets.shape)}"
        )
    classes = predictions.shape[1]
    if not classes:
        return torch.zeros(targets.shape, dtype=torch.bool, device=targets.device)
    valid = (targets >= 0) & (targets < classes)
    of_target = predictions.gather(1, (targets * valid).long().unsqueeze(1))
    better = (predictions > of_target).sum(1)
    return valid & torch.isfinite(predictions).all(1) & (better < k)


IN_TOP_K = define_op(
    "InTopK", "predictions: float, targets: T", "precision: bool", attrs=["k: int", "T: indextype = int32"], work=16.0
)
IN_TOP_K.shape(_shape)
IN_TOP_K.not_differentiable()


@IN_TOP_K.kernel()
def in_top_k_kernel(ctx: KernelContext) -> Kernel:
    k = ctx["k"]
    return lambda predictions, targets: _in_top_k(predictions, targets, k)


IN_TOP_K_V2 = define_op(
    "InTopKV2", "predictions: float, targets: T, k: T", "precision: bool", attrs=["T: indextype = int32"], work=16.0
)
IN_TOP_K_V2.shape(_shape)
IN_TOP_K_V2.not_differentiable()


@IN_TOP_K_V2.kernel(host=("k",))
def in_top_k_v2_kernel(ctx: KernelContext) -> Kernel:
    k = ctx.const("k")
    if k is None:
        return lambda predictions, targets, k: _in_top_k(predictions, targets, int(k))
    fixed = int(k)
    return lambda predictions, targets, _: _in_top_k(predictions, targets, fixed)


@export("math.in_top_k", "nn.in_top_k")
def in_top_k(predictions: Any, targets: Any, k: Any, name: str | None = None) -> Tensor:
    """Whether fewer than `k` classes are predicted above the target (TF: tf.nn.in_top_k).

    predictions [n, classes] float32, targets [n] int32 or int64 -> [n] bool: False for a target that is not a class and
    for rows with a prediction that is not finite.
    """
    with name_scope(name, "in_top_k"):
        return IN_TOP_K_V2(predictions, targets, k)
