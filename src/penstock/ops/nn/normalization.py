"""Moments and normalizations composed of other ops (TF: tf.nn.moments, tf.nn.batch_normalization, …)."""

from __future__ import annotations

from typing import Any

from penstock.export import export
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Tensor
from penstock.graph.scopes import name_scope
from penstock.ops.nn.batch_norm import FUSED_BATCH_NORM_V3
from penstock.ops.nn.softmax import either
from penstock.tensor.dtypes import float16, float32


@export("nn.moments")
def moments(
    x: Any,
    axes: Any,
    shift: Any = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance (of the population) of `x` over `axes` (TF: tf.nn.moments).

    `shift` is no longer used, as in TF 1.x. Halves are summed in float32.
    """
    keep = either("keepdims", keepdims, "keep_dims", keep_dims, False)
    with name_scope(name, "moments", [x, axes]):
        value = convert_to_tensor(x, name="x")
        narrow = value.dtype.base_dtype == float16
        y = get_op("Cast")(value, DstT=float32) if narrow else value
        mean = get_op("Mean")(y, axes, keep_dims=True, name="mean")
        squares = get_op("SquaredDifference")(y, get_op("StopGradient")(mean))
        variance = get_op("Mean")(squares, axes, keep_dims=True, name="variance")
        if not keep:
            mean, variance = _without(mean, axes), _without(variance, axes)
        if narrow:
            return get_op("Cast")(mean, DstT=float16), get_op("Cast")(variance, DstT=float16)
        return mean, variance


def _without(x: Tensor, axes: Any) -> Tensor:
    """`x` without `axes`, of size 1."""
    if isinstance(axes, Tensor):  # Squeeze only takes numbers
        from penstock.graph.constants import constant_value

        known = constant_value(axes)
        if known is None:
            raise ValueError(f"axes must be known while the graph is built to drop them, got {axes}")
        axes = known.reshape(-1).tolist()
    return get_op("Squeeze")(x, squeeze_dims=[axes] if isinstance(axes, int) else [int(a) for a in axes])


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: Any = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Count, sum and sum of squares of x - shift over `axes`, and shift (TF: tf.nn.sufficient_statistics)."""
    keep = either("keepdims", keepdims, "keep_dims", keep_dims, False)
    axes = list({int(a): None for a in (axes if isinstance(axes, list | tuple) else [axes])})
    with name_scope(name, "sufficient_statistics", [x, shift]):
        value = convert_to_tensor(x, name="x")
        dims = value.shape.tuple
        if dims is not None and all(dims[a] is not None for a in axes):
            total = 1
            for a in axes:
                total *= dims[a] or 0
            count = constant(total, value.dtype.base_dtype, name="count")
        else:
            sizes = get_op("GatherV2")(get_op("Shape")(value), axes, 0)
            count = get_op("Prod")(get_op("Cast")(sizes, DstT=value.dtype.base_dtype), [0], name="count")
        if shift is None:
            first, second = value, get_op("Square")(value)
        else:
            shift = convert_to_tensor(shift, name="shift")
            first, second = value - shift, get_op("SquaredDifference")(value, shift)
        first = get_op("Sum")(first, axes, keep_dims=keep, name="mean_ss")
        second = get_op("Sum")(second, axes, keep_dims=keep, name="var_ss")
        return count, first, second, shift


@export("nn.normalize_moments")
def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Mean and variance from sufficient statistics (TF: tf.nn.normalize_moments)."""
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = get_op("Reciprocal")(counts, name="divisor")
        if shift is None:
            mean = shifted = get_op("Mul")(mean_ss, divisor, name="mean")
        else:
            shifted = get_op("Mul")(mean_ss, divisor, name="shifted_mean")
            mean = get_op("AddV2")(shifted, shift, name="mean")
        squares = get_op("Mul")(variance_ss, divisor)
        return mean, get_op("Sub")(squares, get_op("Square")(shifted), name="variance")


@export("nn.weighted_moments")
def weighted_moments(
    x: Any,
    axes: Any,
    frequency_weights: Any,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Mean and variance of `x` over `axes`, with elements weighted (TF: tf.nn.weighted_moments).

    `frequency_weights` broadcast to `x`.
    """
    keep = either("keepdims", keepdims, "keep_dims", keep_dims, False)
    with name_scope(name, "weighted_moments", [x, frequency_weights, axes]):
        value = convert_to_tensor(x, name="x")
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        narrow = value.dtype.base_dtype == float16
        if narrow:
            value = get_op("Cast")(value, DstT=float32)
        if weights.dtype.base_dtype != value.dtype.base_dtype:
            weights = get_op("Cast")(weights, DstT=value.dtype.base_dtype)
        weighted = get_op("Sum")(weights * value, axes, keep_dims=True, name="weighted_input_sum")
        spread = weights + get_op("ZerosLike")(value)
        total = get_op("Sum")(spread, axes, keep_dims=True, name="sum_of_weights")
        mean = get_op("RealDiv")(weighted, total)
        squares = spread * get_op("SquaredDifference")(value, mean)
        variance = get_op("RealDiv")(get_op("Sum")(squares, axes, keep_dims=True, name="weighted_distsq"), total)
        if not keep:
            mean, variance = _without(mean, axes), _without(variance, axes)
        if narrow:
            return get_op("Cast")(mean, DstT=float16), get_op("Cast")(variance, DstT=float16)
        return mean, variance


@export("nn.batch_normalization")
def batch_normalization(
    x: Any,
    mean: Any,
    variance: Any,
    offset: Any,
    scale: Any,
    variance_epsilon: Any,
    name: str | None = None,
) -> Tensor:
    """scale * (x - mean) / sqrt(variance + variance_epsilon) + offset (TF: tf.nn.batch_normalization).

    All except `variance_epsilon` broadcast against `x`; `scale` and `offset` may be None.
    """
    with name_scope(name, "batchnorm", [x, mean, variance, scale, offset]):
        value = convert_to_tensor(x, name="x")
        dtype = value.dtype.base_dtype
        inverse = get_op("Rsqrt")(convert_to_tensor(variance, name="variance") + variance_epsilon)
        if scale is not None:
            inverse = inverse * scale
        center = get_op("Mul")(convert_to_tensor(mean, name="mean"), inverse)
        shift = get_op("Neg")(center) if offset is None else offset - center
        if inverse.dtype.base_dtype != dtype:
            inverse, shift = get_op("Cast")(inverse, DstT=dtype), get_op("Cast")(shift, DstT=dtype)
        return value * inverse + shift


@export("nn.batch_norm_with_global_normalization")
def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """`batch_normalization` under its older name, with other argument names.

    TF: tf.nn.batch_norm_with_global_normalization. `gamma` is only used if `scale_after_normalization`.
    """
    t, m, v = (
        either("input", input, "t", t),
        either("mean", mean, "m", m),
        either("variance", variance, "v", v),
    )
    return batch_normalization(t, m, v, beta, gamma if scale_after_normalization else None, variance_epsilon, name)


_SMALLEST_EPSILON = 1.001e-5  # cuDNN's limit, so that graphs compute the same everywhere


@export("nn.fused_batch_norm")
def fused_batch_norm(
    x: Any,
    scale: Any,
    offset: Any,
    mean: Any = None,
    variance: Any = None,
    epsilon: float = 0.001,
    data_format: str = "NHWC",
    is_training: bool = True,
    name: str | None = None,
    exponential_avg_factor: float = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Normalized `x`, and mean and (Bessel-corrected) variance of the batch (TF: tf.nn.fused_batch_norm).

    x [n, h, w, c] (or as `data_format`, also of rank 5), scale and offset [c] float32. In training it uses the batch's
    statistics, which are the other outputs; otherwise `mean` and `variance` [c], which are then required.
    """
    if (not is_training or exponential_avg_factor != 1.0) and (mean is None or variance is None):
        raise ValueError(
            "Both `mean` and `variance` must be a 1D tensor when `is_training` is False or "
            f"`exponential_avg_factor` != 1.0, got {mean!r} and {variance!r}"
        )
    value = convert_to_tensor(x, name="input")
    scale = convert_to_tensor(scale, float32, name="scale")
    offset = convert_to_tensor(offset, float32, name="offset")
    mean = constant([], float32) if mean is None else mean
    variance = constant([], float32) if variance is None else variance
    y, batch_mean, batch_variance, *_ = FUSED_BATCH_NORM_V3(
        value,
        scale,
        offset,
        mean,
        variance,
        epsilon=max(epsilon, _SMALLEST_EPSILON),
        exponential_avg_factor=exponential_avg_factor,
        data_format=data_format,
        is_training=is_training,
        name=name,
    )
    return y, batch_mean, batch_variance


@export("linalg.l2_normalize", "math.l2_normalize", "nn.l2_normalize")
def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None) -> Tensor:
    """x / sqrt(max(sum(x ** 2), epsilon)), the sum over `axis` (one, or a list) (TF: tf.nn.l2_normalize)."""
    chosen = either("axis", axis, "dim", dim)
    with name_scope(name, "l2_normalize", [x]) as scope:
        value = convert_to_tensor(x, name="x")
        squares = get_op("Square")(value)
        over = chosen if chosen is not None else _all_axes(value)
        total = get_op("Sum")(squares, over, keep_dims=True)
        return get_op("Mul")(value, get_op("Rsqrt")(get_op("Maximum")(total, epsilon)), name=scope)


def _all_axes(x: Tensor) -> Any:
    if x.shape.ndims is not None:
        return list(range(x.shape.ndims))
    return get_op("Range")(0, get_op("Rank")(x), 1)


@export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The fraction of zeros, a float32 scalar; NaN if there are no elements (TF: tf.nn.zero_fraction)."""
    with name_scope(name, "zero_fraction", [value]):
        x = convert_to_tensor(value, name="value")
        zeros = get_op("Cast")(get_op("Equal")(x, constant(0, x.dtype.base_dtype, name="zero")), DstT=float32)
        return get_op("Mean")(zeros, _all_axes(x), name="fraction")
