"""Cells of tf.contrib.rnn: "block" cells and an LSTM with layer normalization."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import constant_initializer
from penstock.client.variable_scope import get_variable, variable_scope
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.joining import concat, split
from penstock.ops.nn.bias import xw_plus_b
from penstock.ops.nn.dropout import dropout
from penstock.ops.nn.normalization import batch_normalization, moments
from penstock.ops.unary import sigmoid, tanh
from penstock.rnn.base import RNNCell
from penstock.rnn.cells import GRUCell, LSTMCell, LSTMStateTuple
from penstock.rnn.linear import last_size, linear


@export("contrib.rnn.LSTMBlockCell")
class LSTMBlockCell(LSTMCell):
    """`LSTMCell` with the name and arguments of TensorFlow's fused cell; its scope is "lstm_cell".

    clip_cell: TF 1.2's flag, which bounds the memory by 3; `cell_clip` is the bound (-1 or None: none).
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: Any = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: str = "lstm_cell",
        clip_cell: bool | None = None,
    ) -> None:
        if isinstance(cell_clip, bool):
            cell_clip, clip_cell = None, cell_clip
        if isinstance(dtype, bool):  # until TensorFlow 1.10 `reuse` was in its place
            dtype, reuse = None, dtype
        bound = 3.0 if clip_cell else cell_clip
        super().__init__(
            num_units,
            use_peepholes=use_peephole,
            cell_clip=None if bound is None or bound <= 0 else bound,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )


@export("contrib.rnn.GRUBlockCellV2")
class GRUBlockCellV2(GRUCell):
    """`GRUCell` with the name and arguments of TensorFlow's fused cell; its scope is "gru_cell".

    cell_size: the old name of num_units. Raises ValueError without either, or with both.
    """

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Any = None,
        name: str = "gru_cell",
        dtype: Any = None,
    ) -> None:
        if (num_units is None) == (cell_size is None):
            raise ValueError("Exactly one of num_units or cell_size must be provided")
        super().__init__(num_units if num_units is not None else cell_size, reuse=reuse, name=name, dtype=dtype)  # type: ignore[arg-type]


@export("contrib.rnn.GRUBlockCell")
class GRUBlockCell(GRUBlockCellV2):
    """`GRUBlockCellV2` with the older variable names: w_ru, b_ru, w_c, b_c."""

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        units, dtype = self._num_units, inputs.dtype.base_dtype
        rows = last_size(inputs) + units
        one, zero = constant_initializer(1.0, dtype=dtype), constant_initializer(0.0, dtype=dtype)
        w_ru, b_ru = get_variable("w_ru", [rows, 2 * units], dtype), get_variable("b_ru", [2 * units], dtype, one)
        w_c, b_c = get_variable("w_c", [rows, units], dtype), get_variable("b_c", [units], dtype, zero)
        r, u = split(sigmoid(xw_plus_b(concat([inputs, state], 1), w_ru, b_ru)), 2, 1)
        c = tanh(xw_plus_b(concat([inputs, r * state], 1), w_c, b_c))
        new_state = u * state + (1 - u) * c
        return new_state, new_state


@export("contrib.rnn.LayerNormBasicLSTMCell")
class LayerNormBasicLSTMCell(RNNCell):
    """LSTM whose gates and memory are normalized over the units, with dropout of new memory.

    norm_gain, norm_shift: initial gamma and beta of the normalizations. layer_norm: False uses biases instead. The
    dropout is recurrent: it never drops existing memory.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Any = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._layer_norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift
        self._keep_prob, self._dropout_seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        return self._num_units

    def _norm(self, x: Tensor, scope: str) -> Tensor:
        return normalized(x, scope, self._gain, self._shift) if self._layer_norm else x

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        i, j, f, o = split(linear([inputs, h], 4 * self._num_units, not self._layer_norm), 4, 1)
        i, j = self._norm(i, "input"), self._norm(j, "transform")
        f, o = self._norm(f, "forget"), self._norm(o, "output")
        g = self._activation(j)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            g = dropout(g, self._keep_prob, seed=self._dropout_seed)
        new_c = self._norm(c * sigmoid(f + self._forget_bias) + sigmoid(i) * g, "state")
        new_h = self._activation(new_c) * sigmoid(o)
        return new_h, LSTMStateTuple(new_c, new_h)


def normalized(x: Tensor, scope: str, gain: float, shift: float) -> Tensor:
    """(x - mean) / deviation * gamma + beta over each row; the variables, of `scope`, start at `gain` and `shift`."""
    with variable_scope(scope):
        dtype, size = x.dtype.base_dtype, [last_size(x)]
        gamma = get_variable("gamma", size, dtype, constant_initializer(gain, dtype=dtype))
        beta = get_variable("beta", size, dtype, constant_initializer(shift, dtype=dtype))
        mean, variance = moments(x, [1], keep_dims=True)
        return batch_normalization(x, mean, variance, beta, gamma, 1e-12)
