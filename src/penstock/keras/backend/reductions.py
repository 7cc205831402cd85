"""Keras' products, and reductions with `axis` and `keepdims`."""

from __future__ import annotations

import builtins
from typing import Any

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import floatx
from penstock.keras.backend.tensors import ndim
from penstock.ops.arg_reductions import argmax as argmax_op, argmin as argmin_op
from penstock.ops.array import expand_dims as expand_dims_op, squeeze as squeeze_op
from penstock.ops.cast import cast as cast_op
from penstock.ops.einsum import tensordot
from penstock.ops.layout import transpose as transpose_op
from penstock.ops.matrix import matmul
from penstock.ops.nn.embedding import embedding_lookup
from penstock.ops.reduce import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from penstock.ops.scan import cumprod as cumprod_op, cumsum as cumsum_op
from penstock.ops.sparse_matmul import sparse_tensor_dense_matmul
from penstock.ops.unary import sqrt as sqrt_op, square as square_op

_Axis = Any

# --- products ---------------------------------------------------------------------------------------------------------


@export("keras.backend.dot")
def dot(x: Any, y: Any) -> Tensor:
    """The product over the last axis of `x`, which may be sparse, and the last but one of `y`."""
    if isinstance(x, SparseTensor):
        return sparse_tensor_dense_matmul(x, y)
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.shape.ndims == 2 and y.shape.ndims == 2:
        return matmul(x, y)
    return tensordot(x, y, [[x.shape.ndims - 1], [y.shape.ndims - 2 if y.shape.ndims > 1 else 0]])


@export("keras.backend.batch_dot")
def batch_dot(x: Any, y: Any, axes: Any = None) -> Tensor:
    """The product over one axis of `x` and one of `y` for each element of the batch, of at least rank 2.

    axes: that of `x`, and that of `y`. Of tensors with more axes, one of the last two is summed over, and those before
    are all of the batch, as in TensorFlow 1.x: [b, n, i, k] and [b, n, j, k] by [3, 3] are [b, n, i, j].
    """
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    x_rank, y_rank = ndim(x), ndim(y)
    assert x_rank is not None and y_rank is not None
    axes = [x_rank - 1, y_rank - 2] if axes is None else [axes, axes] if isinstance(axes, int) else axes
    more, less = builtins.max(x_rank, y_rank), builtins.min(x_rank, y_rank)
    for _ in range(more - less):
        x, y = (x, expand_dims_op(y, -1)) if x_rank > y_rank else (expand_dims_op(x, -1), y)
    first, second = axes
    if more == 2:
        product = reduce_sum((x if first == second else transpose_op(x)) * y, second)
    else:
        product = matmul(x, y, adjoint_a=first != more - 1, adjoint_b=second == more - 1)
    if more > less:
        at = x_rank + y_rank - 3 if x_rank > y_rank else x_rank - 1
        product = squeeze_op(product, list(range(at, at + more - less)))
    return expand_dims_op(product, 1) if product.shape.ndims == 1 else product


@export("keras.backend.transpose")
def transpose(x: Any) -> Tensor:
    """The axes in the opposite order."""
    return transpose_op(x)


@export("keras.backend.gather")
def gather(reference: Any, indices: Any) -> Tensor:
    """The rows of `reference` with these numbers."""
    return embedding_lookup(reference, indices)


# --- reductions -------------------------------------------------------------------------------------------------------


@export("keras.backend.max")
def max(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    return reduce_max(x, axis, keepdims)


@export("keras.backend.min")
def min(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    return reduce_min(x, axis, keepdims)


@export("keras.backend.sum")
def sum(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    return reduce_sum(x, axis, keepdims)


@export("keras.backend.prod")
def prod(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    return reduce_prod(x, axis, keepdims)


@export("keras.backend.mean")
def mean(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The mean; that of booleans is a fraction."""
    x = convert_to_tensor(x)
    return reduce_mean(cast_op(x, floatx()) if x.dtype.base_dtype.name == "bool" else x, axis, keepdims)


@export("keras.backend.var")
def var(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The variance."""
    x = convert_to_tensor(x)
    return reduce_mean(square_op(x - reduce_mean(x, axis, True)), axis, keepdims)


@export("keras.backend.std")
def std(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    """The standard deviation."""
    return sqrt_op(var(x, axis, keepdims))


@export("keras.backend.any")
def any(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    return reduce_any(cast_op(x, "bool"), axis, keepdims)


@export("keras.backend.all")
def all(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    return reduce_all(cast_op(x, "bool"), axis, keepdims)


@export("keras.backend.argmax")
def argmax(x: Any, axis: int = -1) -> Tensor:
    return argmax_op(x, axis)


@export("keras.backend.argmin")
def argmin(x: Any, axis: int = -1) -> Tensor:
    return argmin_op(x, axis)


@export("keras.backend.logsumexp")
def logsumexp(x: Any, axis: _Axis = None, keepdims: bool = False) -> Tensor:
    return reduce_logsumexp(x, axis, keepdims)


@export("keras.backend.cumsum")
def cumsum(x: Any, axis: int = 0) -> Tensor:
    return cumsum_op(x, axis)


@export("keras.backend.cumprod")
def cumprod(x: Any, axis: int = 0) -> Tensor:
    return cumprod_op(x, axis)
