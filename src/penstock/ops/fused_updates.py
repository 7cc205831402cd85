"""Grouped updates: the same optimizer's update of many small variables as one kernel.

`passes/group_updates.py` adds them to steps. A grouped op is derived from the op that it replaces: its variables and
its gradient become lists. They are not registered, and have no outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from penstock.devices.openmp import limited
from penstock.graph.opdef import ArgDef, Kernel, OpDef, get_op, parse_attr
from penstock.graph.step_graph import Node
from penstock.ops import training as training, training_updates as updates  # the first import registers the ops
from penstock.ops.fused import FUSED_TYPES
from penstock.ops.training_updates import Update, UpdateFactory, hyper
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import float32, float64, resource

# --- updates of lists -----------------------------------------------------------------------------------
# Like those of training_updates.py, for lists of buffers and gradients, which torch's optimizer kernels accept.


def _gradient_descent(ctx: KernelContext) -> Update:
    rate = hyper(ctx, "alpha")

    def update(w: list[Tensor], alpha: Any, delta: list[Tensor]) -> None:
        torch._foreach_add_(w, delta, alpha=-rate(alpha))

    return update


def _momentum(ctx: KernelContext) -> Update:
    rate, decay, nesterov = hyper(ctx, "lr"), hyper(ctx, "momentum"), ctx["use_nesterov"]

    def update(w: list[Tensor], a: list[Tensor], lr: Any, grad: list[Tensor], momentum: Any) -> None:
        torch._fused_sgd_(
            w, grad, a, weight_decay=0.0, momentum=decay(momentum), lr=rate(lr), dampening=0.0,
            nesterov=nesterov, maximize=False, is_first_step=False,
        )  # fmt: skip

    return update


def _adagrad(ctx: KernelContext) -> Update:
    rate = hyper(ctx, "lr")
    update = _adagrad_v2_by(lambda epsilon: 0.0, rate)
    return lambda w, a, lr, grad: update(w, a, lr, 0.0, grad)


def _adagrad_v2(ctx: KernelContext) -> Update:
    return _adagrad_v2_by(hyper(ctx, "epsilon"), hyper(ctx, "lr"))


def _adagrad_v2_by(small: Callable[[Any], Any], rate: Callable[[Any], Any]) -> Update:
    def update(w: list[Tensor], a: list[Tensor], lr: Any, epsilon: Any, grad: list[Tensor]) -> None:
        torch._fused_adagrad_(
            w, grad, a, [_FIRST] * len(w), lr=rate(lr), lr_decay=0.0, weight_decay=0.0, eps=small(epsilon),
            maximize=False,
        )  # fmt: skip

    return update


_FIRST = torch.tensor(1.0)
"""A step number at which the rate has not decayed."""


def _adam(ctx: KernelContext) -> Update:
    power1, power2, rate = hyper(ctx, "beta1_power"), hyper(ctx, "beta2_power"), hyper(ctx, "lr")
    decay1, decay2, small = hyper(ctx, "beta1"), hyper(ctx, "beta2"), hyper(ctx, "epsilon")

    def update(
        w: list[Tensor], m: list[Tensor], v: list[Tensor], beta1_power: Any, beta2_power: Any, lr: Any, beta1: Any,
        beta2: Any, epsilon: Any, grad: list[Tensor],
    ) -> None:  # fmt: skip
        alpha = updates.adam_rate(rate(lr), power1(beta1_power), power2(beta2_power))
        torch._fused_adam_(
            w, grad, m, v, [], [updates.CORRECTED] * len(w), lr=alpha, beta1=decay1(beta1), beta2=decay2(beta2),
            weight_decay=0.0, eps=small(epsilon), amsgrad=False, maximize=False,
        )  # fmt: skip

    return update


# --- the ops --------------------------------------------------------------------------------------------


_GRADIENTS = frozenset({"grad", "delta"})


def _is_state(arg: ArgDef) -> bool:
    return arg.is_ref or arg.dtype == resource


def _grouped(name: str, together: UpdateFactory, alone: UpdateFactory, flops: int) -> OpDef:
    """The op for N nodes of the op `name`, with `flops` operations for each element.

    together: the update of lists; alone: that of one variable, for cases that `together` does not support.
    """
    member = get_op(name)
    of_each = {arg.name for arg in member.inputs if _is_state(arg)} | _GRADIENTS
    inputs = tuple(replace(arg, number_attr="N") if arg.name in of_each else arg for arg in member.inputs)
    op = OpDef(f"_Grouped{name}", inputs, (), {"N": parse_attr("N: int >= 1"), **member.attrs}, stateful=True)
    op.kernel("CPU", T=FUSED_TYPES)(lambda n: _kernel(n, together(n), alone(n)))
    before = sum(not arg.is_list for arg in inputs[: gradient_of(op)])
    lists = gradient_of(op) - before

    def count(node: Node, inputs: list[tuple[int, ...]], outputs: list[tuple[int, ...]]) -> float:
        number = node.attrs["N"]
        first = lists * number + before
        return flops * sum(map(math.prod, inputs[first : first + number]))

    op.flops_fn = count
    return op


def gradient_of(op: OpDef) -> int:
    """Which argument of an update is the gradient."""
    return next(i for i, arg in enumerate(op.inputs) if arg.name in _GRADIENTS)


def _kernel(ctx: KernelContext, together: Update, alone: Update) -> Kernel:
    """Reads every variable before any is changed, so that an uninitialised one leaves the others unchanged."""
    args = ctx.node.op.inputs
    held, at = sum(map(_is_state, args)), gradient_of(ctx.node.op)
    sizes = [edge.node.shapes[edge.port].num_elements() for edge in ctx.inputs(args[at].name)]
    together = limited(together, 1)  # torch's would start threads for each variable, however small
    numel, is_contiguous = Tensor.numel, Tensor.is_contiguous

    def fits(tensors: list[Tensor]) -> bool:
        return [*map(numel, tensors)] == sizes and all(map(is_contiguous, tensors))

    def update(*values: Any) -> None:
        buffers = [[state.read() for state in states] for states in values[:held]]
        values = (*buffers, *values[held:])
        if all(map(fits, buffers)) and fits(values[at]):
            together(*values)
        else:
            for i in range(len(sizes)):
                alone(*(value[i] if isinstance(value, list) else value for value in values))

    return update


_MEMBERS: list[tuple[str, UpdateFactory, UpdateFactory, int]] = [
    ("ApplyGradientDescent", _gradient_descent, updates.gradient_descent, 2),
    ("ApplyMomentum", _momentum, updates.momentum, 4),
    ("ApplyAdagrad", _adagrad, updates.adagrad, 6),
    ("ApplyAdagradV2", _adagrad_v2, updates.adagrad_v2, 7),
    ("ApplyAdam", _adam, updates.adam, 12),
]
GROUPED = {
    prefix + name: _grouped(prefix + name, together, alone, flops)
    for name, together, alone, flops in _MEMBERS
    for prefix in ("", "Resource")
}
"""The grouped op of each op that has one, by the op's name."""


def can_be_grouped(node: Node) -> bool:
    """Whether torch's list kernels can compute what the node does."""
    attrs = node.attrs
    if node.op.name not in GROUPED or attrs["T"] not in (float32, float64):
        return False
    if attrs["use_locking"] or not attrs.get("update_slots", True):
        return False
    return not (node.op.name.endswith("Adam") and attrs["use_nesterov"])
