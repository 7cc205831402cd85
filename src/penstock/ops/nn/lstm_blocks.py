"""Fused steps of an LSTM, and fused LSTMs over all steps (TF: LSTMBlockCell, BlockLSTM, BlockLSTMV2).

TensorFlow's tf.contrib.rnn.LSTMBlockCell and LSTMBlockFusedCell make them; here their layers are written with other
ops, and these are for graphs that are imported. Gates are columns of `w` in the order input, candidate, forget,
output; of BlockLSTMV2 input, forget, candidate, output.
"""

from __future__ import annotations

from typing import Any

import torch

from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.ops.filling import zeros_like
from penstock.ops.joining import concat
from penstock.ops.kernel_tools import invalid
from penstock.ops.matrix import matmul
from penstock.ops.nn.bias import BIAS_ADD_GRAD
from penstock.ops.slicing import slice as part_of
from penstock.runtime.kernels import KernelContext
from penstock.tensor.shapes import TensorShape

_PARAMETERS = "cs_prev: T, h_prev: T, w: T, wci: T, wcf: T, wco: T, b: T"
_STEP = "i: T, cs: T, f: T, o: T, ci: T, co: T"
_PEEPHOLE, _T = "use_peephole: bool = false", "T: {half, float}"

LSTM_BLOCK_CELL = define_op(
    "LSTMBlockCell",
    f"x: T, {_PARAMETERS}",
    f"{_STEP}, h: T",
    attrs=["forget_bias: float = 1.0", "cell_clip: float = 3.0", _PEEPHOLE, _T],
)
LSTM_BLOCK_CELL_GRAD = define_op(
    "LSTMBlockCellGrad",
    f"x: T, {_PARAMETERS}, {_STEP}, cs_grad: T, h_grad: T",
    "cs_prev_grad: T, dicfo: T, wci_grad: T, wcf_grad: T, wco_grad: T",
    attrs=["use_peephole: bool", _T],
)
BLOCK_LSTM = define_op(
    "BlockLSTM",
    f"seq_len_max: int64, x: T, {_PARAMETERS}",
    f"{_STEP}, h: T",
    attrs=["forget_bias: float = 1.0", "cell_clip: float = 3.0", _PEEPHOLE, _T],
)
BLOCK_LSTM_V2 = define_op(
    "BlockLSTMV2",
    f"seq_len_max: int64, x: T, {_PARAMETERS}",
    f"{_STEP}, h: T",
    attrs=["cell_clip: float = 0.0", _PEEPHOLE, _T],
)
_GRAD_INPUTS = f"seq_len_max: int64, x: T, {_PARAMETERS}, {_STEP}, h: T, cs_grad: T, h_grad: T"
_GRAD_OUTPUTS = (
    "x_grad: T, cs_prev_grad: T, h_prev_grad: T, w_grad: T, wci_grad: T, wcf_grad: T, wco_grad: T, b_grad: T"
)
BLOCK_LSTM_GRAD = define_op("BlockLSTMGrad", _GRAD_INPUTS, _GRAD_OUTPUTS, attrs=["use_peephole: bool", _T])
BLOCK_LSTM_GRAD_V2 = define_op("BlockLSTMGradV2", _GRAD_INPUTS, _GRAD_OUTPUTS, attrs=["use_peephole: bool", _T])

# --- shapes ---------------------------------------------------------------------------------------------


@LSTM_BLOCK_CELL.shape
def lstm_block_cell_shape(c: ShapeContext, x: TensorShape, cs_prev: TensorShape, *_: TensorShape) -> Any:
    batch, units = x.with_rank(2)[0], cs_prev.with_rank(2)[1]
    return [TensorShape([batch, units])] * 7


@LSTM_BLOCK_CELL_GRAD.shape
def lstm_block_cell_grad_shape(c: ShapeContext, x: TensorShape, cs_prev: TensorShape, *_: TensorShape) -> Any:
    batch, units = x.with_rank(2).as_list()[0], cs_prev.with_rank(2).as_list()[1]
    vector = TensorShape([units])
    gates = TensorShape([batch, None if units is None else 4 * units])
    return [TensorShape([batch, units]), gates, vector, vector, vector]


