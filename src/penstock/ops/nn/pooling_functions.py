"""Public functions of the pools (TF: tf.nn.max_pool and related ops)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import OpDef, get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.nn.conv_functions import padding_attrs, spread
from penstock.ops.nn.pooling import AVG_POOL, AVG_POOL_3D, MAX_POOL, MAX_POOL_3D, MAX_POOL_WITH_ARGMAX
from penstock.ops.nn.softmax import either
from penstock.ops.space import batch_to_space_nd, required_space_to_batch_paddings, space_to_batch_nd
from penstock.tensor.dtypes import int64


@export("nn.max_pool")
def max_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The largest value of each window: value [n, h, w, c] -> [n, h', w', c] (TF: tf.nn.max_pool).

    `ksize` and `strides` for all dims, both spatial ones, or one number. Padding is never chosen.
    """
    x = either("input", input, "value", value)
    with name_scope(name, "MaxPool", [x]) as scope:
        return MAX_POOL(
            x,
            ksize=spread(ksize, 2, data_format, "ksize"),
            strides=spread(strides, 2, data_format, "strides"),
            data_format=data_format,
            name=scope,
            **padding_attrs(padding),
        )


@export("nn.avg_pool", "nn.avg_pool2d")
def avg_pool(
    value: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    name: str | None = None,
    input: Any = None,
) -> Tensor:
    """The mean of each window's elements inside the image (TF: tf.nn.avg_pool); see `max_pool`."""
    x = either("input", input, "value", value)
    with name_scope(name, "AvgPool", [x]) as scope:
        return AVG_POOL(
            x,
            ksize=spread(ksize, 2, data_format, "ksize"),
            strides=spread(strides, 2, data_format, "strides"),
            padding=padding,
            data_format=data_format,
            name=scope,
        )


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    Targmax: Any = None,
    name: str | None = None,
    output_dtype: Any = None,
    include_batch_in_index: bool = False,
) -> tuple[Tensor, Tensor]:
    """`max_pool`, and the index of each maximum in the flattened image (TF: tf.nn.max_pool_with_argmax).

    The index of [b, y, x, c] is (y * width + x) * channels + c, plus b images if `include_batch_in_index`.
    """
    if data_format != "NHWC":
        raise ValueError("`data_format` values other than 'NHWC' are not supported")
    return MAX_POOL_WITH_ARGMAX(
        input,
        ksize=spread(ksize, 2, data_format, "ksize"),
        strides=spread(strides, 2, data_format, "strides"),
        padding=padding,
        Targmax=either("output_dtype", output_dtype, "Targmax", Targmax, int64),
        include_batch_in_index=include_batch_in_index,
        name=name,
    )


@export("nn.max_pool3d")
def max_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The largest value of each window of a volume [n, d, h, w, c] (TF: tf.nn.max_pool3d)."""
    return _pool3d(MAX_POOL_3D, input, ksize, strides, padding, data_format, name)


@export("nn.avg_pool3d")
def avg_pool3d(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NDHWC",
    name: str | None = None,
) -> Tensor:
    """The mean of each window of a volume [n, d, h, w, c] (TF: tf.nn.avg_pool3d)."""
    return _pool3d(AVG_POOL_3D, input, ksize, strides, padding, data_format, name)


def _pool3d(
    op: OpDef, input: Any, ksize: Any, strides: Any, padding: str, data_format: str, name: str | None
) -> Tensor:
    return op(
        input,
        ksize=spread(ksize, 3, data_format, "ksize"),
        strides=spread(strides, 3, data_format, "strides"),
        padding=padding,
        data_format=data_format,
        name=name,
    )


@export("nn.pool")
def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    padding: str,
    dilation_rate: Any = None,
    strides: Any = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: Any = None,
) -> Tensor:
    """A "MAX" or "AVG" pool in 1, 2 or 3 dims (TF: tf.nn.pool).

    input [n, spatial…, c], or [n, c, spatial…] if `data_format` starts with "NC". Raises ValueError for a dilation
    together with strides or with "SAME" padding.
    """
    x = convert_to_tensor(input, name="input")
    rank = len(window_shape)
    x.shape.assert_has_rank(rank + 2)
    rates = either("dilations", dilations, "dilation_rate", dilation_rate, [1] * rank)
    steps = list(strides or [1] * rank)
    if any(int(rate) != 1 for rate in rates):
        if padding == "SAME":
            raise ValueError(f"pool with 'SAME' padding takes no dilation, got a dilation_rate of {list(rates)}")
        if any(int(step) != 1 for step in steps):
            raise ValueError(f"pool takes strides ({steps}) or a dilation_rate ({list(rates)}), not both")
        return _dilated(x, window_shape, pooling_type, rates, name, data_format)
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type must be 'MAX' or 'AVG', got {pooling_type!r}")
    if rank not in (1, 2, 3):
        raise ValueError(f"window_shape must have 1, 2 or 3 elements, got {list(window_shape)}")
    with name_scope(name, f"{pooling_type.lower()}_pool", [x]) as scope:
        first = bool(data_format) and str(data_format).startswith("NC")
        window = list(window_shape)
        if rank == 1:
            axis = 2 if first else 1
            x, window, steps = get_op("ExpandDims")(x, axis), [1, *window], [1, *steps]
        layout = {2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}[max(rank, 2)][first]
        op = {
            ("MAX", False): MAX_POOL,
            ("AVG", False): AVG_POOL,
            ("MAX", True): MAX_POOL_3D,
            ("AVG", True): AVG_POOL_3D,
        }[pooling_type, rank == 3]
        found = op(
            x,
            ksize=spread(window, max(rank, 2), layout, "window_shape"),
            strides=spread(steps, max(rank, 2), layout, "strides"),
            padding=padding,
            data_format=layout,
            name=scope,
        )
        return get_op("Squeeze")(found, squeeze_dims=[axis]) if rank == 1 else found


def _dilated(
    x: Tensor, window_shape: Any, pooling_type: str, rates: Any, name: str | None, data_format: str | None
) -> Tensor:
    """A "VALID" pool of every `rate`-th element: elements `rate` apart become a separate image in the batch."""
    first = bool(data_format) and str(data_format).startswith("NC")
    spatial = range(2, len(rates) + 2) if first else range(1, len(rates) + 1)
    with name_scope(name, "pool", [x]):
        block = [1, *rates] if first else list(rates)  # in front of a spatial dim that stays unchanged
        dims = (
            get_op("Shape")(x)[1 : len(block) + 1]
            if None in x.shape.as_list()
            else x.shape.as_list()[1 : len(block) + 1]
        )
        paddings, crops = required_space_to_batch_paddings(dims, block)
        found = pool(
            space_to_batch_nd(x, block, paddings), window_shape, pooling_type, "VALID", data_format=data_format
        )
        found = batch_to_space_nd(found, block, crops)
        sizes = x.shape.as_list()
        for axis, k, rate in zip(spatial, window_shape, rates, strict=True):
            sizes[axis] = None if sizes[axis] is None else sizes[axis] - (k - 1) * rate
        found.set_shape(sizes)
        return found
