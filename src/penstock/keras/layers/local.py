"""Convolutions whose kernel is another one at each place (TF: tf.keras.layers.LocallyConnected2D)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.keras import activations, backend as K, constraints, initializers, regularizers
from penstock.keras.backend.settings import check_data_format
from penstock.keras.engine.layer import Layer
from penstock.layers.base import spatial
from penstock.tensor.shapes import TensorShape


class _Local(Layer):
    """What both have in common: kernels [places, kernel_size * channels, filters], biases [..., filters]."""

    rank: int

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        implementation: int = 1,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        if padding.lower() != "valid":
            raise ValueError(f'Invalid border mode for {type(self).__name__} (only "valid" is supported): {padding}')
        self.filters, self.padding, self.use_bias = int(filters), "valid", use_bias
        self.kernel_size = spatial(kernel_size, self.rank, "kernel_size")
        self.strides = spatial(strides, self.rank, "strides")
        self.data_format = check_data_format(data_format)
        self.activation = activations.get(activation)
        self.kernel_initializer = initializers.get(kernel_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.kernel_regularizer = regularizers.get(kernel_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.kernel_constraint = constraints.get(kernel_constraint)
        self.bias_constraint = constraints.get(bias_constraint)

    def build(self, input_shape: Any) -> None:
        sizes = TensorShape(input_shape).as_list()
        first = self.data_format == "channels_first"
        channels, places = (sizes[1], sizes[2:]) if first else (sizes[-1], sizes[1:-1])
        if channels is None or None in places:
            raise ValueError(
                f"The sizes of the inputs to {type(self).__name__} should be fully-defined, but layer received the "
                f"inputs shape {input_shape}: it has a kernel for each place."
            )
        steps: Any = zip(places, self.kernel_size, self.strides, strict=True)
        self._places = [(n - size) // stride + 1 for n, size, stride in steps]
        count, covered = 1, channels
        for n, size in zip(self._places, self.kernel_size, strict=True):
            count, covered = count * n, covered * size
        self.kernel = self.add_weight(
            "kernel", [count, covered, self.filters], None, self.kernel_initializer, self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [*self._places, self.filters], None, self.bias_initializer, self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip

    def call(self, inputs: Any) -> Any:
        outputs = self.convolve(inputs)
        if self.bias is not None:
            outputs = K.bias_add(outputs, self.bias, self.data_format)
        return self.activation(outputs)

    def convolve(self, inputs: Any) -> Any:
        """The products of patches and their kernels."""
        raise NotImplementedError


@export("keras.layers.LocallyConnected1D")
class LocallyConnected1D(_Local):
    """Over inputs [n, w, c]; `w` must be known."""

    rank = 1

    def convolve(self, inputs: Any) -> Any:
        return K.local_conv1d(inputs, self.kernel, self.kernel_size, self.strides, self.data_format)


@export("keras.layers.LocallyConnected2D")
class LocallyConnected2D(_Local):
    """Over inputs [n, h, w, c]; `h` and `w` must be known."""

    rank = 2

    def convolve(self, inputs: Any) -> Any:
        return K.local_conv2d(inputs, self.kernel, self.kernel_size, self.strides, self._places, self.data_format)
