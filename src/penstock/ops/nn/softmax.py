"""Softmax and its logarithm (TF: Softmax, LogSoftmax), along any axis."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape


@shape_rules.of_first
def _at_least_a_vector(c: ShapeContext, logits: TensorShape) -> TensorShape:
    return logits.with_rank_at_least(1)


SOFTMAX = define_op(
    "Softmax", "logits: T", "softmax: T", attrs=["T: floattype"], work=8.0, bits16="deny", launches=True
)
SOFTMAX.shape(_at_least_a_vector)


@SOFTMAX.kernel()
def softmax_kernel(ctx: KernelContext) -> Kernel:
    return lambda x: torch.softmax(x, -1)


LOG_SOFTMAX = define_op(
    "LogSoftmax", "logits: T", "logsoftmax: T", attrs=["T: floattype"], work=8.0, bits16="deny", launches=True
)
LOG_SOFTMAX.shape(_at_least_a_vector)


@LOG_SOFTMAX.kernel()
def log_softmax_kernel(ctx: KernelContext) -> Kernel:
    return lambda x: torch.log_softmax(x, -1)


@SOFTMAX.gradient
def softmax_gradient(op: Operation, grad: Tensor) -> Tensor:
    softmax = op.outputs[0]
    return (grad - get_op("Sum")(grad * softmax, -1, keep_dims=True)) * softmax


@LOG_SOFTMAX.gradient
def log_softmax_gradient(op: Operation, grad: Tensor) -> Tensor:
    return grad - get_op("Sum")(grad, -1, keep_dims=True) * get_op("Exp")(op.outputs[0])


# --- functions ------------------------------------------------------------------------------------------


@export("math.softmax", "nn.softmax")
def softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """exp(logits) / sum(exp(logits)) along `axis`, by default the last (TF: tf.nn.softmax).

    logits: floats of rank 1 or more -> the same shape. `dim` is the older name of `axis`. Raises ValueError for an axis
    that `logits` does not have.
    """
    return _along(SOFTMAX, logits, either("axis", axis, "dim", dim, -1), name)


@export("math.log_softmax", "nn.log_softmax")
def log_softmax(logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None) -> Tensor:
    """logits - log(sum(exp(logits))) along `axis`, by default the last (TF: tf.nn.log_softmax)."""
    return _along(LOG_SOFTMAX, logits, either("axis", axis, "dim", dim, -1), name)


def _along(op: OpDef, logits: Any, axis: int, name: str | None) -> Tensor:
    x = convert_to_tensor(logits)
    rank = x.shape.ndims
    if axis == -1 or (rank is not None and axis == rank - 1):
        return op(x, name=name)
    moved, order = moved_last(x, axis)
    return get_op("Transpose")(op(moved), np.argsort(order).tolist(), name=name or "transpose")


def moved_last(x: Tensor, axis: int) -> tuple[Tensor, list[int]]:
    """`x` with `axis` moved to the end, and the permutation that was used."""
    rank = x.shape.ndims
    if rank is None:
        raise ValueError(f"axis {axis} of {x.name}, whose rank is not known, cannot be moved to the end")
    if not -rank <= axis < rank:
        message = f"'axis' parameter must be in the range [{-rank}, {rank}) but was {axis}"
        raise errors.InvalidArgumentError(None, None, message)
    order = [i for i in range(rank) if i != axis % rank] + [axis % rank]
    return get_op("Transpose")(x, order, name="transpose"), order


def either(name: str, value: Any, old_name: str, old_value: Any, default: Any = None) -> Any:
    """The argument given under either of two names; raises ValueError if both are given."""
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both {old_name!r} and {name!r}")
    if value is None:
        value = old_value
    return default if value is None else value
