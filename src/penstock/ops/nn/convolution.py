"""Public functions of convolutions in 1, 2 and 3 dims (TF: tf.nn.convolution, conv1d, conv3d)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.nn.conv import CONV_2D, CONV_3D, CONV_3D_BACKPROP_FILTER, CONV_3D_BACKPROP_INPUT
from penstock.ops.nn.conv_functions import check_dilation, padding_attrs, spread
from penstock.ops.nn.softmax import either


@export("nn.convolution")
def convolution(
    input: Any,
    filter: Any,
    padding: str,
    strides: Any = None,
    dilation_rate: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolve in 1, 2 or 3 dims (TF: tf.nn.convolution).

    input [n, spatial…, in], filter [spatial…, in, out] -> [n, spatial…, out]; channels come second if
    `data_format` starts with "NC". `strides` and `dilation_rate` per spatial dim; raises ValueError if both exceed 1,
    or for mismatched ranks.
    """
    w = convert_to_tensor(either("filters", filters, "filter", filter), name="filter")
    x = convert_to_tensor(input, name="input")
    rank = _spatial_rank(x, w)
    with name_scope(name, "convolution", [x, w]) as scope:
        steps = _per_dim(strides, rank, "strides")
        rates = _per_dim(either("dilations", dilations, "dilation_rate", dilation_rate), rank, "dilation_rate")
        check_dilation(steps, rates)
        return _convolve(x, w, steps, rates, padding, (data_format or "").startswith("NC"), scope)


def _spatial_rank(x: Tensor, w: Tensor) -> int:
    rank = w.shape.ndims or x.shape.ndims
    if rank is None:
        raise ValueError("rank of input or filter must be known")
    x.shape.assert_has_rank(rank)
    w.shape.assert_has_rank(rank)
    if rank not in (3, 4, 5):
        raise ValueError(f"`input` must have 1, 2 or 3 spatial dimensions, but its rank is {rank}")
    return rank - 2


def _per_dim(value: Any, rank: int, name: str) -> list[int]:
    found = (
        [1] * rank if value is None else [int(v) for v in value] if hasattr(value, "__iter__") else [int(value)] * rank
    )
    if len(found) != rank or min(found) < 1:
        raise ValueError(f"{name} must be {rank} positive numbers, got {value}")
    return found


def _convolve(
    x: Tensor, w: Tensor, strides: list[int], rates: list[int], padding: Any, channels_first: bool, scope: str
) -> Tensor:
    rank = len(strides)
    if rank == 1:
        axis = 2 if channels_first else 1
        x, w = get_op("ExpandDims")(x, axis), get_op("ExpandDims")(w, 0)
        strides, rates = [1, *strides], [1, *rates]
    layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[max(rank, 2)][channels_first]
    attrs = {
        "strides": [1, 1, *strides] if channels_first else [1, *strides, 1],
        "dilations": [1, 1, *rates] if channels_first else [1, *rates, 1],
        "data_format": layout,
        **padding_attrs(padding),
    }
    found = (CONV_3D if rank == 3 else CONV_2D)(x, w, name=scope, **attrs)
    return get_op("Squeeze")(found, squeeze_dims=[axis]) if rank == 1 else found


@export("nn.atrous_conv2d")
def atrous_conv2d(value: Any, filters: Any, rate: int, padding: str, name: str | None = None) -> Tensor:
    """`conv2d` with `rate` - 1 zeros between the filter's elements (TF: tf.nn.atrous_conv2d)."""
    return convolution(value, filters, padding, dilation_rate=[rate, rate], name=name)


@export("nn.conv1d")
def conv1d(
    value: Any = None,
    filters: Any = None,
    stride: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Convolve sequences: value [n, w, in], filters [fw, in, out] -> [n, w', out] (TF: tf.nn.conv1d).

    `data_format` is "NWC" (or its older name "NHWC") or "NCW" ("NCHW").
    """
    x, w = either("input", input, "value", value), filters
    with name_scope(name, "conv1d", [x, w]) as scope:
        if data_format not in (None, "NWC", "NHWC", "NCW", "NCHW"):
            raise ValueError(f'data_format must be "NWC" or "NCW", got {data_format!r}')
        x, w = convert_to_tensor(x, name="value"), convert_to_tensor(w, name="filters")
        steps, rates = _single(stride, "stride"), _single(dilations, "dilations")
        return _convolve(x, w, [steps], [rates], padding, data_format in ("NCW", "NCHW"), scope)


def _single(value: Any, name: str) -> int:
    """One number, which may be given as a list of one, or of one for each of the three dims."""
    numbers = [1] if value is None else list(value) if hasattr(value, "__iter__") else [value]
    if len(numbers) == 3:
        numbers = [max(numbers)]
    if len(numbers) != 1:
        raise ValueError(f"{name} should be of length 1 or 3, got {value}")
    return int(numbers[0])


# --- 3-D ------------------------------------------------------------------------------------------------


@export("nn.conv3d")
def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolve volumes: input [n, d, h, w, in], filter [fd, fh, fw, in, out] (TF: tf.nn.conv3d)."""
    return CONV_3D(
        input,
        either("filters", filters, "filter", filter),
        strides=spread(strides, 3, data_format, "strides"),
        dilations=spread(dilations, 3, data_format, "dilations"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


@export("nn.conv3d_backprop_filter")
def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    dilations: Any = (1, 1, 1, 1, 1),
    name: str | None = None,
) -> Tensor:
    """The gradient of `conv3d` with respect to its filter (TF: tf.nn.conv3d_backprop_filter, …_v2)."""
    return CONV_3D_BACKPROP_FILTER(
        input,
        filter_sizes,
        out_backprop,
        strides=spread(strides, 3, data_format, "strides"),
        dilations=spread(dilations, 3, data_format, "dilations"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


@export("nn.conv3d_transpose")
def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: str = "SAME",
    data_format: str = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """The transpose of `conv3d`, of shape `output_shape` (TF: tf.nn.conv3d_transpose)."""
    x, w = either("input", input, "value", value), either("filters", filters, "filter", filter)
    with name_scope(name, "conv3d_transpose", [x, w, output_shape]) as scope:
        return CONV_3D_BACKPROP_INPUT(
            output_shape,
            w,
            x,
            strides=spread(strides, 3, data_format, "strides"),
            dilations=spread(dilations, 3, data_format, "dilations"),
            padding=padding,
            data_format=data_format,
            name=scope,
        )
