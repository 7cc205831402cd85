"""Convolutions (TF: tf.layers.Conv1D, Conv2D, Conv3D, Conv2DTranspose, Conv3DTranspose)."""

from __future__ import annotations

from typing import Any

from penstock import nn
from penstock.api.named import named
from penstock.client.initializers import zeros_initializer
from penstock.export import export
from penstock.graph.operation import Tensor
from penstock.graph.scopes import more_nodes
from penstock.layers.base import known_channels, spatial
from penstock.layers.windows import Windows
from penstock.ops.array import shape as shape_of_tensor
from penstock.ops.nn.convolution import convolution
from penstock.ops.padding import pad
from penstock.ops.stacking import stack
from penstock.tensor.shapes import TensorShape


class _Conv(Windows):
    """A convolution over `rank` spatial dims: kernel [*kernel_size, in, filters], bias [filters]."""

    def __init__(
        self,
        filters: int | None,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        activation: Any = None,
        use_bias: bool = True,
        kernel_initializer: Any = None,
        bias_initializer: Any = zeros_initializer(),  # noqa: B008 (it has no state)
        kernel_regularizer: Any = None,
        bias_regularizer: Any = None,
        activity_regularizer: Any = None,
        kernel_constraint: Any = None,
        bias_constraint: Any = None,
        trainable: bool = True,
        name: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(trainable, name, activity_regularizer=activity_regularizer, **kwargs)
        self.filters: Any = None if filters is None else int(filters)  # layers of programs that have no filters, say so
        self.kernel_size = spatial(kernel_size, self.rank, "kernel_size")
        self.strides = spatial(strides, self.rank, "strides")
        self.dilation_rate = spatial(dilation_rate, self.rank, "dilation_rate")
        self._set_windows(padding, data_format)
        self.activation, self.use_bias = named("activations", activation), use_bias
        self.kernel_initializer, self.bias_initializer = kernel_initializer, bias_initializer
        self.kernel_regularizer, self.bias_regularizer = kernel_regularizer, bias_regularizer
        self.kernel_constraint, self.bias_constraint = kernel_constraint, bias_constraint

    def _padded_before(self, inputs: Tensor) -> Tensor:
        """Inputs [n, w, c] with as many zeros before them as a causal convolution looks back."""
        if self.padding != "causal":
            return inputs
        before = [[0, 0], [self.dilation_rate[0] * (self.kernel_size[0] - 1), 0]]
        return pad(inputs, [*before, [0, 0]] if self._channels_at == 2 else [[0, 0], *before])

    def kernel_shape(self, channels: int) -> list[Any]:
        return [*self.kernel_size, channels, self.filters]

    def build(self, input_shape: Any) -> None:
        input_shape = TensorShape(input_shape)
        if input_shape.ndims is not None and input_shape.ndims != self.rank + 2:
            raise ValueError(f"{type(self).__name__} takes inputs of rank {self.rank + 2}, got shape {input_shape}")
        self.build_kernels(input_shape)
        self.bias = None
        if self.use_bias:
            self.bias = self.add_weight(
                "bias", [self.filters], None, self.bias_initializer, self.bias_regularizer,
                constraint=self.bias_constraint,
            )  # fmt: skip

    def build_kernels(self, input_shape: Any) -> None:
        shape = self.kernel_shape(known_channels(input_shape, self._channels_at, self))
        self.kernel = self.add_weight(
            "kernel", shape, None, self.kernel_initializer, self.kernel_regularizer, constraint=self.kernel_constraint
        )

    def convolve(self, inputs: Tensor) -> Tensor:
        name = "conv1d" if self.rank == 1 else f"Conv{self.rank}D"
        more_nodes(1)  # the dilation, a constant that nothing uses
        return convolution(
            inputs, self.kernel, self._op_padding, self.strides, self.dilation_rate, name, data_format=self._op_format
        )

    def call(self, inputs: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        outputs = self.convolve(self._padded_before(inputs))
        if self.bias is not None:
            outputs = nn.bias_add(outputs, self.bias, "NCHW" if self._channels_at == 1 else "NHWC")
        return outputs if self.activation is None else self.activation(outputs)


@export("layers.Conv1D")
class Conv1D(_Conv):
    """Over inputs [n, w, c] (TF: tf.layers.Conv1D). Padding "causal" looks only back."""

    rank = 1
    paddings = ("same", "valid", "causal")


@export("layers.Conv2D")
class Conv2D(_Conv):
    """Over inputs [n, h, w, c] (TF: tf.layers.Conv2D)."""


@export("layers.Conv3D")
class Conv3D(_Conv):
    """Over inputs [n, d, h, w, c] (TF: tf.layers.Conv3D)."""

    rank = 3


class _ConvTranspose(_Conv):
    """The gradient of a convolution as a layer: kernel [*kernel_size, filters, in]."""

    transpose: Any = staticmethod(nn.conv2d_transpose)
    output_padding: Any = None
    """Of each spatial dimension, how much longer the output is than what the input was at least a convolution of."""

    def kernel_shape(self, channels: int) -> list[int]:
        return [*self.kernel_size, self.filters, channels]

    def _extra(self, axis: int, kernel: int, stride: int) -> int:
        """How much longer the output is than `stride` times the input."""
        if self.output_padding is not None:
            return kernel - stride + int(self.output_padding[axis]) - (kernel // 2 * 2 if self.padding == "same" else 0)
        return max(kernel - stride, 0) if self.padding == "valid" else 0

    def convolve(self, inputs: Tensor) -> Tensor:
        first = 2 if self._channels_at == 1 else 1
        dims = shape_of_tensor(inputs)
        known: list[Any] = inputs.shape.as_list()
        size: list[Any] = [dims[0]]
        static: list[Any] = [known[0]]
        for i, (kernel, stride) in enumerate(zip(self.kernel_size, self.strides, strict=True)):
            extra = self._extra(i, kernel, stride)
            more_nodes(2 if self.padding == "valid" else 0)
            size.append(dims[first + i] * stride + extra)
            static.append(None if known[first + i] is None else known[first + i] * stride + extra)
        size.insert(self._channels_at, self.filters)
        static.insert(self._channels_at, self.filters)
        strides = [1, *self.strides]
        strides.insert(self._channels_at, 1)
        outputs = self.transpose(
            inputs, self.kernel, stack(size), strides, self._op_padding, data_format=self._op_format
        )
        outputs.set_shape(static)
        return outputs


@export("layers.Conv2DTranspose")
class Conv2DTranspose(_ConvTranspose):
    """Inputs [n, h, w, c], kernel [h, w, filters, c] (TF: tf.layers.Conv2DTranspose)."""


@export("layers.Conv3DTranspose")
class Conv3DTranspose(_ConvTranspose):
    """Inputs [n, d, h, w, c], kernel [d, h, w, filters, c] (TF: tf.layers.Conv3DTranspose)."""

    rank = 3
    transpose = staticmethod(nn.conv3d_transpose)


def _function(layer: type[_Conv], what: str) -> Any:
    def apply(inputs: Any, filters: int, kernel_size: Any, *args: Any, reuse: Any = None, **kwargs: Any) -> Tensor:
        return layer(filters, kernel_size, *args, _reuse=reuse, _scope=kwargs.get("name"), **kwargs)(inputs)

    apply.__name__ = apply.__qualname__ = what
    apply.__doc__ = f"""The layer {layer.__name__} applied to `inputs` (TF: tf.layers.{what}).

    Further arguments are the layer's: strides, padding ("valid", "same"), data_format, activation, use_bias,
    kernel_initializer and so on, name; `reuse` shares variables with an earlier call of that name.
    """
    return apply


conv1d = export("layers.conv1d")(_function(Conv1D, "conv1d"))
conv2d = export("layers.conv2d")(_function(Conv2D, "conv2d"))
conv3d = export("layers.conv3d")(_function(Conv3D, "conv3d"))


@export("layers.conv2d_transpose")
def conv2d_transpose(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = 1, padding: str = "valid",
    data_format: str = "channels_last", activation: Any = None, reuse: Any = None, **kwargs: Any,
) -> Tensor:  # fmt: skip
    """The layer Conv2DTranspose applied to `inputs` [n, h, w, c] (TF: tf.layers.conv2d_transpose)."""
    layer = Conv2DTranspose(
        filters,
        kernel_size,
        strides,
        padding,
        data_format,
        activation=activation,
        _reuse=reuse,
        _scope=kwargs.get("name"),
        **kwargs,
    )
    return layer(inputs)


@export("layers.conv3d_transpose")
def conv3d_transpose(
    inputs: Any, filters: int, kernel_size: Any, strides: Any = (1, 1, 1), padding: str = "valid",
    data_format: str = "channels_last", activation: Any = None, use_bias: bool = True, reuse: Any = None,
    **kwargs: Any,
) -> Tensor:  # fmt: skip
    """The layer Conv3DTranspose applied to `inputs` [n, d, h, w, c] (TF: tf.layers.conv3d_transpose)."""
    layer = Conv3DTranspose(
        filters, kernel_size, strides, padding, data_format, activation=activation, use_bias=use_bias, _reuse=reuse,
        _scope=kwargs.get("name"), **kwargs,
    )  # fmt: skip
    return layer(inputs)


Convolution1D, Convolution2D, Convolution3D = Conv1D, Conv2D, Conv3D
Convolution2DTranspose, Deconvolution2D, Deconv2D = Conv2DTranspose, Conv2DTranspose, Conv2DTranspose
Convolution3DTranspose, Deconvolution3D, Deconv3D = Conv3DTranspose, Conv3DTranspose, Conv3DTranspose
