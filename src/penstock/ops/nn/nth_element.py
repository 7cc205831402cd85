"""The n-th smallest or largest element of each row (TF: tf.contrib.nn.nth_element)."""

from __future__ import annotations

from typing import Any

import torch

from penstock import errors
from penstock.export import export
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import expand_dims
from penstock.ops.cast import cast
from penstock.ops.compare import equal
from penstock.ops.kernel_tools import TORCH_LACKS
from penstock.ops.reduce import reduce_sum
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape, shape_of

NTH_ELEMENT = define_op(
    "NthElement",
    "input: T, n: int32",
    "values: T",
    attrs=["reverse: bool = false", "T: realnumbertype"],
    work=16.0,
    kind="reduction",
)


@NTH_ELEMENT.shape
def nth_element_shape(c: ShapeContext, x: TensorShape, n: TensorShape) -> TensorShape:
    n.assert_has_rank(0)
    known = c.constant("n")
    if known is not None and known < 0:
        raise ValueError(f"Need n >= 0, got {known}")
    if x.with_rank_at_least(1).ndims is None:
        return UNKNOWN
    if known is not None and x.tuple[-1] is not None and x.tuple[-1] <= known:
        raise ValueError(f"Input must have last dimension > n = {known} but is {x.tuple[-1]}")
    return shape_of(x.tuple[:-1])


def _nth(x: torch.Tensor, n: int, reverse: bool, sorts: bool) -> torch.Tensor:
    """The element that is at position `n` of each sorted row, counted from its end if `reverse`."""
    if n < 0:
        raise errors.InvalidArgumentError(None, None, f"Need n >= 0, got {n}")
    if not x.ndim:
        raise errors.InvalidArgumentError(None, None, "Input must be >= 1-D, got shape []")
    count = x.shape[-1]
    if count <= n:
        raise errors.InvalidArgumentError(None, None, "Input must have at least n+1 columns")
    at = count - 1 - n if reverse else n
    return x.sort(-1)[0].select(-1, at).clone() if sorts else x.kthvalue(at + 1, -1)[0]


@NTH_ELEMENT.kernel(host=("n",))
def nth_element_kernel(ctx: KernelContext) -> Kernel:
    reverse, sorts = ctx["reverse"], ctx["T"].name in TORCH_LACKS.split()
    known = ctx.const("n")
    if known is None:
        return lambda x, n: _nth(x, int(n), reverse, sorts)
    fixed = int(known)
    return lambda x, _: _nth(x, fixed, reverse, sorts)


@NTH_ELEMENT.gradient
def nth_element_gradient(op: Operation, grad: Any) -> list[Any]:
    """Elements that are equal to the n-th share its gradient."""
    chosen = cast(equal(expand_dims(op.outputs[0], -1), op.inputs[0]), grad.dtype)
    return [chosen / expand_dims(reduce_sum(chosen, -1), -1) * expand_dims(grad, -1), None]


@export("contrib.nn.nth_element")
def nth_element(input: Any, n: Any, reverse: bool = False, name: str | None = None) -> Tensor:
    """The n-th smallest element of each row, counted from 0, or the n-th largest (TF: tf.contrib.nn.nth_element).

    input [..., m] of real numbers, n int32 [] -> [...]. Raises ValueError if n < 0 or n >= m (InvalidArgumentError if
    that is known in a step only).
    """
    return NTH_ELEMENT(input, n, reverse=reverse, name=name)
