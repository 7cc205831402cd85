"""Layers whose kernels are masked (TF: tf.contrib.model_pruning.masked_conv2d, masked_fully_connected)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.client.initializers import ones_initializer, zeros_initializer
from penstock.contrib.framework.arg_scopes import add_arg_scope
from penstock.contrib.layers.convolutions import order_of
from penstock.contrib.layers.dense import number_of
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.contrib.layers.scopes import RENAMED, layer_scope, output_of
from penstock.contrib.model_pruning.masks import MASKED_WEIGHT_NAME, collect
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.layers.base import known_channels
from penstock.layers.convolutional import Conv2D
from penstock.layers.core import Dense
from penstock.ops.arithmetic import multiply

XAVIER, ZEROS = xavier_initializer(), zeros_initializer()


def add_mask(layer: Any, shape: Any) -> Any:
    """The layer's variable "mask", ones."""
    return layer.add_variable("mask", shape=shape, initializer=ones_initializer(), trainable=False)


def masked(layer: Any, kernel: Any, mask: Any) -> tuple[Any, Tensor]:
    """The layer's variable "threshold", and its kernel times the mask; all are collected."""
    threshold = layer.add_variable("threshold", shape=[], initializer=ZEROS, trainable=False)
    found = multiply(mask, kernel, MASKED_WEIGHT_NAME)
    collect(mask, threshold, found, kernel)
    return threshold, found


class MaskedConv2D(Conv2D):
    """A convolution over inputs [n, h, w, c] whose kernel is masked."""

    def build_kernels(self, input_shape: Any) -> None:
        shape = self.kernel_shape(known_channels(input_shape, self._channels_at, self))
        self.mask = add_mask(self, shape)
        self.kernel = self.add_weight("kernel", shape, None, self.kernel_initializer, self.kernel_regularizer)
        self.threshold, self.masked_kernel = masked(self, self.kernel, self.mask)

    def convolve(self, inputs: Tensor) -> Tensor:
        return nn.convolution(
            inputs, self.masked_kernel, self._op_padding, self.strides, self.dilation_rate, data_format=self._op_format
        )


class MaskedFullyConnected(Dense):
    """activation(inputs @ (kernel * mask) + bias) along the last axis."""

    def build_kernels(self, input_shape: Any) -> None:
        shape = [known_channels(input_shape, -1, self), self.units]
        self.kernel = self.add_weight("kernel", shape, None, self.kernel_initializer, self.kernel_regularizer)
        self.mask = add_mask(self, shape)
        self.threshold, self.masked_kernel = masked(self, self.kernel, self.mask)

    @property
    def _applied_kernel(self) -> Any:
        return self.masked_kernel


@export("contrib.model_pruning.masked_convolution", "contrib.model_pruning.masked_conv2d")
@add_arg_scope
def masked_convolution(
    inputs: Any,
    num_outputs: int,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str | None = None,
    rate: Any = 1,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """`tf.contrib.layers.conv2d` with masked weights (TF: tf.contrib.model_pruning.masked_convolution).

    inputs [n, h, w, c]; also the variables "mask", of the shape of "weights", and "threshold". Raises ValueError for
    another rank, or for a data_format other than "NHWC" and "NCHW".
    """
    order = order_of(data_format)
    with layer_scope(scope, "Conv", inputs, reuse, RENAMED) as opened:
        inputs = convert_to_tensor(inputs)
        if inputs.shape.ndims != 4:
            raise ValueError(f"Sparse Convolution not supported for input with rank {inputs.shape.ndims}")
        if data_format not in (None, "NHWC", "NCHW"):
            raise ValueError(f"Unsupported data format {data_format}")
        layer = MaskedConv2D(
            num_outputs, kernel_size, stride, padding, order, rate, None,
            normalizer_fn is None and biases_initializer is not None, weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, dtype=inputs.dtype.base_dtype,
            _scope=opened, _reuse=reuse,
        )  # fmt: skip
        return output_of(
            layer, inputs, opened.name, variables_collections, outputs_collections, activation_fn, normalizer_fn,
            normalizer_params,
        )  # fmt: skip


@export("contrib.model_pruning.masked_fully_connected")
@add_arg_scope
def masked_fully_connected(
    inputs: Any,
    num_outputs: int,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """`tf.contrib.layers.fully_connected` with masked weights (TF: tf.contrib.model_pruning.masked_fully_connected).

    Also the variables "mask", of the shape of "weights", and "threshold". Raises ValueError for a `num_outputs` that is
    not an integer.
    """
    with layer_scope(scope, "fully_connected", inputs, reuse, RENAMED) as opened:
        inputs = convert_to_tensor(inputs)
        layer = MaskedFullyConnected(
            number_of(num_outputs), None, normalizer_fn is None and biases_initializer is not None, weights_initializer,
            biases_initializer, weights_regularizer, biases_regularizer, trainable=trainable,
            dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse,
        )  # fmt: skip
        return output_of(
            layer, inputs, opened.name, variables_collections, outputs_collections, activation_fn, normalizer_fn,
            normalizer_params,
        )  # fmt: skip


masked_conv2d = masked_convolution
