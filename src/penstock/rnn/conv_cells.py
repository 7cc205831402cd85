"""LSTMs over images and similar inputs, with convolutions for products (TF: tf.contrib.rnn.ConvLSTMCell)."""

from __future__ import annotations

from typing import Any

from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import get_variable, get_variable_scope, variable_scope
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.ops.joining import concat, split
from penstock.ops.nn.conv_functions import conv2d
from penstock.ops.nn.convolution import conv1d, conv3d
from penstock.ops.unary import sigmoid, tanh
from penstock.rnn.base import RNNCell
from penstock.rnn.cells import LSTMStateTuple
from penstock.tensor.shapes import TensorShape


@export("contrib.rnn.ConvLSTMCell")
class ConvLSTMCell(RNNCell):
    """Convolutional LSTM (https://arxiv.org/abs/1506.04214) of inputs [batch, *input_shape], channels last.

    conv_ndims: 1, 2 or 3. input_shape: without the batch. kernel_shape: that of the convolutions, without channels.
    skip_connection: concatenates the inputs to the output. initializers: those of the variables. Raises ValueError if
    `conv_ndims` and `input_shape` do not match.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Any,
        output_channels: int,
        kernel_shape: Any,
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        self._input_shape = [int(d) for d in input_shape]
        if conv_ndims != len(self._input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._conv_ndims, self._channels, self._kernel_shape = conv_ndims, output_channels, list(kernel_shape)
        self._use_bias, self._skip, self._forget_bias = use_bias, skip_connection, forget_bias
        self._initializers = initializers

    @property
    def state_size(self) -> LSTMStateTuple:
        size = TensorShape([*self._input_shape[:-1], self._channels])
        return LSTMStateTuple(size, size)

    @property
    def output_size(self) -> TensorShape:
        channels = self._channels + (self._input_shape[-1] if self._skip else 0)
        return TensorShape([*self._input_shape[:-1], channels])

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        c, h = state
        with variable_scope(get_variable_scope(), initializer=self._initializers, auxiliary_name_scope=False):
            gates = self._convolved(concat([inputs, h], self._conv_ndims + 1), 4 * self._channels)
        i, j, f, o = split(gates, 4, self._conv_ndims + 1)
        new_c = sigmoid(f + self._forget_bias) * c + sigmoid(i) * tanh(j)
        new_h = tanh(new_c) * sigmoid(o)
        output = concat([new_h, inputs], self._conv_ndims + 1) if self._skip else new_h
        return output, LSTMStateTuple(new_c, new_h)

    def _convolved(self, value: Tensor, channels: int) -> Tensor:
        """`value` convolved with a variable "kernel", plus "biases"; the size stays."""
        dtype, depth = value.dtype.base_dtype, value.shape.tuple[-1]
        kernel = get_variable("kernel", [*self._kernel_shape, depth, channels], dtype)
        if self._conv_ndims == 1:
            found = conv1d(value, kernel, 1, "SAME")
        elif self._conv_ndims == 2:
            found = conv2d(value, kernel, [1, 1, 1, 1], "SAME")
        else:
            found = conv3d(value, kernel, [1, 1, 1, 1, 1], "SAME")
        if not self._use_bias:
            return found
        return found + get_variable("biases", [channels], dtype, zeros_initializer(dtype=dtype))


@export("contrib.rnn.Conv1DLSTMCell")
class Conv1DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of inputs [batch, length, channels]."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


@export("contrib.rnn.Conv2DLSTMCell")
class Conv2DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of inputs [batch, height, width, channels]."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


@export("contrib.rnn.Conv3DLSTMCell")
class Conv3DLSTMCell(ConvLSTMCell):
    """`ConvLSTMCell` of inputs [batch, depth, height, width, channels]."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