def _block_shape(c: ShapeContext, length: TensorShape, x: TensorShape, *parameters: TensorShape) -> Any:
    bias = parameters[-1].with_rank(1).as_list()[0]
    return [TensorShape([*x.with_rank(3).as_list()[:2], None if bias is None else bias // 4])] * 7


def _block_grad_shape(c: ShapeContext, length: TensorShape, x: TensorShape, *given: TensorShape) -> Any:
    return [x, *given[:7]]


def _cell_flops(node: Any, inputs: Any, outputs: Any) -> float:
    """Those of the product by `w`."""
    x, w = inputs[0], inputs[3]
    return 2.0 * x[0] * w[0] * w[1]


def _block_flops(node: Any, inputs: Any, outputs: Any) -> float:
    x, w = inputs[1], inputs[4]
    return 2.0 * x[0] * x[1] * w[0] * w[1]


def _block_grad_flops(node: Any, inputs: Any, outputs: Any) -> float:
    return 2 * _block_flops(node, inputs, outputs)


LSTM_BLOCK_CELL.flops(_cell_flops)


@LSTM_BLOCK_CELL_GRAD.flops
def lstm_block_cell_grad_flops(node: Any, inputs: Any, outputs: Any) -> float:
    """Element-wise: its products are separate ops."""
    return 40.0 * inputs[1][0] * inputs[1][1]


# --- one step -------------------------------------------------------------------------------------------


class _Cell:
    """The attributes of a cell, and its gates' places among the columns of `w`."""

    def __init__(self, ctx: KernelContext) -> None:
        attrs = ctx.node.attrs
        self.peephole: bool = ctx["use_peephole"]
        self.forget_bias: float = ctx["forget_bias"] if "forget_bias" in attrs else 0.0
        self.clip: float = ctx["cell_clip"] if "cell_clip" in attrs else 0.0
        self.candidate_second = not ctx.node.op.name.endswith("V2")

    def gates(self, product: torch.Tensor) -> list[torch.Tensor]:
        """Input, candidate, forget and output."""
        i, second, third, o = product.chunk(4, 1)
        return [i, second, third, o] if self.candidate_second else [i, third, second, o]

    def joined(self, di: Any, dci: Any, df: Any, do: Any) -> torch.Tensor:
        return torch.cat([di, dci, df, do] if self.candidate_second else [di, df, dci, do], 1)

    def step(self, product: torch.Tensor, cs_prev: Any, wci: Any, wcf: Any, wco: Any) -> tuple[torch.Tensor, ...]:
        """i, cs, f, o, ci, co, h."""
        i, ci, f, o = self.gates(product)
        f = f + self.forget_bias
        if self.peephole:
            i, f = i + cs_prev * wci, f + cs_prev * wcf
        i, f, ci = torch.sigmoid(i), torch.sigmoid(f), torch.tanh(ci)
        cs = ci * i + cs_prev * f
        if self.clip > 0:
            cs = cs.clamp(-self.clip, self.clip)
        o = torch.sigmoid(o + cs * wco if self.peephole else o)
        co = torch.tanh(cs)
        return i, cs, f, o, ci, co, o * co

    def back(
        self, saved: tuple[Any, ...], cs_prev: Any, peepholes: tuple[Any, ...], cs_grad: Any, h_grad: Any
    ) -> tuple[torch.Tensor, torch.Tensor, list[torch.Tensor]]:
        """Gradients: of `cs_prev`, of the gates before their functions, and of the three peepholes. As in TensorFlow,
        clipping has none."""
        i, cs, f, o, ci, co = saved
        wci, wcf, wco = peepholes
        do = o * (1 - o) * h_grad * co
        dcs = (1 - co * co) * h_grad * o + cs_grad
        if self.peephole:
            dcs = dcs + do * wco
        dci = (1 - ci * ci) * dcs * i
        df = f * (1 - f) * dcs * cs_prev
        di = i * (1 - i) * dcs * ci
        cs_prev_grad = dcs * f
        if not self.peephole:
            return cs_prev_grad, self.joined(di, dci, df, do), [torch.zeros_like(w) for w in peepholes]
        cs_prev_grad = cs_prev_grad + di * wci + df * wcf
        by_peepholes = [(di * cs_prev).sum(0), (df * cs_prev).sum(0), (do * cs).sum(0)]
        return cs_prev_grad, self.joined(di, dci, df, do), by_peepholes


@LSTM_BLOCK_CELL.kernel()
def lstm_block_cell_kernel(ctx: KernelContext) -> Kernel:
    cell = _Cell(ctx)

    def step(x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any) -> Any:
        return cell.step(torch.addmm(b, torch.cat([x, h_prev], 1), w), cs_prev, wci, wcf, wco)

    return step


@LSTM_BLOCK_CELL_GRAD.kernel()
def lstm_block_cell_grad_kernel(ctx: KernelContext) -> Kernel:
    cell = _Cell(ctx)

    def gradient(x: Any, cs_prev: Any, h_prev: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any, *rest: Any) -> Any:
        by_cs, gates, by_peepholes = cell.back(rest[:6], cs_prev, (wci, wcf, wco), *rest[6:])
        return (by_cs, gates, *by_peepholes)

    return gradient


@LSTM_BLOCK_CELL.gradient
def lstm_block_cell_gradient(op: Operation, *grads: Any) -> list[Tensor]:
    """As in TensorFlow, only through the memory and the output."""
    x, h_prev, w = op.inputs[0], op.inputs[2], op.inputs[3]
    memory, output = _through(op, grads)
    by_cs, gates, by_wci, by_wcf, by_wco = LSTM_BLOCK_CELL_GRAD(
        *op.inputs, *op.outputs[:6], memory, output, use_peephole=op.attrs["use_peephole"]
    )
    by_xh = matmul(gates, w, transpose_b=True)
    size = x.shape.with_rank(2).as_list()[1]
    by_w = matmul(concat([x, h_prev], 1), gates, transpose_a=True)
    by_x, by_h = part_of(by_xh, [0, 0], [-1, size]), part_of(by_xh, [0, size], [-1, -1])
    return [by_x, by_cs, by_h, by_w, by_wci, by_wcf, by_wco, BIAS_ADD_GRAD(gates)]


def _through(op: Operation, grads: Any) -> list[Tensor]:
    return [zeros_like(op.outputs[n]) if grads[n] is None else grads[n] for n in (1, 6)]


# --- all steps ------------------------------------------------------------------------------------------


def _steps(length: torch.Tensor, x: torch.Tensor) -> int:
    count = int(length)
    if not 0 <= count <= len(x):
        raise invalid(f"seq_len_max must be from 0 to the number of steps, {len(x)}, not {count}")
    return count


def _block_kernel(ctx: KernelContext) -> Kernel:
    cell = _Cell(ctx)

    def run(length: Any, x: Any, cs: Any, h: Any, w: Any, wci: Any, wcf: Any, wco: Any, b: Any) -> Any:
        """Steps after `length` are zeros."""
        size = x.shape[2]
        found = [x.new_zeros(*x.shape[:2], cs.shape[1]) for _ in range(7)]
        inputs = torch.matmul(x, w[:size]) + b
        for t in range(_steps(length, x)):
            values = cell.step(torch.addmm(inputs[t], h, w[size:]), cs, wci, wcf, wco)
            cs, h = values[1], values[6]
            for all_steps, value in zip(found, values, strict=True):
                all_steps[t] = value
        return tuple(found)

    return run


def _block_grad_kernel(ctx: KernelContext) -> Kernel:
    cell = _Cell(ctx)

    def gradient(length: Any, x: Any, cs_prev: Any, h_prev: Any, w: Any, *rest: Any) -> Any:
        wci, wcf, wco, b, i, cs, f, o, ci, co, h, cs_grad, h_grad = rest
        size = x.shape[2]
        by_x, by_w, by_b = torch.zeros_like(x), torch.zeros_like(w), torch.zeros_like(b)
        by_cs, by_h = torch.zeros_like(cs_prev), torch.zeros_like(h_prev)
        peepholes = wci, wcf, wco
        by_peepholes = [torch.zeros_like(each) for each in peepholes]
        for t in reversed(range(_steps(length, x))):
            before, hidden = (cs[t - 1], h[t - 1]) if t else (cs_prev, h_prev)
            saved = i[t], cs[t], f[t], o[t], ci[t], co[t]
            by_cs, gates, parts = cell.back(saved, before, peepholes, cs_grad[t] + by_cs, h_grad[t] + by_h)
            by_peepholes = [total + part for total, part in zip(by_peepholes, parts, strict=True)]
            by_xh = gates @ w.T
            by_x[t], by_h = by_xh[:, :size], by_xh[:, size:]
            by_w += torch.cat([x[t], hidden], 1).T @ gates
            by_b += gates.sum(0)
        return (by_x, by_cs, by_h, by_w, *by_peepholes, by_b)

    return gradient


def _block_gradient(grad_op: OpDef) -> Any:
    def gradient(op: Operation, *grads: Any) -> list[Tensor | None]:
        """As in TensorFlow, only through the memory and the outputs of all steps."""
        found = grad_op(*op.inputs, *op.outputs, *_through(op, grads), use_peephole=op.attrs["use_peephole"])
        return [None, *found]

    return gradient


for _op, _grad in ((BLOCK_LSTM, BLOCK_LSTM_GRAD), (BLOCK_LSTM_V2, BLOCK_LSTM_GRAD_V2)):
    _op.shape(_block_shape)
    _op.flops(_block_flops)
    _op.kernel(host=["seq_len_max"])(_block_kernel)
    _op.gradient(_block_gradient(_grad))
    _grad.shape(_block_grad_shape)
    _grad.flops(_block_grad_flops)
    _grad.kernel(host=["seq_len_max"])(_block_grad_kernel)
for _op in (LSTM_BLOCK_CELL_GRAD, BLOCK_LSTM_GRAD, BLOCK_LSTM_GRAD_V2):
    _op.not_differentiable()
