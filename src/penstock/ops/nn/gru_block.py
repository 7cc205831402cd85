"""A fused step of a GRU, with its gradient (TF: GRUBlockCell), for graphs that are imported.

The columns of `w_ru` are those of the reset gate, then of the update gate.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.joining import concat
from penstock.ops.matrix import matmul
from penstock.ops.nn.bias import BIAS_ADD_GRAD
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_INPUTS = "x: T, h_prev: T, w_ru: T, w_c: T, b_ru: T, b_c: T"
GRU_BLOCK_CELL = define_op("GRUBlockCell", _INPUTS, "r: T, u: T, c: T, h: T", attrs=["T: {float}"])
GRU_BLOCK_CELL_GRAD = define_op(
    "GRUBlockCellGrad",
    f"{_INPUTS}, r: T, u: T, c: T, d_h: T",
    "d_x: T, d_h_prev: T, d_c_bar: T, d_r_bar_u_bar: T",
    attrs=["T: {float}"],
)
GRU_BLOCK_CELL_GRAD.not_differentiable()


def _flops(node: Any, inputs: Any, outputs: Any) -> float:
    """Those of the products by both matrices."""
    x, w_ru, w_c = inputs[0], inputs[2], inputs[3]
    return 2.0 * x[0] * (w_ru[0] * w_ru[1] + w_c[0] * w_c[1])


GRU_BLOCK_CELL.flops(_flops)
GRU_BLOCK_CELL_GRAD.flops(_flops)


@GRU_BLOCK_CELL.shape
def gru_block_cell_shape(c: ShapeContext, x: TensorShape, h_prev: TensorShape, *_: TensorShape) -> list[TensorShape]:
    return [TensorShape([x.with_rank(2)[0], h_prev.with_rank(2)[1]])] * 4


@GRU_BLOCK_CELL_GRAD.shape
def gru_block_cell_grad_shape(
    c: ShapeContext, x: TensorShape, h_prev: TensorShape, w_ru: TensorShape, *_: TensorShape
) -> list[TensorShape]:
    state = TensorShape([x.with_rank(2)[0], h_prev.with_rank(2)[1]])
    return [x, state, state, TensorShape([x[0], w_ru.with_rank(2)[1]])]


@GRU_BLOCK_CELL.kernel()
def gru_block_cell_kernel(ctx: KernelContext) -> Kernel:
    def step(x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any) -> tuple[torch.Tensor, ...]:
        r, u = torch.sigmoid(torch.addmm(b_ru, torch.cat([x, h_prev], 1), w_ru)).chunk(2, 1)
        c = torch.tanh(torch.addmm(b_c, torch.cat([x, h_prev * r], 1), w_c))
        return r.contiguous(), u.contiguous(), c, u * h_prev + (1 - u) * c

    return step


@GRU_BLOCK_CELL_GRAD.kernel()
def gru_block_cell_grad_kernel(ctx: KernelContext) -> Kernel:
    def gradient(
        x: Any, h_prev: Any, w_ru: Any, w_c: Any, b_ru: Any, b_c: Any, r: Any, u: Any, c: Any, d_h: Any
    ) -> tuple[torch.Tensor, ...]:
        size = x.shape[1]
        by_c = d_h * (1 - u) * (1 - c * c)
        by_u = d_h * (h_prev - c) * u * (1 - u)
        by_xhr = by_c @ w_c.T
        by_hr = by_xhr[:, size:]
        gates = torch.cat([by_hr * h_prev * r * (1 - r), by_u], 1)
        by_xh = gates @ w_ru.T
        return by_xhr[:, :size] + by_xh[:, :size], by_xh[:, size:] + by_hr * r + d_h * u, by_c, gates

    return gradient


@GRU_BLOCK_CELL.gradient
def gru_block_cell_gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
    """As in TensorFlow, only through the state."""
    x, h_prev = op.inputs[:2]
    r, u, c, _ = op.outputs
    if grads[3] is None:
        return [None] * 6
    by_x, by_h, by_c, gates = GRU_BLOCK_CELL_GRAD(*op.inputs, r, u, c, grads[3])
    by_w_ru = matmul(concat([x, h_prev], 1), gates, transpose_a=True)
    by_w_c = matmul(concat([x, h_prev * r], 1), by_c, transpose_a=True)
    return [by_x, by_h, by_w_ru, by_w_c, BIAS_ADD_GRAD(gates), BIAS_ADD_GRAD(by_c)]
