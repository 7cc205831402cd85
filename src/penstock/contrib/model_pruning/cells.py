"""LSTMs whose kernels are masked (TF: tf.contrib.model_pruning.MaskedBasicLSTMCell, MaskedLSTMCell)."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import variable_scope
from penstock.contrib.model_pruning.layers import add_mask, masked
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.arithmetic import add, multiply
from penstock.ops.clip import clip_by_value
from penstock.ops.joining import concat, split
from penstock.ops.matrix import matmul
from penstock.ops.nn.bias import bias_add
from penstock.ops.slicing import slice as slice_
from penstock.ops.unary import sigmoid
from penstock.rnn.cells import BasicLSTMCell, LSTMCell, LSTMStateTuple


@export("contrib.model_pruning.MaskedBasicLSTMCell")
class MaskedBasicLSTMCell(BasicLSTMCell):
    """A BasicLSTMCell with a masked kernel: also the variables "mask" and "threshold"."""

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(num_units, forget_bias, state_is_tuple, activation, reuse, name)

    def build(self, inputs_shape: Any) -> None:
        dims = [inputs_shape[-1].value + self._num_units, 4 * self._num_units]
        self._kernel = self.add_variable("kernel", shape=dims)
        self._bias = self.add_variable("bias", shape=dims[1:], initializer=zeros_initializer())
        self._mask = add_mask(self, dims)
        self._threshold, self._masked_kernel = masked(self, self._kernel, self._mask)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        c, h = state if self._state_is_tuple else split(state, 2, 1)
        gates = bias_add(matmul(concat([inputs, h], 1), self._masked_kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        kept = multiply(c, sigmoid(add(f, self._forget_bias)))
        new_c = add(kept, multiply(sigmoid(i), self._activation(j)))
        new_h = multiply(self._activation(new_c), sigmoid(o))
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)


@export("contrib.model_pruning.MaskedLSTMCell")
class MaskedLSTMCell(LSTMCell):
    """An LSTMCell with a masked kernel (not that of the projection): also the variables "mask" and "threshold"."""

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(
            num_units, use_peepholes, cell_clip, initializer, num_proj, proj_clip, num_unit_shards, num_proj_shards,
            forget_bias, state_is_tuple, activation, reuse,
        )  # fmt: skip

    def build(self, inputs_shape: Any) -> None:
        units = self._num_units
        dims = [inputs_shape[-1].value + self.output_size, 4 * units]
        self._kernel = self.add_variable("kernel", shape=dims, initializer=self._initializer)
        self._bias = self.add_variable("bias", shape=dims[1:], initializer=zeros_initializer())
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_variable(f"w_{gate}_diag", shape=[units], initializer=self._initializer) for gate in "fio"
            )
        if self._num_proj is not None:
            with variable_scope("projection"):
                self._proj_kernel = self.add_variable(
                    "kernel", shape=[units, self._num_proj], initializer=self._initializer
                )
        self._mask = add_mask(self, dims)
        self._threshold, self._masked_kernel = masked(self, self._kernel, self._mask)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        units, act = self._num_units, self._activation
        if self._state_is_tuple:
            c, h = state
        else:
            c, h = slice_(state, [0, 0], [-1, units]), slice_(state, [0, units], [-1, self.output_size])
        gates = bias_add(matmul(concat([inputs, h], 1), self._masked_kernel), self._bias)
        i, j, f, o = split(gates, 4, 1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f_diag * c, i + self._w_i_diag * c
        new_c = sigmoid(f) * c + sigmoid(i) * act(j)
        if self._cell_clip is not None:
            new_c = clip_by_value(new_c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + self._w_o_diag * new_c
        new_h = sigmoid(o) * act(new_c)
        if self._num_proj is not None:
            new_h = matmul(new_h, self._proj_kernel)
            if self._proj_clip is not None:
                new_h = clip_by_value(new_h, -self._proj_clip, self._proj_clip)
        return new_h, LSTMStateTuple(new_c, new_h) if self._state_is_tuple else concat([new_c, new_h], 1)
