"""Sparse optimizer updates: only the rows in `indices` change, each as if it were a variable."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch

from penstock import errors
from penstock.graph.opdef import Kernel
from penstock.graph.shape_context import ShapeContext
from penstock.ops import training_updates as updates
from penstock.ops.resource_variables import check_indices
from penstock.ops.state import locked
from penstock.ops.training import (
    BY_RATE,
    FLOATS,
    NESTEROV,
    UPDATE_SLOTS,
    define_update,
    merge_shapes,
)
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

INDICES = ("Tindices: indextype",)


def sparse_shape(c: ShapeContext, *shapes: TensorShape) -> list[TensorShape]:
    """`grad` has a row of the variables' shape for each of the `indices`; all other values are scalars."""
    names = [arg.name for arg in c.op.op_def.inputs]
    indices = shapes[names.index("indices")].with_rank(1)
    return merge_shapes(c, shapes, lambda merged: indices.concatenate(merged[1:]))


def sparse_kernel(make_update: updates.UpdateFactory, states: int) -> Callable[[Any], Kernel]:
    """A kernel factory: gather the rows, update them like the dense op, and write them back."""

    def factory(ctx: KernelContext) -> Kernel:
        update = make_update(ctx)
        names = [arg.name for arg in ctx.node.op.inputs]
        grad_at = next(i for i, name in enumerate(names) if name in ("grad", "delta"))
        indices_at = names.index("indices")
        (edge,) = ctx.inputs("indices")
        distinct = edge.node.op.name in ("Unique", "UniqueV2") and edge.port == 0
        values_at = [i for i in range(states, len(names)) if i != indices_at]

        def apply(*args: Any) -> Any:
            buffers = [state.read() for state in args[:states]]
            grad, indices = args[grad_at], args[indices_at]
            _check(buffers, grad, indices)
            for rows, part in [(indices.long(), grad)] if distinct else _distinct(indices.long(), grad):
                gathered = [buffer.index_select(0, rows) for buffer in buffers]
                update(*gathered, *(part if i == grad_at else args[i] for i in values_at))
                for buffer, changed in zip(buffers, gathered, strict=True):
                    buffer.index_copy_(0, rows, changed)
            return args[0]

        return locked(apply) if ctx["use_locking"] else apply

    return factory


def _check(buffers: list[torch.Tensor], grad: torch.Tensor, indices: torch.Tensor) -> None:
    shape = buffers[0].shape
    problem = ""
    if any(buffer.shape != shape for buffer in buffers):
        problem = f"the variables have different shapes: {[list(b.shape) for b in buffers]}"
    elif indices.ndim != 1 or not shape or grad.shape != (*indices.shape, *shape[1:]):
        problem = (
            f"a gradient of shape {list(grad.shape)} for {list(indices.shape)} indices does not fit "
            f"a variable of shape {list(shape)}"
        )
    if problem:
        raise errors.InvalidArgumentError(None, None, problem)
    check_indices(indices, shape[0])


def _distinct(indices: torch.Tensor, grad: torch.Tensor) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
    """`(rows, their gradients)` in parts without duplicates: a duplicate row is updated twice, in order."""
    ordered, order = indices.sort(stable=True)
    turn = torch.arange(len(order), device=order.device) - torch.searchsorted(ordered, ordered)
    turns = int(turn.max()) + 1 if len(order) else 0
    if turns == 1:
        yield indices, grad
        return
    for i in range(turns):
        chosen = order[turn == i]
        yield indices[chosen], grad[chosen]


def define_sparse_update(
    name: str, resource_name: str, states: str, values: str, update: updates.UpdateFactory, **how: Any
) -> None:
    how |= {"leading": INDICES, "shape": sparse_shape, "kernel": sparse_kernel, "launches": False, "part": True}
    define_update(name, resource_name, states, values, update, **how)


define_sparse_update(
    "SparseApplyMomentum",
    "ResourceSparseApplyMomentum",
    "var accum",
    "lr: T, grad: T, indices: Tindices, momentum: T",
    updates.momentum,
    attrs=NESTEROV,
)
define_sparse_update(
    "SparseApplyAdagrad",
    "ResourceSparseApplyAdagrad",
    "var accum",
    "lr: T, grad: T, indices: Tindices",
    updates.adagrad,
    attrs=UPDATE_SLOTS,
)
define_sparse_update(
    "SparseApplyAdagradV2",
    "ResourceSparseApplyAdagradV2",
    "var accum",
    "lr: T, epsilon: T, grad: T, indices: Tindices",
    updates.adagrad_v2,
    attrs=UPDATE_SLOTS,
)
define_sparse_update(
    "SparseApplyAdadelta",
    "ResourceSparseApplyAdadelta",
    "var accum accum_update",
    "lr: T, rho: T, epsilon: T, grad: T, indices: Tindices",
    updates.adadelta,
)
define_sparse_update(
    "SparseApplyAdagradDA",
    "ResourceSparseApplyAdagradDA",
    "var gradient_accumulator gradient_squared_accumulator",
    "grad: T, indices: Tindices, lr: T, l1: T, l2: T, global_step: int64",
    updates.adagrad_da,
    types=FLOATS,
)
define_sparse_update(
    "SparseApplyRMSProp",
    "ResourceSparseApplyRMSProp",
    "var ms mom",
    "lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices",
    updates.rms_prop,
)
define_sparse_update(
    "SparseApplyCenteredRMSProp",
    "ResourceSparseApplyCenteredRMSProp",
    "var mg ms mom",
    "lr: T, rho: T, momentum: T, epsilon: T, grad: T, indices: Tindices",
    updates.centered_rms_prop,
)
define_sparse_update(
    "SparseApplyFtrl",
    "ResourceSparseApplyFtrl",
    "var accum linear",
    "grad: T, indices: Tindices, lr: T, l1: T, l2: T, lr_power: T",
    updates.ftrl,
    attrs=BY_RATE,
    types=FLOATS,
)
define_sparse_update(
    "SparseApplyFtrlV2",
    "ResourceSparseApplyFtrlV2",
    "var accum linear",
    "grad: T, indices: Tindices, lr: T, l1: T, l2: T, l2_shrinkage: T, lr_power: T",
    updates.ftrl_v2,
    attrs=BY_RATE,
    types=FLOATS,
)
define_sparse_update(
    "SparseApplyProximalGradientDescent",
    "ResourceSparseApplyProximalGradientDescent",
    "var",
    "alpha: T, l1: T, l2: T, grad: T, indices: Tindices",
    updates.proximal_gradient_descent,
    types=FLOATS,
)
define_sparse_update(
    "SparseApplyProximalAdagrad",
    "ResourceSparseApplyProximalAdagrad",
    "var accum",
    "lr: T, l1: T, l2: T, grad: T, indices: Tindices",
    updates.proximal_adagrad,
    types=FLOATS,
)
