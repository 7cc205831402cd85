"""Separable convolutions: each channel separately, then a mix of the channels (TF: tf.layers.SeparableConv2D)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.client.initializers import zeros_initializer
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.layers.base import known_channels
from penstock.layers.convolutional import _Conv
from penstock.ops.array import expand_dims, squeeze


class _SeparableConv(_Conv):
    """depthwise_kernel [*kernel_size, in, depth_multiplier], pointwise_kernel [1…, in * depth_multiplier, filters]."""

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = zeros_initializer(),  # noqa: B008 (it has no state)
        depthwise_regularizer: Any = None,
        pointwise_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        depthwise_constraint: Any = None,
        pointwise_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
            bias_initializer=bias_initializer, bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer, bias_constraint=bias_constraint, trainable=trainable,
            name=name, **kwargs,
        )  # fmt: skip
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer, self.pointwise_initializer = depthwise_initializer, pointwise_initializer
        self.depthwise_regularizer, self.pointwise_regularizer = depthwise_regularizer, pointwise_regularizer
        self.depthwise_constraint, self.pointwise_constraint = depthwise_constraint, pointwise_constraint

    def build_kernels(self, input_shape: Any) -> None:
        channels = known_channels(input_shape, self._channels_at, self)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel", [*self.kernel_size, channels, self.depth_multiplier], None,
            self.depthwise_initializer, self.depthwise_regularizer, constraint=self.depthwise_constraint,
        )  # fmt: skip
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel", [1] * self.rank + [channels * self.depth_multiplier, self.filters], None,
            self.pointwise_initializer, self.pointwise_regularizer, constraint=self.pointwise_constraint,
        )  # fmt: skip


@export("layers.SeparableConv1D")
class SeparableConv1D(_SeparableConv):
    """Over inputs [n, w, c] (TF: tf.layers.SeparableConv1D)."""

    rank = 1
    paddings = ("same", "valid", "causal")

    def convolve(self, inputs: Tensor) -> Tensor:
        # An image of one row; its two strides must be equal.
        row = 2 if self._channels_at == 1 else 1
        outputs = nn.separable_conv2d(
            expand_dims(inputs, row),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            [1, 1, *self.strides * 2] if self._channels_at == 1 else [1, *self.strides * 2, 1],
            self._op_padding,
            [1, *self.dilation_rate],
            data_format="NCHW" if self._channels_at == 1 else "NHWC",
        )
        return squeeze(outputs, [row])


@export("layers.SeparableConv2D")
class SeparableConv2D(_SeparableConv):
    """Over inputs [n, h, w, c] (TF: tf.layers.SeparableConv2D)."""

    def convolve(self, inputs: Tensor) -> Tensor:
        strides = [1, 1, *self.strides] if self._channels_at == 1 else [1, *self.strides, 1]
        return nn.separable_conv2d(
            inputs, self.depthwise_kernel, self.pointwise_kernel, strides, self._op_padding, self.dilation_rate,
            data_format=self._op_format,
        )  # fmt: skip


SeparableConvolution1D, SeparableConvolution2D = SeparableConv1D, SeparableConv2D


def _function(layer: type[_SeparableConv], what: str) -> Any:
    def apply(inputs: Any, filters: int, kernel_size: Any, *args: Any, reuse: Any = None, **kwargs: Any) -> Tensor:
        return layer(filters, kernel_size, *args, _reuse=reuse, _scope=kwargs.get("name"), **kwargs)(inputs)

    apply.__name__ = apply.__qualname__ = what
    apply.__doc__ = f"""The layer {layer.__name__} applied to `inputs` (TF: tf.layers.{what}).

    Further arguments are the layer's: strides, padding ("valid", "same"), data_format, dilation_rate,
    depth_multiplier, activation, use_bias, depthwise_initializer and so on, name; `reuse` shares variables.
    """
    return apply


separable_conv1d = export("layers.separable_conv1d")(_function(SeparableConv1D, "separable_conv1d"))
separable_conv2d = export("layers.separable_conv2d")(_function(SeparableConv2D, "separable_conv2d"))
