"""Functions whose arguments are different in TensorFlow 2: those of tf.compat.v2, from those of tf.compat.v1.

All was recorded from `tf.compat.v2` of TensorFlow 1.15.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from penstock.gradients.gradients import UnconnectedGradients
from penstock.tensor.dtypes import float32, int32, int64, string

_ASSERTION_OF_TWO = "x, y, message=None, summarize=None, name=None"
_ASSERTION = "x, message=None, summarize=None, name=None"
_ASSERTION_OF_RANK = "x, rank, message=None, name=None"
_REDUCTION = "input_tensor, axis=None, keepdims=False, name=None"
_EXTREME = "input, axis=None, output_type=int64, name=None"
_SEGMENTS = "data, indices, segment_ids, num_segments=None, name=None"
_POOL = "input, ksize, strides, padding, data_format=None, name=None"
_TO_CONVOLVE = "input, filters, strides, padding, data_format={!r}, dilations=None, name=None"
_TRANSPOSED = "input, filters, output_shape, strides, padding='SAME', data_format={!r}, dilations=None, name=None"
_SEPARABLE = "strides, padding, data_format=None, dilations=None, name=None"
_LABELS = "labels, logits, name=None"
_EXAMPLES = "serialized, features, example_names=None, name=None"
_SOFTMAX = "logits, axis=None, name=None"
_NORM = "tensor, ord='euclidean', axis=None, keepdims=None, name=None"
_L2 = "x, axis=None, epsilon=1e-12, name=None"
_SAMPLED = (
    "weights, biases, labels, inputs, num_sampled, num_classes, num_true=1, sampled_values=None, "
    "remove_accidental_hits={}"
)
_SPARSE_EMBEDDING = "embedding_weights, sparse_ids, sparse_weights=None, combiner='mean', default_id=None"
_BOXES = (
    "image_size, bounding_boxes, seed=0, min_object_covered=0.1, aspect_ratio_range=None, area_range=None, "
    "max_attempts=None, use_image_if_no_bounding_boxes=None, name=None"
)

SIGNATURES = {
    "argmax argmin math.argmax math.argmin": _EXTREME,
    "assert_equal assert_greater assert_less": _ASSERTION_OF_TWO,
    "assert_rank debugging.assert_rank debugging.assert_rank_at_least": _ASSERTION_OF_RANK,
    "batch_to_space": "input, block_shape, crops, name=None",
    "boolean_mask": "tensor, mask, axis=None, name='boolean_mask'",
    "cond": "pred, true_fn=None, false_fn=None, name=None",
    "constant": "value, dtype=None, shape=None, name='Const'",
    "convert_to_tensor": "value, dtype=None, dtype_hint=None, name=None",
    "debugging.assert_all_finite": "x, message, name=None",
    "debugging.assert_equal debugging.assert_greater debugging.assert_less": _ASSERTION_OF_TWO,
    "debugging.assert_greater_equal debugging.assert_less_equal": _ASSERTION_OF_TWO,
    "debugging.assert_near": "x, y, rtol=None, atol=None, message=None, summarize=None, name=None",
    "debugging.assert_negative debugging.assert_non_negative": _ASSERTION,
    "debugging.assert_positive debugging.assert_non_positive": _ASSERTION,
    "debugging.assert_none_equal": "x, y, summarize=None, message=None, name=None",
    "debugging.assert_rank_in": "x, ranks, message=None, name=None",
    "debugging.assert_scalar": "tensor, message=None, name=None",
    "device": "device_name",
    "expand_dims": "input, axis, name=None",
    "gather": "params, indices, validate_indices=None, axis=None, batch_dims=0, name=None",
    "gather_nd": "params, indices, batch_dims=0, name=None",
    "gradients": (
        "ys, xs, grad_ys=None, name='gradients', gate_gradients=False, aggregation_method=None, stop_gradients=None, "
        "unconnected_gradients=NONE"
    ),
    "hessians": "ys, xs, gate_gradients=False, aggregation_method=None, name='hessians'",
    "image.crop_and_resize": (
        "image, boxes, box_indices, crop_size, method='bilinear', extrapolation_value=0, name=None"
    ),
    "image.draw_bounding_boxes": "images, boxes, colors, name=None",
    "image.sample_distorted_bounding_box": _BOXES,
    "io.decode_csv": (
        "records, record_defaults, field_delim=',', use_quote_delim=True, na_value='', select_cols=None, name=None"
    ),
    "io.decode_raw": "input_bytes, out_type, little_endian=True, fixed_length=None, name=None",
    "io.parse_example io.parse_single_example": _EXAMPLES,
    "io.serialize_many_sparse io.serialize_sparse": "sp_input, out_type=string, name=None",
    "linalg.l2_normalize math.l2_normalize nn.l2_normalize": _L2,
    "linalg.norm norm": _NORM,
    "math.bincount": "arr, weights=None, minlength=None, maxlength=None, dtype=int32, name=None",
    "math.confusion_matrix": "labels, predictions, num_classes=None, weights=None, dtype=int32, name=None",
    "math.count_nonzero": "input, axis=None, keepdims=None, dtype=int64, name=None",
    "math.in_top_k nn.in_top_k": "targets, predictions, k, name=None",
    "math.log_softmax math.softmax nn.log_softmax nn.softmax": _SOFTMAX,
    "math.reduce_all math.reduce_any math.reduce_logsumexp math.reduce_max": _REDUCTION,
    "math.reduce_mean math.reduce_min math.reduce_prod math.reduce_sum": _REDUCTION,
    "nn.avg_pool nn.max_pool": _POOL,
    "nn.avg_pool2d nn.max_pool2d": _POOL.replace("data_format=None", "data_format='NHWC'"),
    "nn.conv1d": "input, filters, stride, padding, data_format='NWC', dilations=None, name=None",
    "nn.conv2d": _TO_CONVOLVE.format("NHWC"),
    "nn.conv2d_transpose": _TRANSPOSED.format("NHWC"),
    "nn.conv3d": _TO_CONVOLVE.format("NDHWC"),
    "nn.conv3d_transpose": _TRANSPOSED.format("NDHWC"),
    "nn.convolution": ("input, filters, strides=None, padding='VALID', data_format=None, dilations=None, name=None"),
    "nn.crelu": "features, axis=-1, name=None",
    "nn.depth_to_space nn.space_to_depth": "input, block_size, data_format='NHWC', name=None",
    "nn.depthwise_conv2d": f"input, filter, {_SEPARABLE}",
    "nn.dilation2d": "input, filters, strides, padding, data_format, dilations, name=None",
    "nn.dropout": "x, rate, noise_shape=None, seed=None, name=None",
    "nn.embedding_lookup": "params, ids, max_norm=None, name=None",
    "nn.embedding_lookup_sparse": "params, sp_ids, sp_weights, combiner=None, max_norm=None, name=None",
    "nn.max_pool_with_argmax": (
        "input, ksize, strides, padding, data_format='NHWC', output_dtype=int64, include_batch_in_index=False, "
        "name=None"
    ),
    "nn.moments": "x, axes, shift=None, keepdims=False, name=None",
    "nn.nce_loss": f"{_SAMPLED.format(False)}, name='nce_loss'",
    "nn.pool": (
        "input, window_shape, pooling_type, strides=None, padding='VALID', data_format=None, dilations=None, name=None"
    ),
    "nn.safe_embedding_lookup_sparse": f"{_SPARSE_EMBEDDING}, max_norm=None, name=None",
    "nn.sampled_softmax_loss": f"{_SAMPLED.format(True)}, seed=None, name='sampled_softmax_loss'",
    "nn.separable_conv2d": f"input, depthwise_filter, pointwise_filter, {_SEPARABLE}",
    "nn.sigmoid_cross_entropy_with_logits": "labels=None, logits=None, name=None",
    "nn.softmax_cross_entropy_with_logits": "labels, logits, axis=-1, name=None",
    "nn.space_to_batch space_to_batch": "input, block_shape, paddings, name=None",
    "nn.sparse_softmax_cross_entropy_with_logits": _LABELS,
    "nn.sufficient_statistics": "x, axes, shift=None, keepdims=False, name=None",
    "nn.weighted_cross_entropy_with_logits": "labels, logits, pos_weight, name=None",
    "nn.weighted_moments": "x, axes, frequency_weights, keepdims=False, name=None",
    "ones_like zeros_like": "input, dtype=None, name=None",
    "pad": "tensor, paddings, mode='CONSTANT', constant_values=0, name=None",
    "random.poisson": "shape, lam, dtype=float32, seed=None, name=None",
    "reduce_all reduce_any reduce_logsumexp reduce_max": _REDUCTION,
    "reduce_mean reduce_min reduce_prod reduce_sum": _REDUCTION,
    "reverse_sequence": "input, seq_lengths, seq_axis=None, batch_axis=None, name=None",
    "shape size": "input, out_type=int32, name=None",
    "sparse.concat": "axis, sp_inputs, expand_nonconcat_dims=False, name=None",
    "sparse.segment_mean sparse.segment_sqrt_n sparse.segment_sum": _SEGMENTS,
    "sparse.split": "sp_input=None, num_split=None, axis=None, name=None",
    "squeeze": "input, axis=None, name=None",
    "strings.length": "input, unit='BYTE', name=None",
    "strings.reduce_join": "inputs, axis=None, keepdims=False, separator='', name=None",
    "strings.split": "input, sep=None, maxsplit=-1, name=None",
    "strings.substr": "input, pos, len, unit='BYTE', name=None",
    "strings.to_hash_bucket": "input, num_buckets, name=None",
    "strings.to_number": "input, out_type=float32, name=None",
    "transpose": "a, perm=None, conjugate=False, name='transpose'",
    "tuple": "tensors, control_inputs=None, name=None",
    "while_loop": (
        "cond, body, loop_vars, shape_invariants=None, parallel_iterations=10, back_prop=True, swap_memory=False, "
        "maximum_iterations=None, name=None"
    ),
}
"""By names in tf.compat.v2: the arguments in their order, with what they are if they are not given."""

_DIV = {"partition_strategy": "div"}
ALWAYS: dict[str, dict[str, Any]] = {
    "cond": {"strict": True},
    "nn.embedding_lookup": _DIV,
    "nn.embedding_lookup_sparse": _DIV,
    "nn.nce_loss": _DIV,
    "nn.safe_embedding_lookup_sparse": _DIV,
    "nn.sampled_softmax_loss": _DIV,
    "strings.split": {"result_type": "RaggedTensor"},
    "while_loop": {"return_same_structure": True},
}
"""Arguments of the function of TensorFlow 1 that its successor has no more, with what that does."""

INSTEAD = {
    "nn.softmax_cross_entropy_with_logits": "nn.softmax_cross_entropy_with_logits_v2",
    "where": "where_v2",
}
"""Names in TensorFlow 1 of what has another there."""

_RENAMED = {
    "device": {"device_name": "device_name_or_function"},
    "ones_like": {"input": "tensor"},
    "zeros_like": {"input": "tensor"},
}
_NOT_PASSED: dict[str, tuple[str, tuple[Any, ...]]] = {
    "io.decode_raw": ("fixed_length", (None,)),
    "math.bincount": ("name", ()),
    "nn.dilation2d": ("data_format", ("NHWC",)),
}
"""Arguments that the function of TensorFlow 1 does not have, and their values that it does without (none: all)."""

_VALUES = {**{dtype.name: dtype for dtype in (float32, int32, int64, string)}, "NONE": UnconnectedGradients.NONE}


@functools.cache
def signature_of(name: str) -> inspect.Signature | None:
    """The arguments of a function of tf.compat.v2, where they are not those of TensorFlow 1."""
    text = next((text for names, text in SIGNATURES.items() if name in names.split()), None)
    if text is None:
        return None
    return inspect.signature(eval(f"lambda {text}: None", dict(_VALUES)))


def with_arguments(name: str, function: Callable[..., Any], signature: inspect.Signature) -> Callable[..., Any]:
    """`function`, of TensorFlow 1, with the arguments that `name` has in TensorFlow 2."""
    renamed, always = _RENAMED.get(name, {}), ALWAYS.get(name, {})
    dropped, values = _NOT_PASSED.get(name, ("", ()))

    @functools.wraps(function)
    def of_version_2(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        value = given.pop(dropped, values[0] if values else None)
        if values and value not in values:
            raise NotImplementedError(f"tf.compat.v2.{name} takes only {dropped}={values[0]!r} here")
        return function(**{renamed.get(argument, argument): value for argument, value in given.items()}, **always)

    of_version_2.__signature__ = signature  # type: ignore[attr-defined]
    of_version_2.__annotations__ = {}
    return of_version_2
