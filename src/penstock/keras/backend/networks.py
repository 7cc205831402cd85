"""Keras' functions for neural networks: activations, cross entropies of probabilities, dropout, convolutions."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import nn
from penstock.export import export
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import check_data_format, epsilon
from penstock.ops.array import reshape, shape
from penstock.ops.cast import cast as cast_op
from penstock.ops.clip import clip_by_value
from penstock.ops.layout import transpose
from penstock.ops.padding import pad
from penstock.ops.partition import where
from penstock.ops.reduce import reduce_sum
from penstock.ops.unary import log


@export("keras.backend.relu")
def relu(x: Any, alpha: float = 0.0, max_value: float | None = None, threshold: float = 0.0) -> Tensor:
    """x from `threshold` on, at most `max_value`; below it alpha * (x - threshold)."""
    x = convert_to_tensor(x)
    if alpha == 0.0 and threshold == 0.0:
        return nn.relu(x) if max_value is None else nn.relu6(x) if max_value == 6 else clip_by_value(x, 0.0, max_value)
    above = nn.relu(x) if threshold == 0.0 else x * cast_op(x > threshold, x.dtype)
    if max_value is not None:
        above = clip_by_value(above, 0.0, max_value)
    return above - alpha * nn.relu(threshold - x) if alpha != 0.0 else above


@export("keras.backend.elu")
def elu(x: Any, alpha: float = 1.0) -> Tensor:
    """x, or alpha * (exp(x) - 1) below zero."""
    result = nn.elu(x)
    return result if alpha == 1 else where(x > 0, result, alpha * result)


@export("keras.backend.softmax")
def softmax(x: Any, axis: int = -1) -> Tensor:
    return nn.softmax(x, axis)


@export("keras.backend.softplus")
def softplus(x: Any) -> Tensor:
    return nn.softplus(x)


@export("keras.backend.softsign")
def softsign(x: Any) -> Tensor:
    return nn.softsign(x)


@export("keras.backend.tanh")
def tanh(x: Any) -> Tensor:
    return nn.tanh(x)


@export("keras.backend.sigmoid")
def sigmoid(x: Any) -> Tensor:
    return nn.sigmoid(x)


@export("keras.backend.hard_sigmoid")
def hard_sigmoid(x: Any) -> Tensor:
    """0.2 * x + 0.5, within 0 and 1."""
    return clip_by_value(convert_to_tensor(x) * 0.2 + 0.5, 0.0, 1.0)


@export("keras.backend.l2_normalize")
def l2_normalize(x: Any, axis: Any = None) -> Tensor:
    return nn.l2_normalize(x, axis)


@export("keras.backend.bias_add")
def bias_add(x: Any, bias: Any, data_format: str | None = None) -> Tensor:
    """`bias` added to the channels of `x`."""
    first = data_format == "channels_first"
    if len(bias.shape) == 1:
        return nn.bias_add(x, bias, "NCHW" if first and len(x.shape) > 2 else "NHWC")
    sizes = bias.shape.as_list()
    return x + reshape(bias, [1, sizes[-1], *sizes[:-1]] if first else [1, *sizes])


@export("keras.backend.dropout")
def dropout(x: Any, level: Any, noise_shape: Any = None, seed: Any = None) -> Tensor:
    """Zeros for a fraction `level` of the elements; the others are scaled up."""
    return nn.dropout(x, 1.0 - level, noise_shape, np.random.randint(10_000_000) if seed is None else seed)


@export("keras.backend.in_top_k")
def in_top_k(predictions: Any, targets: Any, k: int) -> Tensor:
    return nn.in_top_k(predictions, targets, k)


# --- cross entropies ------------------------------------------------------------------------------------
# Of the probabilities that an activation has just computed from logits, they are those of the logits: exact for
# probabilities that round to 0 or 1, and one kernel. Of other probabilities they are clipped by epsilon.


def _logits(output: Any, activation: str) -> Any:
    """What the node of `output` applied the activation to, or None."""
    op = getattr(output, "op", None)
    while op is not None and op.type == "Identity":
        op = op.inputs[0].op
    return op.inputs[0] if op is not None and op.type == activation else None


@export("keras.backend.categorical_crossentropy")
def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    """-sum(target * log(output)) along `axis`."""
    logits = output if from_logits else _logits(output, "Softmax") if axis in (-1, len(output.shape) - 1) else None
    if logits is not None:
        return nn.softmax_cross_entropy_with_logits_v2(labels=target, logits=logits, dim=axis)
    output = output / reduce_sum(output, axis, True)
    return -reduce_sum(target * log(_inner(output)), axis)


@export("keras.backend.sparse_categorical_crossentropy")
def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Tensor:
    """-log of the probability of the class with the number `target` [...] or [..., 1], for output [..., classes]."""
    rank = len(output.shape)
    if axis not in (-1, rank - 1):
        output = transpose(output, [*(i for i in range(rank) if i != axis % rank), axis % rank])
    logits = output if from_logits else _logits(output, "Softmax")
    if logits is None:
        logits = log(_inner(output))
    dims = shape(logits)
    flat = reshape(logits, [-1, logits.shape.as_list()[-1] or dims[-1]])
    losses = nn.sparse_softmax_cross_entropy_with_logits(labels=cast_op(reshape(target, [-1]), "int64"), logits=flat)
    return losses if rank <= 2 else reshape(losses, dims[:-1])


@export("keras.backend.binary_crossentropy")
def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Tensor:
    """-target * log(output) - (1 - target) * log(1 - output) for each element."""
    logits = output if from_logits else _logits(output, "Sigmoid")
    if logits is None:
        output = _inner(output)
        return -(target * log(output) + (1 - target) * log(1 - output))
    return nn.sigmoid_cross_entropy_with_logits(labels=target, logits=logits)


def _inner(probabilities: Any) -> Tensor:
    return clip_by_value(probabilities, epsilon(), 1.0 - epsilon())


# --- convolutions and pools -----------------------------------------------------------------------------

_FORMATS = {1: ("NWC", "NCW"), 2: ("NHWC", "NCHW"), 3: ("NDHWC", "NCDHW")}


def _conv(rank: int, x: Any, kernel: Any, strides: Any, padding: str, data_format: str | None, dilation: Any) -> Tensor:
    layout = _FORMATS[rank][check_data_format(data_format) == "channels_first"]
    sizes = [(n,) * rank if isinstance(n, int) else tuple(n) for n in (strides, dilation)]
    if padding == "causal":
        x = pad(x, [[0, 0], [sizes[1][0] * (kernel.shape.as_list()[0] - 1), 0], [0, 0]])
        padding = "valid"
    return nn.convolution(x, kernel, padding.upper(), sizes[0], sizes[1], data_format=layout)


@export("keras.backend.conv1d")
def conv1d(
    x: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = 1,
) -> Tensor:  # fmt: skip
    """A convolution over [n, w, c]; padding "causal" looks only back."""
    return _conv(1, x, kernel, strides, padding, data_format, dilation_rate)


@export("keras.backend.conv2d")
def conv2d(
    x: Any, kernel: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = (1, 1),
) -> Tensor:  # fmt: skip
    """A convolution over [n, h, w, c]."""
    return _conv(2, x, kernel, strides, padding, data_format, dilation_rate)


@export("keras.backend.conv3d")
def conv3d(
    x: Any, kernel: Any, strides: Any = (1, 1, 1), padding: str = "valid", data_format: str | None = None,
    dilation_rate: Any = (1, 1, 1),
) -> Tensor:  # fmt: skip
    """A convolution over [n, d, h, w, c]."""
    return _conv(3, x, kernel, strides, padding, data_format, dilation_rate)


@export("keras.backend.pool2d")
def pool2d(
    x: Any, pool_size: Any, strides: Any = (1, 1), padding: str = "valid", data_format: str | None = None,
    pool_mode: str = "max",
) -> Tensor:  # fmt: skip
    """The maximum ("max") or mean ("avg") of windows of images."""
    layout = _FORMATS[2][check_data_format(data_format) == "channels_first"]
    return nn.pool(x, pool_size, pool_mode.upper(), padding.upper(), strides=strides, data_format=layout)
