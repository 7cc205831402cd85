"""An LSTM whose products are convolutions (TF: tf.keras.layers.ConvLSTM2D), after Shi et al. (2015)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.keras import backend as K
from penstock.keras.backend.settings import check_data_format
from penstock.keras.layers.cells import LSTMCell
from penstock.keras.layers.recurrent import OfCell
from penstock.layers.base import known_channels, spatial
from penstock.ops.array import reshape, shape
from penstock.ops.joining import concat, split
from penstock.tensor.shapes import TensorShape


class ConvLSTM2DCell(LSTMCell):
    """A step over images [n, h, w, c]. The convolution of the inputs may shrink them, that of the states does not."""

    _rank_of_step = 4

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = (1, 1),
        activation: Any = "tanh",
        recurrent_activation: Any = "hard_sigmoid",
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        recurrent_initializer: Any = "orthogonal",
        bias_initializer: Any = "zeros",
        unit_forget_bias: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, activation, recurrent_activation, use_bias, kernel_initializer, recurrent_initializer,
            bias_initializer, unit_forget_bias, **kwargs,
        )  # fmt: skip
        self.filters = self.units
        self.kernel_size = spatial(kernel_size, 2, "kernel_size")
        self.strides = spatial(strides, 2, "strides")
        self.dilation_rate = spatial(dilation_rate, 2, "dilation_rate")
        self.padding, self.data_format = padding.lower(), check_data_format(data_format)
        self._channels = 1 if self.data_format == "channels_first" else 3

    def build(self, input_shape: Any) -> None:
        channels = known_channels(TensorShape(input_shape), self._channels, self)
        self.kernel = self.add_weight(
            "kernel", [*self.kernel_size, channels, self.filters * 4], None, self.kernel_initializer,
            self.kernel_regularizer, constraint=self.kernel_constraint,
        )  # fmt: skip
        self.recurrent_kernel = self.add_weight(
            "recurrent_kernel", [*self.kernel_size, self.filters, self.filters * 4], None, self.recurrent_initializer,
            self.recurrent_regularizer, constraint=self.recurrent_constraint,
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.filters * 4], None, self._initial_bias(), self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip

    def sizes_of_states(self, step: list[Any]) -> list[list[Any]]:
        first = self._channels == 1
        images = step[1:] if first else step[:-1]
        sizes = [self._size(n, i) for i, n in enumerate(images)]
        return [[self.filters, *sizes] if first else [*sizes, self.filters]] * 2

    def _size(self, n: Any, axis: int) -> Any:
        """The size of the convolved inputs; of an int or a scalar tensor."""
        if n is None:
            return None
        covered = 1 if self.padding == "same" else (self.kernel_size[axis] - 1) * self.dilation_rate[axis] + 1
        return (n - covered) // self.strides[axis] + 1

    def project(self, inputs: Any, training: Any = None) -> Any:
        """The convolution of one step's images, or of those of a whole sequence, as one batch."""
        parts = self._without("inputs", inputs, self.dropout, training)
        kernels = [self.kernel] if len(parts) == 1 else split(self.kernel, 4, 3)
        steps = inputs.shape.ndims == 5
        if steps:
            sizes = inputs.shape.as_list()
            rest = [shape(inputs)[i] if n is None else n for i, n in enumerate(sizes)][2:]
            parts = [reshape(x, [-1, *rest]) for x in parts]
        convolved = [
            K.conv2d(x, kernel, self.strides, self.padding, self.data_format, self.dilation_rate)
            for x, kernel in zip(parts, kernels, strict=True)
        ]
        outputs = concat(convolved, self._channels) if len(parts) > 1 else convolved[0]
        if self.bias is not None:
            outputs = nn.bias_add(outputs, self.bias, "NCHW" if self._channels == 1 else "NHWC")
        if not steps:
            return outputs
        of_step, dims = outputs.shape.as_list()[1:], shape(outputs)
        first = [shape(inputs)[i] if n is None else n for i, n in enumerate(sizes[:2])]
        return reshape(outputs, [*first, *(dims[i + 1] if n is None else n for i, n in enumerate(of_step))])

    def _from_output(self, h: Any, training: Any) -> Any:
        parts = self._recurrent(h, training)
        kernels = [self.recurrent_kernel] if len(parts) == 1 else split(self.recurrent_kernel, 4, 3)
        convolved = [
            K.conv2d(x, kernel, padding="same", data_format=self.data_format)
            for x, kernel in zip(parts, kernels, strict=True)
        ]
        return concat(convolved, self._channels) if len(parts) > 1 else convolved[0]

    def _sizes_of_mask(self, like: Any) -> list[Any]:
        dims = shape(like)
        return [1 if i == 1 and like.shape.ndims == 5 else dims[i] for i in range(like.shape.ndims)]


@export("keras.layers.ConvLSTM2D")
class ConvLSTM2D(OfCell):
    """`LSTM` over sequences of images [n, time, h, w, c]; its arguments, and those of Conv2D."""

    kind = ConvLSTM2DCell
