"""Convolutions (TF: tf.keras.layers.Conv2D, ...): those of tf.layers, with Keras' arguments."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.export import export
from penstock.graph.scopes import more_nodes
from penstock.keras import activations, backend as K, constraints, initializers, regularizers
from penstock.keras.backend.settings import check_data_format
from penstock.keras.engine.layer import Layer
from penstock.layers import convolutional, separable
from penstock.layers.base import known_channels, spatial
from penstock.tensor.shapes import TensorShape


class _Keras:
    """The arguments of Keras' convolutions."""

    kernel_size: Any
    strides: Any

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            filters, kernel_size, strides, padding, check_data_format(data_format),
            dilation_rate, activations.get(activation), use_bias, initializers.get(kernel_initializer),
            initializers.get(bias_initializer), regularizers.get(kernel_regularizer),
            regularizers.get(bias_regularizer), regularizers.get(activity_regularizer),
            constraints.get(kernel_constraint), constraints.get(bias_constraint), **kwargs,
        )  # fmt: skip

    transposed = False

    def build(self, input_shape: Any) -> None:
        super().build(TensorShape(input_shape))  # type: ignore[misc]
        more_nodes(0 if self.transposed else 1)  # the dilation

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        more_nodes(1 + self.use_bias)  # type: ignore[attr-defined]  # weights are read
        if not self.transposed:  # the dilation is there already; TensorFlow pads and cuts by nodes of their own
            more_nodes(9 if max(self.dilation_rate) > 1 else -1)  # type: ignore[attr-defined]
        return super().call(inputs, *args, **kwargs)  # type: ignore[misc]


@export("keras.layers.Conv1D", "keras.layers.Convolution1D")
class Conv1D(_Keras, convolutional.Conv1D, Layer):
    """Over inputs [n, w, c]. Padding "causal" looks only back."""


@export("keras.layers.Conv2D", "keras.layers.Convolution2D")
class Conv2D(_Keras, convolutional.Conv2D, Layer):
    """Over inputs [n, h, w, c]."""


@export("keras.layers.Conv3D", "keras.layers.Convolution3D")
class Conv3D(_Keras, convolutional.Conv3D, Layer):
    """Over inputs [n, d, h, w, c]."""


class _KerasTransposed(_Keras):
    """The arguments of Keras' transposed convolutions."""

    transposed = True

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        output_padding: Any = None,
        data_format: str | None = None,
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            kernel_initializer, bias_initializer, kernel_regularizer, bias_regularizer, activity_regularizer,
            kernel_constraint, bias_constraint, **kwargs,
        )  # fmt: skip
        if output_padding is not None:
            self.output_padding = spatial(output_padding, len(self.kernel_size), "output_padding")
            if any(extra >= stride for extra, stride in zip(self.output_padding, self.strides, strict=True)):
                raise ValueError(f"Stride {self.strides} must be greater than output padding {self.output_padding}")


@export(
    "keras.layers.Conv2DTranspose", "keras.layers.Convolution2DTranspose", "keras.layers.Deconvolution2D",
)  # fmt: skip
class Conv2DTranspose(_KerasTransposed, convolutional.Conv2DTranspose, Layer):
    """The gradient of a convolution as a layer: inputs [n, h, w, c], kernel [h, w, filters, c]."""

    def transpose(self, x: Any, kernel: Any, size: Any, *_: Any, **__: Any) -> Any:
        """The convolution, with a dilation if there is one."""
        return K.conv2d_transpose(x, kernel, size, self.strides, self.padding, self.data_format, self.dilation_rate)

    def _extra(self, axis: int, kernel: int, stride: int) -> int:
        return super()._extra(axis, kernel + (kernel - 1) * (self.dilation_rate[axis] - 1), stride)


@export("keras.layers.Conv3DTranspose", "keras.layers.Convolution3DTranspose")
class Conv3DTranspose(_KerasTransposed, convolutional.Conv3DTranspose, Layer):
    """The gradient of a convolution as a layer: inputs [n, d, h, w, c], kernel [d, h, w, filters, c]."""


