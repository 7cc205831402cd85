"""Keras' functions that tell what tensors are, make them, and assign to variables."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import constant as constant_op
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import floatx
from penstock.keras.backend.state import variable
from penstock.ops.basic import placeholder as placeholder_op
from penstock.ops.cast import cast as cast_op
from penstock.ops.filling import (
    ones as ones_op,
    ones_like as ones_like_op,
    zeros as zeros_op,
    zeros_like as zeros_like_op,
)
from penstock.ops.random import (
    random_normal as random_normal_op,
    random_uniform as random_uniform_op,
    truncated_normal as truncated_normal_op,
)
from penstock.ops.sequences import range as range_op
from penstock.ops.sparse_functions import sparse_placeholder
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.ops.state import assign, assign_add, assign_sub
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape
from penstock.train.moving_averages import assign_moving_average

# --- what a tensor is -------------------------------------------------------------------------------------------------


@export("keras.backend.placeholder")
def placeholder(
    shape: Any = None, ndim: int | None = None, dtype: Any = None, sparse: bool = False, name: str | None = None
) -> Any:
    """A tensor to feed: of `shape`, or of `ndim` unknown sizes."""
    if shape is None and ndim is not None:
        shape = [None] * ndim
    make = sparse_placeholder if sparse else placeholder_op
    return make(as_dtype(dtype or floatx()), shape, name)


@export("keras.backend.is_placeholder")
def is_placeholder(x: Any) -> bool:
    """Whether `x` is fed."""
    return getattr(getattr(x, "op", None), "type", None) in ("Placeholder", "PlaceholderWithDefault")


@export("keras.backend.is_keras_tensor")
def is_keras_tensor(x: Any) -> bool:
    """Whether a layer or `Input` made `x`; raises ValueError for what is no tensor."""
    if not isinstance(x, Tensor | Variable | SparseTensor):
        raise ValueError(f"Unexpectedly found an instance of type `{type(x)}`. Expected a symbolic tensor instance.")
    return getattr(x, "_keras_history", None) is not None


@export("keras.backend.is_sparse")
def is_sparse(tensor: Any) -> bool:
    """Whether `tensor` is a SparseTensor."""
    return isinstance(tensor, SparseTensor)


@export("keras.backend.to_dense")
def to_dense(tensor: Any) -> Any:
    """A dense tensor with the elements of a sparse one."""
    return sparse_tensor_to_dense(tensor) if is_sparse(tensor) else tensor


@export("keras.backend.int_shape")
def int_shape(x: Any) -> tuple[int | None, ...] | None:
    """The static shape, None for unknown sizes; None if not even the rank is known."""
    shape = TensorShape(x.shape)
    return None if shape.ndims is None else tuple(shape.as_list())


@export("keras.backend.ndim")
def ndim(x: Any) -> int | None:
    """The rank, if it is known."""
    return TensorShape(x.shape).ndims


@export("keras.backend.dtype")
def dtype(x: Any) -> str:
    """The name of the dtype."""
    return str(as_dtype(x.dtype).base_dtype.name)


@export("keras.backend.count_params")
def count_params(x: Any) -> int:
    """The number of elements."""
    return int(np.prod(x.shape.as_list()))


# --- new tensors ------------------------------------------------------------------------------------------------------


@export("keras.backend.constant")
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A constant, by default of the dtype `floatx`."""
    return constant_op(value, dtype or floatx(), shape, name or "Const")


def has_tensors(shape: Any) -> bool:
    """Whether `shape` is a tensor, or has a size that is one."""
    sizes = shape if isinstance(shape, list | tuple) else [shape]
    return any(isinstance(size, Tensor | Variable) for size in sizes)


@export("keras.backend.zeros")
def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros; a tensor of zeros, where sizes are known in steps only (`K.shape(x)[0]`)."""
    if has_tensors(shape):
        return zeros_op(shape, as_dtype(dtype or floatx()), name)
    return variable(np.zeros(shape, dtype or floatx()), dtype, name)


@export("keras.backend.ones")
def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones; a tensor of ones, where sizes are known in steps only (`K.shape(x)[0]`)."""
    if has_tensors(shape):
        return ones_op(shape, as_dtype(dtype or floatx()), name)
    return variable(np.ones(shape, dtype or floatx()), dtype, name)


@export("keras.backend.eye")
def eye(size: int, dtype: Any = None, name: str | None = None) -> Any:
    """A variable with the identity matrix."""
    return variable(np.eye(size, dtype=dtype or floatx()), dtype, name)


@export("keras.backend.zeros_like")
def zeros_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Zeros of the shape of `x`."""
    return zeros_like_op(x, dtype=dtype, name=name)


@export("keras.backend.ones_like")
def ones_like(x: Any, dtype: Any = None, name: str | None = None) -> Tensor:
    """Ones of the shape of `x`."""
    return ones_like_op(x, dtype=dtype, name=name)


@export("keras.backend.arange")
def arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = "int32") -> Tensor:
    """start, start + step, …, before stop; from 0 to before a start that is above 0, if there is no stop."""
    if stop is None and start < 0:
        start = 0
    numbers = range_op(start, delta=step) if stop is None else range_op(start, stop, step)
    return cast_op(numbers, dtype)


@export("keras.backend.random_uniform_variable")
def random_uniform_variable(
    shape: Any, low: Any, high: Any, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable that begins with numbers between `low` and `high`."""
    return variable(random_uniform(shape, low, high, dtype, seed), dtype, name)


@export("keras.backend.random_normal_variable")
def random_normal_variable(
    shape: Any, mean: Any, scale: Any, dtype: Any = None, name: str | None = None, seed: Any = None
) -> Any:
    """A variable that begins with normally distributed numbers."""
    return variable(random_normal(shape, mean, scale, dtype, seed), dtype, name)


def _seed(seed: Any) -> Any:
    """A seed from NumPy where there is none, as TensorFlow 1.15's Keras draws one."""
    return np.random.randint(10_000_000) if seed is None else seed


@export("keras.backend.random_normal")
def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Normally distributed numbers."""
    return random_normal_op(shape, mean, stddev, dtype or floatx(), _seed(seed))


@export("keras.backend.random_uniform")
def random_uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Uniformly distributed numbers."""
    return random_uniform_op(shape, minval, maxval, dtype or floatx(), _seed(seed))


@export("keras.backend.truncated_normal")
def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Normally distributed numbers within two standard deviations."""
    return truncated_normal_op(shape, mean, stddev, dtype or floatx(), _seed(seed))


@export("keras.backend.random_binomial")
def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Ones with probability `p`, else zeros."""
    return cast_op(random_uniform(shape, seed=seed) <= p, dtype or floatx())


# --- assignments ------------------------------------------------------------------------------------------------------


@export("keras.backend.update")
def update(x: Any, new_x: Any) -> Any:
    """Set a variable."""
    return assign(x, new_x)


@export("keras.backend.update_add")
def update_add(x: Any, increment: Any) -> Any:
    """Add to a variable."""
    return assign_add(x, increment)


@export("keras.backend.update_sub")
def update_sub(x: Any, decrement: Any) -> Any:
    """Subtract from a variable."""
    return assign_sub(x, decrement)


@export("keras.backend.moving_average_update")
def moving_average_update(x: Any, value: Any, momentum: Any) -> Any:
    """x * momentum + value * (1 - momentum), assigned to x."""
    return assign_moving_average(x, value, momentum, zero_debias=False)
