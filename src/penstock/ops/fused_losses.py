"""Cross entropies without their gradient, for steps that only need the loss: half the work.

`passes/fuse.py` adds them to steps if shapes are known and match.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from penstock.graph.opdef import Kernel, OpDef
from penstock.ops.fused import FUSED_TYPES
from penstock.ops.nn.cross_entropy import SOFTMAX_CROSS_ENTROPY, SPARSE_SOFTMAX_CROSS_ENTROPY
from penstock.runtime.kernels import KernelContext


def _loss_of(op: OpDef) -> OpDef:
    """An op that returns the first output of `op`, and uses its kernel on a GPU."""
    loss = OpDef(f"_{op.name}Loss", op.inputs, op.outputs[:1], op.attrs, traits=op.traits)

    @loss.kernel("GPU", T=FUSED_TYPES)
    def kernel_of_a_gpu(ctx: KernelContext) -> Kernel:
        both = _kernel(op, "GPU", ctx)
        return lambda logits, labels: both(logits, labels)[0]

    return loss


def _kernel(op: OpDef, device_type: str, n: Any) -> Any:
    found = op.find_kernel(device_type, n.node.attrs)
    assert found is not None, f"{op.name} has kernels for all types of float"
    return found.factory(n)


LOSS = _loss_of(SOFTMAX_CROSS_ENTROPY)
"""features, labels [n, classes] -> [n]."""
SPARSE_LOSS = _loss_of(SPARSE_SOFTMAX_CROSS_ENTROPY)
"""features [n, classes], labels [n] -> [n]."""


@LOSS.kernel("CPU", T=FUSED_TYPES)
def loss_kernel(ctx: KernelContext) -> Kernel:
    log_softmax, total = torch.log_softmax, torch.sum
    return lambda logits, labels: total(log_softmax(logits, 1).mul_(labels), 1).neg_()


@SPARSE_LOSS.kernel("CPU", T=FUSED_TYPES)
def sparse_loss_kernel(ctx: KernelContext) -> Kernel:
    both = _kernel(SPARSE_SOFTMAX_CROSS_ENTROPY, "CPU", ctx)
    log_softmax = torch.log_softmax

    def loss(logits: Tensor, labels: Tensor) -> Tensor:
        try:
            return log_softmax(logits, 1).gather(1, labels.long().unsqueeze(1)).squeeze(1).neg_()
        except (IndexError, RuntimeError):
            both(logits, labels)  # raises the error that names the label
            raise

    return loss
