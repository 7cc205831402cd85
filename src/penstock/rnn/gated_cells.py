"""Cells of tf.contrib.rnn whose gates differ from those of LSTMs and GRUs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.clip import clip_by_value
from penstock.ops.joining import concat, split
from penstock.ops.matrix import matmul
from penstock.ops.nn.activations import relu
from penstock.ops.nn.bias import bias_add
from penstock.ops.slicing import slice as slice_
from penstock.ops.unary import sigmoid, tanh
from penstock.rnn.base import RNNCell
from penstock.rnn.cells import LSTMStateTuple
from penstock.rnn.contrib_cells import normalized
from penstock.rnn.linear import last_size, linear


@export("contrib.rnn.UGRNNCell")
class UGRNNCell(RNNCell):
    """Update gate RNN: new state = g state + (1 - g) act(c), with g, c linear (https://arxiv.org/abs/1611.09913)."""

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Any = tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        with variable_scope(get_variable_scope(), initializer=self._initializer, auxiliary_name_scope=False):
            gate, candidate = split(linear([inputs, state], 2 * self._num_units, True), 2, 1)
        g = sigmoid(gate + self._forget_bias)
        new_state = g * state + (1 - g) * self._activation(candidate)
        return new_state, new_state


@export("contrib.rnn.IntersectionRNNCell")
class IntersectionRNNCell(RNNCell):
    """+RNN: gates in time and in depth; the output mixes in the inputs (https://arxiv.org/abs/1611.09913).

    num_in_proj: must be num_units for inputs of another size, which are then projected. Raises ValueError otherwise.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Callable[[Any], Any] = relu,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_in_proj, self._initializer = num_units, num_in_proj, initializer
        self._forget_bias, self._y_activation = forget_bias, y_activation

    @property
    def state_size(self) -> int:
        return self._num_units

    @property
    def output_size(self) -> int:
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        units = self._num_units
        with variable_scope(get_variable_scope(), initializer=self._initializer, auxiliary_name_scope=False):
            if last_size(inputs) != units:
                if self._num_in_proj is None:
                    raise ValueError(
                        "Must have input size == output size; to fix, num_in_proj should be set to num_units"
                    )
                with variable_scope("in_projection"):
                    inputs = linear(inputs, units, True)
            gate_h, h, gate_y, y = split(linear([inputs, state], 4 * units, True), 4, 1)
        keep, through = sigmoid(gate_h + self._forget_bias), sigmoid(gate_y + self._forget_bias)
        new_state = keep * state + (1 - keep) * tanh(h)
        return through * inputs + (1 - through) * self._y_activation(y), new_state


@export("contrib.rnn.NASCell")
class NASCell(RNNCell):
    """The cell found by neural architecture search (https://arxiv.org/abs/1611.01578); its state is an LSTMStateTuple.

    num_proj: the size of the output, which is then projected. use_bias: adds a bias to the output's contribution.
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_bias: bool = False,
        reuse: Any = None,
        use_biases: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias or use_biases

    @property
    def state_size(self) -> LSTMStateTuple:
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, m = state
        units, dtype = self._num_units, inputs.dtype.base_dtype
        recurrent = get_variable("recurrent_kernel", [self.output_size, 8 * units], dtype)
        of_state = matmul(m, recurrent)
        of_inputs = matmul(inputs, get_variable("kernel", [last_size(inputs), 8 * units], dtype))
        if self._use_bias:
            bias = get_variable("bias", [8 * units], dtype, zeros_initializer(dtype=dtype))
            of_state = bias_add(of_state, bias)
        s, x = split(of_state, 8, 1), split(of_inputs, 8, 1)
        first = tanh(sigmoid(x[0] + s[0]) * relu(x[1] + s[1]))
        second = tanh(sigmoid(x[2] + s[2]) + relu(x[3] * s[3]))
        third = tanh(tanh(x[4] + s[4]) * sigmoid(x[5] + s[5]))
        fourth = sigmoid(tanh(x[6] + s[6]) + sigmoid(x[7] + s[7]))
        new_c = tanh(first + c) * second
        new_m = tanh(new_c * tanh(third + fourth))
        if self._num_proj is not None:
            new_m = matmul(new_m, get_variable("projection_weights", [units, self._num_proj], dtype))
        return new_m, LSTMStateTuple(new_c, new_m)


@export("contrib.rnn.CoupledInputForgetGateLSTMCell")
class CoupledInputForgetGateLSTMCell(RNNCell):
    """LSTM that adds as much as it forgets: c' = f c + (1 - f) act(j) (https://arxiv.org/abs/1503.04069).

    use_peepholes: f and o see the memory. num_proj: the size of the output, which is then projected, and bounded by
    `proj_clip`. layer_norm: with gains and shifts instead of a bias. The variables are "W_0", "B" and "W_P_0";
    num_unit_shards and num_proj_shards: into how many parts the first and the last are split.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = tanh,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._use_peepholes, self._initializer = num_units, use_peepholes, initializer
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._forget_bias, self._state_is_tuple, self._activation = forget_bias, state_is_tuple, activation
        self._layer_norm, self._gain, self._shift = layer_norm, norm_gain, norm_shift

    @property
    def state_size(self) -> Any:
        c, h = self._num_units, self.output_size
        return LSTMStateTuple(c, h) if self._state_is_tuple else c + h

    @property
    def output_size(self) -> int:
        return self._num_proj or self._num_units

    def _norm(self, x: Tensor, scope: str) -> Tensor:
        return normalized(x, scope, self._gain, self._shift) if self._layer_norm else x

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        units, dtype, act = self._num_units, inputs.dtype.base_dtype, self._activation
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = slice_(state, [0, 0], [-1, units]), slice_(state, [0, units], [-1, self.output_size])
        with variable_scope(get_variable_scope(), initializer=self._initializer, auxiliary_name_scope=False):
            rows = last_size(inputs) + self.output_size
            gates = matmul(concat([inputs, h], 1), _sharded("W", [rows, 3 * units], dtype, self._num_unit_shards))
            if not self._layer_norm:
                gates = bias_add(gates, get_variable("B", [3 * units], dtype, zeros_initializer(dtype=dtype)))
            j, f, o = split(gates, 3, 1)
            j, f, o = self._norm(j, "transform"), self._norm(f, "forget"), self._norm(o, "output")
            if self._use_peepholes:
                f = f + get_variable("w_f_diag", [units], dtype) * c
            keep = sigmoid(f + self._forget_bias)
            new_c = self._norm(keep * c + (1 - keep) * act(j), "state")
            if self._use_peepholes:
                o = o + get_variable("w_o_diag", [units], dtype) * new_c
            new_h = sigmoid(o) * act(new_c)
            if self._num_proj is not None:
                new_h = matmul(new_h, _sharded("W_P", [units, self._num_proj], dtype, self._num_proj_shards))
                if self._proj_clip is not None:
                    new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


def _sharded(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """A matrix split by rows into variables `name_0`, `name_1`, .... Raises ValueError for more shards than rows."""
    if shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={shards}")
    rows, rest = divmod(shape[0], shards)
    parts = [get_variable(f"{name}_{i}", [rows + (i < rest), *shape[1:]], dtype) for i in range(shards)]
    return parts[0] if shards == 1 else concat(parts, 0)