class _KerasSeparable:
    """The arguments of Keras' separable convolutions."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str | None = None,
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        pointwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(  # type: ignore[call-arg]
            filters, kernel_size, strides, padding, check_data_format(data_format), dilation_rate, depth_multiplier,
            activations.get(activation), use_bias, initializers.get(depthwise_initializer),
            initializers.get(pointwise_initializer), initializers.get(bias_initializer),
            regularizers.get(depthwise_regularizer), regularizers.get(pointwise_regularizer),
            regularizers.get(bias_regularizer), regularizers.get(activity_regularizer),
            constraints.get(depthwise_constraint), constraints.get(pointwise_constraint),
            constraints.get(bias_constraint), **kwargs,
        )  # fmt: skip

    def build(self, input_shape: Any) -> None:
        super().build(TensorShape(input_shape))  # type: ignore[misc]

    def call(self, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        more_nodes(2 + self.use_bias)  # type: ignore[attr-defined]  # weights are read
        return super().call(inputs, *args, **kwargs)  # type: ignore[misc]


@export("keras.layers.SeparableConv1D", "keras.layers.SeparableConvolution1D")
class SeparableConv1D(_KerasSeparable, separable.SeparableConv1D, Layer):
    """Over inputs [n, w, c]: each channel separately, then a mix of the channels."""


@export("keras.layers.SeparableConv2D", "keras.layers.SeparableConvolution2D")
class SeparableConv2D(_KerasSeparable, separable.SeparableConv2D, Layer):
    """Over inputs [n, h, w, c]: each channel separately, then a mix of the channels."""


@export("keras.layers.DepthwiseConv2D")
class DepthwiseConv2D(Layer):
    """Each channel of images separately: `depth_multiplier` results for each."""

    def __init__(
        self,
        kernel_size: Any,
        strides: Any = (1, 1),
        padding: str = "valid",
        depth_multiplier: int = 1,
        data_format: str | None = None,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = "glorot_uniform",
        bias_initializer: Any = "zeros",
        depthwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        bias_constraint: Any = None,
        dilation_rate: Any = (1, 1),
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=regularizers.get(activity_regularizer), **kwargs)
        self.kernel_size = spatial(kernel_size, 2, "kernel_size")
        self.strides = spatial(strides, 2, "strides")
        self.dilation_rate = spatial(dilation_rate, 2, "dilation_rate")
        self.padding, self.depth_multiplier = padding.lower(), depth_multiplier
        self.data_format = check_data_format(data_format)
        self.activation, self.use_bias = activations.get(activation), use_bias
        self.depthwise_initializer = initializers.get(depthwise_initializer)
        self.bias_initializer = initializers.get(bias_initializer)
        self.depthwise_regularizer = regularizers.get(depthwise_regularizer)
        self.bias_regularizer = regularizers.get(bias_regularizer)
        self.depthwise_constraint = constraints.get(depthwise_constraint)
        self.bias_constraint = constraints.get(bias_constraint)

    def build(self, input_shape: Any) -> None:
        channels = known_channels(TensorShape(input_shape), 1 if self.data_format == "channels_first" else 3, self)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier], None,
            self.depthwise_initializer, self.depthwise_regularizer, constraint=self.depthwise_constraint,
        )  # fmt: skip
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [channels * self.depth_multiplier], None, self.bias_initializer, self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip

    def call(self, inputs: Any) -> Any:
        more_nodes(1 + self.use_bias)  # weights are read
        first = self.data_format == "channels_first"
        layout = "NCHW" if first else "NHWC"
        strides = [1, 1, *self.strides] if first else [1, *self.strides, 1]
        outputs = nn.depthwise_conv2d(
            inputs, self.depthwise_kernel, strides, self.padding.upper(), self.dilation_rate, data_format=layout
        )
        if self.bias is not None:
            outputs = nn.bias_add(outputs, self.bias, layout)
        return self.activation(outputs)
