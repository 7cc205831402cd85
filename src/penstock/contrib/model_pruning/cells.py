"""LSTMs whose kernels are masked (TF: tf.contrib.model_pruning.MaskedBasicLSTMCell, MaskedLSTMCell)."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import variable_scope
from penstock.contrib.model_pruning.layers import add_mask, masked
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.joining import concat, split
from penstock.ops.matrix import matmul
from penstock.ops.nn.bias import bias_add
from penstock.rnn.cells import BasicLSTMCell, LSTMCell


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
        return self._next(c, gates)


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
        self._peepholes = self._projection = None
        if self._use_peepholes:
            self._peepholes = [
                self.add_variable(f"w_{gate}_diag", shape=[units], initializer=self._initializer) for gate in "fio"
            ]
        if self._num_proj is not None:
            with variable_scope("projection"):
                self._projection = self.add_variable(
                    "kernel", shape=[units, self._num_proj], initializer=self._initializer
                )
        self._mask = add_mask(self, dims)
        self._threshold, self._masked_kernel = masked(self, self._kernel, self._mask)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        c, h = self._parts(state)
        gates = bias_add(matmul(concat([inputs, h], 1), self._masked_kernel), self._bias)
        return self._next(c, gates, self._peepholes, self._projection)
