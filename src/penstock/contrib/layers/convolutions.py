"""Convolutions with their variables (TF: tf.contrib.layers.conv2d, …)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.client.initializers import zeros_initializer
from penstock.client.variable_scope import variable_scope
from penstock.contrib.framework.arg_scopes import add_arg_scope
from penstock.contrib.framework.variables import model_variable
from penstock.contrib.layers.initializers import xavier_initializer
from penstock.contrib.layers.scopes import RENAMED, collect_variable, finish, layer_scope, output_of
from penstock.contrib.layers.utils import channel_dimension, get_variable_collections, two_element_tuple
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.layers.convolutional import Conv1D, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose
from penstock.layers.separable import SeparableConv2D
from penstock.ops.reversing import tile

XAVIER, ZEROS = xavier_initializer(), zeros_initializer()
_KINDS = {3: Conv1D, 4: Conv2D, 5: Conv3D}


def order_of(data_format: str | None, rank: int = 0) -> str:
    """The tf.layers name. Raises ValueError for an invalid name, or one for a different rank."""
    names = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
    if data_format not in names or (rank and data_format and len(data_format) != rank):
        raise ValueError(f"Invalid data_format: {data_format!r}")
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"


@export("contrib.layers.convolution", "contrib.slim.convolution")
@add_arg_scope
def convolution(
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
    conv_dims: int | None = None,
) -> Tensor:
    """A convolution over the 1, 2 or 3 spatial dims of `inputs` (TF: tf.contrib.layers.convolution).

    inputs [n, spatial…, in] -> [n, spatial…, num_outputs]; variables "weights" [*kernel_size, in, num_outputs] and
    "biases". `kernel_size`, `stride`, `rate` (of dilation): one number or one for each dim. A `normalizer_fn` replaces
    the biases. conv_dims: the required number of spatial dims. Raises ValueError for a wrong rank or data_format, and
    if both stride and rate exceed 1.
    """
    order = order_of(data_format)
    with layer_scope(scope, "Conv", inputs, reuse, RENAMED) as opened:
        inputs = convert_to_tensor(inputs)
        rank = inputs.shape.ndims
        if rank not in _KINDS or conv_dims not in (None, rank - 2):
            wanted = "3, 4 or 5" if conv_dims is None else conv_dims + 2
            raise ValueError(f"Convolution expects input of rank {wanted}, got {inputs}")
        layer = _KINDS[rank](
            num_outputs, kernel_size, stride, padding, order, rate, None,
            normalizer_fn is None and biases_initializer is not None, weights_initializer, biases_initializer,
            weights_regularizer, biases_regularizer, trainable=trainable, dtype=inputs.dtype.base_dtype,
            _scope=opened, _reuse=reuse,
        )  # fmt: skip
        return output_of(
            layer, inputs, opened.name, variables_collections, outputs_collections, activation_fn, normalizer_fn,
            normalizer_params,
        )  # fmt: skip


def _of_dims(conv_dims: int) -> Any:
    @add_arg_scope
    def convolve(
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
        return convolution(
            inputs, num_outputs, kernel_size, stride, padding, data_format, rate, activation_fn, normalizer_fn,
            normalizer_params, weights_initializer, weights_regularizer, biases_initializer, biases_regularizer,
            reuse, variables_collections, outputs_collections, trainable, scope, conv_dims,
        )  # fmt: skip

    convolve.__name__ = convolve.__qualname__ = f"convolution{conv_dims}d"
    convolve.__doc__ = f"""`convolution` of inputs of rank {conv_dims + 2} (TF: tf.contrib.layers.conv{conv_dims}d)."""
    return convolve


convolution1d, convolution2d, convolution3d = _of_dims(1), _of_dims(2), _of_dims(3)


def _transposed(layer_type: Any, letters: str) -> Any:
    dims = layer_type.rank

    @add_arg_scope
    def convolve(
        inputs: Any,
        num_outputs: int,
        kernel_size: Any,
        stride: Any = 1,
        padding: str = "SAME",
        data_format: str = letters,
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
        order = order_of(data_format, dims + 2)
        with layer_scope(scope, f"Conv{dims}d_transpose", inputs, reuse, RENAMED) as opened:
            inputs = convert_to_tensor(inputs)
            layer = layer_type(
                num_outputs, kernel_size, stride, padding, order, activation=None,
                use_bias=normalizer_fn is None and biases_initializer is not None,
                kernel_initializer=weights_initializer, bias_initializer=biases_initializer,
                kernel_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable,
                dtype=inputs.dtype.base_dtype, _scope=opened, _reuse=reuse,
            )  # fmt: skip
            return output_of(
                layer, inputs, opened.name, variables_collections, outputs_collections, activation_fn, normalizer_fn,
                normalizer_params,
            )  # fmt: skip

    convolve.__name__ = convolve.__qualname__ = f"convolution{dims}d_transpose"
    convolve.__doc__ = f"""The transpose of a convolution (TF: tf.contrib.layers.conv{dims}d_transpose).

    Variables "weights" [*kernel_size, num_outputs, in] and "biases"; arguments as those of `convolution`. With the
    padding "SAME" spatial dims grow by `stride`.
    """
    return convolve


convolution2d_transpose = export("contrib.layers.convolution2d_transpose", "contrib.slim.convolution2d_transpose")(
    _transposed(Conv2DTranspose, "NHWC")
)
convolution3d_transpose = export("contrib.layers.convolution3d_transpose", "contrib.slim.convolution3d_transpose")(
    _transposed(Conv3DTranspose, "NDHWC")
)


@export(
    "contrib.layers.separable_conv2d",
    "contrib.layers.separable_convolution2d",
    "contrib.slim.separable_conv2d",
    "contrib.slim.separable_convolution2d",
)
@add_arg_scope
def separable_convolution2d(
    inputs: Any,
    num_outputs: int | None,
    kernel_size: Any,
    depth_multiplier: int = 1,
    stride: Any = 1,
    padding: str = "SAME",
    data_format: str = "NHWC",
    rate: Any = 1,
    activation_fn: Any = nn.relu,
    normalizer_fn: Any = None,
    normalizer_params: Any = None,
    weights_initializer: Any = XAVIER,
    pointwise_initializer: Any = None,
    weights_regularizer: Any = None,
    biases_initializer: Any = ZEROS,
    biases_regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> Tensor:
    """Convolves each channel separately, then mixes the channels (TF: tf.contrib.layers.separable_conv2d).

    Variables "depthwise_weights" [h, w, in, depth_multiplier], "pointwise_weights" and "biases". Without
    `num_outputs` (None) the channels, in * depth_multiplier, are not mixed. Arguments as for `convolution`.
    """
    order = order_of(data_format, 4)
    renamed = {"bias": "biases", "depthwise_kernel": "depthwise_weights", "pointwise_kernel": "pointwise_weights"}
    use_bias = normalizer_fn is None and biases_initializer is not None
    with layer_scope(scope, "SeparableConv2d", inputs, reuse, renamed) as opened:
        inputs = convert_to_tensor(inputs)
        dtype = inputs.dtype.base_dtype
        if num_outputs is not None:
            layer = SeparableConv2D(
                num_outputs, kernel_size, stride, padding, order, rate, depth_multiplier, use_bias=use_bias,
                depthwise_initializer=weights_initializer,
                pointwise_initializer=pointwise_initializer or weights_initializer,
                bias_initializer=biases_initializer, depthwise_regularizer=weights_regularizer,
                pointwise_regularizer=weights_regularizer, bias_regularizer=biases_regularizer, trainable=trainable,
                dtype=dtype, _scope=opened, _reuse=reuse,
            )  # fmt: skip
            outputs = layer(inputs)
            for kernel in (layer.depthwise_kernel, layer.pointwise_kernel):
                collect_variable(kernel, variables_collections, "weights")
            collect_variable(layer.bias, variables_collections, "biases")
        else:
            size = channel_dimension(inputs.shape, order, 4)
            weights = model_variable(
                "depthwise_weights", [*two_element_tuple(kernel_size), size, depth_multiplier], dtype,
                weights_initializer, weights_regularizer, trainable,
                get_variable_collections(variables_collections, "weights"),
            )  # fmt: skip
            outputs = nn.depthwise_conv2d(
                inputs, weights, two_element_tuple(stride), padding, two_element_tuple(rate), data_format=data_format
            )
            if use_bias:
                biases = model_variable(
                    "biases", [size * depth_multiplier], dtype, biases_initializer, biases_regularizer, trainable,
                    get_variable_collections(variables_collections, "biases"),
                )  # fmt: skip
                outputs = nn.bias_add(outputs, biases, data_format)
        return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


@export(
    "contrib.layers.conv2d_in_plane",
    "contrib.layers.convolution2d_in_plane",
    "contrib.slim.conv2d_in_plane",
    "contrib.slim.convolution2d_in_plane",
)
@add_arg_scope
def convolution2d_in_plane(
    inputs: Any,
    kernel_size: Any,
    stride: Any = 1,
    padding: str = "SAME",
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
    """Convolves all channels separately with one filter (TF: tf.contrib.layers.conv2d_in_plane).

    Variables "weights" [h, w, 1, 1] and "biases", one for each channel.
    """
    with variable_scope(scope, "ConvInPlane", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        dtype, size = inputs.dtype.base_dtype, channel_dimension(inputs.shape, "channels_last", 4)
        weights = model_variable(
            "weights", [*two_element_tuple(kernel_size), 1, 1], dtype, weights_initializer, weights_regularizer,
            trainable, get_variable_collections(variables_collections, "weights"),
        )  # fmt: skip
        filters = tile(weights, [1, 1, size, 1])
        outputs = nn.depthwise_conv2d(inputs, filters, two_element_tuple(stride), padding)
        if normalizer_fn is None and biases_initializer is not None:
            biases = model_variable(
                "biases", [size], dtype, biases_initializer, biases_regularizer, trainable,
                get_variable_collections(variables_collections, "biases"),
            )  # fmt: skip
            outputs = nn.bias_add(outputs, biases)
        return finish(outputs, opened.name, outputs_collections, activation_fn, normalizer_fn, normalizer_params)


conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d
conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
separable_conv2d, conv2d_in_plane = separable_convolution2d, convolution2d_in_plane
