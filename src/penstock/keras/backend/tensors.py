"""Keras' functions of tensors, over those of tf: reductions with `keepdims`, products, shapes, random tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.client.variable import Variable
from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import constant as constant_op, convert_to_tensor
from penstock.graph.operation import Tensor
from penstock.keras.backend.settings import check_data_format, floatx
from penstock.keras.backend.state import learning_phase, variable
from penstock.layers.core import choose
from penstock.ops.arg_reductions import argmax as argmax_op, argmin as argmin_op
from penstock.ops.arithmetic import maximum as maximum_op, minimum as minimum_op, pow as pow_op
from penstock.ops.array import (
    expand_dims as expand_dims_op,
    reshape as reshape_op,
    shape as shape_op,
    squeeze as squeeze_op,
)
from penstock.ops.basic import identity as identity_op, placeholder as placeholder_op
from penstock.ops.cast import cast as cast_op
from penstock.ops.clip import clip_by_value
from penstock.ops.compare import (
    equal as equal_op,
    greater as greater_op,
    greater_equal as greater_equal_op,
    less as less_op,
    less_equal as less_equal_op,
    logical_and,
    not_equal as not_equal_op,
)
from penstock.ops.control_flow.functional import foldl as foldl_op, map_fn as map_fn_op
from penstock.ops.einsum import einsum, tensordot
from penstock.ops.filling import one_hot as one_hot_op, ones_like as ones_like_op, zeros_like as zeros_like_op
from penstock.ops.image_resize import resize_bilinear, resize_nearest_neighbor
from penstock.ops.joining import concat
from penstock.ops.layout import transpose as transpose_op
from penstock.ops.logging import Print
from penstock.ops.matrix import matmul
from penstock.ops.nn.embedding import embedding_lookup
from penstock.ops.padding import pad
from penstock.ops.partition import where
from penstock.ops.passing import stop_gradient as stop_gradient_op
from penstock.ops.random import (
    random_normal as random_normal_op,
    random_uniform as random_uniform_op,
    truncated_normal as truncated_normal_op,
)
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
from penstock.ops.reversing import reverse as reverse_op, tile as tile_op
from penstock.ops.rounding import round as round_op
from penstock.ops.scan import cumprod as cumprod_op, cumsum as cumsum_op
from penstock.ops.sequences import range as range_op
from penstock.ops.sparse_functions import sparse_placeholder
from penstock.ops.sparse_to_dense import sparse_tensor_to_dense
from penstock.ops.stacking import stack as stack_op
from penstock.ops.state import assign, assign_add, assign_sub
from penstock.ops.trigonometry import cos as cos_op, sin as sin_op
from penstock.ops.unary import (
    abs as abs_op,
    exp as exp_op,
    log as log_op,
    sign as sign_op,
    sqrt as sqrt_op,
    square as square_op,
)
from penstock.tensor.dtypes import as_dtype
from penstock.tensor.shapes import TensorShape
from penstock.train.moving_averages import assign_moving_average

_Axis = Any


# --- what a tensor is -----------------------------------------------------------------------------------


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


# --- new tensors ----------------------------------------------------------------------------------------


@export("keras.backend.constant")
def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Tensor:
    """A constant, by default of the dtype `floatx`."""
    return constant_op(value, dtype or floatx(), shape, name or "Const")


@export("keras.backend.zeros")
def zeros(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of zeros."""
    return variable(np.zeros(shape, dtype or floatx()), dtype, name)


@export("keras.backend.ones")
def ones(shape: Any, dtype: Any = None, name: str | None = None) -> Any:
    """A variable of ones."""
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
    """start, start + step, …, before stop."""
    numbers = range_op(start, delta=step) if stop is None else range_op(start, stop, step)
    return cast_op(numbers, dtype)


@export("keras.backend.random_normal")
def random_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Normally distributed numbers."""
    return random_normal_op(shape, mean, stddev, dtype or floatx(), seed)


@export("keras.backend.random_uniform")
def random_uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Uniformly distributed numbers."""
    return random_uniform_op(shape, minval, maxval, dtype or floatx(), seed)


@export("keras.backend.truncated_normal")
def truncated_normal(shape: Any, mean: float = 0.0, stddev: float = 1.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Normally distributed numbers within two standard deviations."""
    return truncated_normal_op(shape, mean, stddev, dtype or floatx(), seed)


@export("keras.backend.random_binomial")
def random_binomial(shape: Any, p: float = 0.0, dtype: Any = None, seed: Any = None) -> Tensor:
    """Ones with probability `p`, else zeros."""
    return cast_op(random_uniform(shape, seed=seed) <= p, dtype or floatx())


# --- assignments ----------------------------------------------------------------------------------------


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


# --- products -------------------------------------------------------------------------------------------


@export("keras.backend.dot")
def dot(x: Any, y: Any) -> Tensor:
    """The product over the last axis of `x` and the last but one of `y`."""
    x, y = convert_to_tensor(x), convert_to_tensor(y)
    if x.shape.ndims == 2 and y.shape.ndims == 2:
        return matmul(x, y)
    return tensordot(x, y, [[x.shape.ndims - 1], [y.shape.ndims - 2 if y.shape.ndims > 1 else 0]])


@export("keras.backend.batch_dot")
def batch_dot(x: Any, y: Any, axes: Any = None) -> Tensor:
    """The product over one axis of `x` and one of `y` for each element of the batch, of at least rank 2."""
    x_rank, y_rank = ndim(x), ndim(y)
    assert x_rank is not None and y_rank is not None
    if axes is None:
        axes = [x_rank - 1, y_rank - 2 if y_rank > 2 else 1]
    first, second = (axes, axes) if isinstance(axes, int) else axes
    first, second = first % x_rank, second % y_rank
    letters = iter("bcdefghijklmn")
    left, right = ["a"] + [next(letters) for _ in range(x_rank - 1)], ["a"] + [next(letters) for _ in range(y_rank - 1)]
    right[second] = left[first]
    result = [c for c in left if c != left[first]] + [c for c in right[1:] if c != left[first]]
    product = einsum(f"{''.join(left)},{''.join(right)}->{''.join(result)}", x, y)
    return expand_dims_op(product, 1) if len(result) == 1 else product


@export("keras.backend.transpose")
def transpose(x: Any) -> Tensor:
    """The axes in the opposite order."""
    return transpose_op(x)


@export("keras.backend.gather")
def gather(reference: Any, indices: Any) -> Tensor:
    """The rows of `reference` with these numbers."""
    return embedding_lookup(reference, indices)


# --- reductions -----------------------------------------------------------------------------------------


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


# --- shapes ---------------------------------------------------------------------------------------------


@export("keras.backend.cast")
def cast(x: Any, dtype: Any) -> Tensor:
    return cast_op(x, dtype)


@export("keras.backend.concatenate")
def concatenate(tensors: Any, axis: int = -1) -> Tensor:
    """The tensors one after another along `axis`."""
    tensors = [to_dense(tensor) for tensor in tensors]
    rank = ndim(tensors[0])
    return concat(tensors, axis % rank if axis < 0 and rank else axis)


@export("keras.backend.reshape")
def reshape(x: Any, shape: Any) -> Tensor:
    return reshape_op(x, shape)


@export("keras.backend.permute_dimensions")
def permute_dimensions(x: Any, pattern: Any) -> Tensor:
    return transpose_op(x, list(pattern))


@export("keras.backend.flatten")
def flatten(x: Any) -> Tensor:
    """One axis with all elements."""
    return reshape_op(x, [-1])


@export("keras.backend.batch_flatten")
def batch_flatten(x: Any) -> Tensor:
    """All axes but the first as one."""
    sizes = TensorShape(x.shape)[1:]
    return reshape_op(x, [-1, sizes.num_elements() if sizes.is_fully_defined() else reduce_prod(shape_op(x)[1:])])


@export("keras.backend.repeat")
def repeat(x: Any, n: int) -> Tensor:
    """[a, b] -> [a, n, b]."""
    return tile_op(expand_dims_op(x, 1), [1, n, 1])


@export("keras.backend.repeat_elements")
def repeat_elements(x: Any, rep: int, axis: int) -> Tensor:
    """Each element along `axis` `rep` times, one after another."""
    rank = ndim(x)
    assert rank is not None
    axis %= rank
    dims, known = shape_op(x), x.shape.as_list()
    sizes = [dims[i] if size is None else size for i, size in enumerate(known)]
    repeated = tile_op(expand_dims_op(x, axis + 1), [1] * (axis + 1) + [rep] + [1] * (rank - axis - 1))
    return reshape_op(repeated, [*sizes[:axis], sizes[axis] * rep, *sizes[axis + 1 :]])


@export("keras.backend.tile")
def tile(x: Any, n: Any) -> Tensor:
    return tile_op(x, [n] if isinstance(n, int) else n)


@export("keras.backend.expand_dims")
def expand_dims(x: Any, axis: int = -1) -> Tensor:
    return expand_dims_op(x, axis)


@export("keras.backend.squeeze")
def squeeze(x: Any, axis: int) -> Tensor:
    return squeeze_op(x, [axis])


@export("keras.backend.shape")
def shape(x: Any) -> Tensor:
    return shape_op(x)


@export("keras.backend.stack")
def stack(x: Any, axis: int = 0) -> Tensor:
    return stack_op(x, axis)


@export("keras.backend.reverse")
def reverse(x: Any, axes: Any) -> Tensor:
    return reverse_op(x, [axes] if isinstance(axes, int) else axes)


@export("keras.backend.one_hot")
def one_hot(indices: Any, num_classes: int) -> Tensor:
    return one_hot_op(indices, num_classes, axis=-1)


@export("keras.backend.temporal_padding")
def temporal_padding(x: Any, padding: tuple[int, int] = (1, 1)) -> Tensor:
    """Zeros before and after the middle axis of a tensor of rank 3."""
    return pad(x, [[0, 0], list(padding), [0, 0]])


@export("keras.backend.spatial_2d_padding")
def spatial_2d_padding(x: Any, padding: Any = ((1, 1), (1, 1)), data_format: str | None = None) -> Tensor:
    """Zeros around images."""
    rows = [list(sides) for sides in padding]
    first = check_data_format(data_format) == "channels_first"
    return pad(x, [[0, 0], [0, 0], *rows] if first else [[0, 0], *rows, [0, 0]])


@export("keras.backend.resize_images")
def resize_images(
    x: Any, height_factor: int, width_factor: int, data_format: str, interpolation: str = "nearest"
) -> Tensor:
    """Images enlarged by whole factors."""
    if data_format == "channels_first":
        x = transpose_op(x, [0, 2, 3, 1])
    dims, known = shape_op(x), x.shape.as_list()
    resize = {"nearest": resize_nearest_neighbor, "bilinear": resize_bilinear}[interpolation]
    enlarged = resize(x, [dims[1] * height_factor, dims[2] * width_factor])
    height, width = (
        None if n is None else n * f for n, f in zip(known[1:3], (height_factor, width_factor), strict=True)
    )
    enlarged.set_shape([known[0], height, width, known[3]])
    return transpose_op(enlarged, [0, 3, 1, 2]) if data_format == "channels_first" else enlarged


# --- one element at a time ------------------------------------------------------------------------------


@export("keras.backend.clip")
def clip(x: Any, min_value: Any, max_value: Any) -> Tensor:
    """`x` within the two limits."""
    if max_value is not None and isinstance(max_value, int | float) and max_value < min_value:
        max_value = min_value
    return clip_by_value(x, min_value, np.inf if max_value is None else max_value)


@export("keras.backend.pow")
def pow(x: Any, a: Any) -> Tensor:
    return pow_op(x, a)


@export("keras.backend.sqrt")
def sqrt(x: Any) -> Tensor:
    """The square root, 0 for negative numbers."""
    return sqrt_op(maximum_op(x, 0.0))


def _elementwise(name: str, function: Any) -> Any:
    def apply(*tensors: Any) -> Tensor:
        return function(*tensors)

    apply.__name__ = apply.__qualname__ = name
    apply.__doc__ = function.__doc__
    return apply


abs = export("keras.backend.abs")(_elementwise("abs", abs_op))
square = export("keras.backend.square")(_elementwise("square", square_op))
exp = export("keras.backend.exp")(_elementwise("exp", exp_op))
log = export("keras.backend.log")(_elementwise("log", log_op))
round = export("keras.backend.round")(_elementwise("round", round_op))
sign = export("keras.backend.sign")(_elementwise("sign", sign_op))
sin = export("keras.backend.sin")(_elementwise("sin", sin_op))
cos = export("keras.backend.cos")(_elementwise("cos", cos_op))
equal = export("keras.backend.equal")(_elementwise("equal", equal_op))
not_equal = export("keras.backend.not_equal")(_elementwise("not_equal", not_equal_op))
greater = export("keras.backend.greater")(_elementwise("greater", greater_op))
greater_equal = export("keras.backend.greater_equal")(_elementwise("greater_equal", greater_equal_op))
less = export("keras.backend.less")(_elementwise("less", less_op))
less_equal = export("keras.backend.less_equal")(_elementwise("less_equal", less_equal_op))
maximum = export("keras.backend.maximum")(_elementwise("maximum", maximum_op))
minimum = export("keras.backend.minimum")(_elementwise("minimum", minimum_op))
stop_gradient = export("keras.backend.stop_gradient")(_elementwise("stop_gradient", stop_gradient_op))
identity = export("keras.backend.identity")(_elementwise("identity", identity_op))


# --- branches and loops ---------------------------------------------------------------------------------


@export("keras.backend.switch")
def switch(condition: Any, then_expression: Any, else_expression: Any) -> Any:
    """One of two tensors, or of two functions' results: for a scalar condition, or element by element."""
    if ndim(condition) == 0:
        then = then_expression if callable(then_expression) else lambda: then_expression
        other = else_expression if callable(else_expression) else lambda: else_expression
        return choose(condition, lambda: identity_op(then()), lambda: identity_op(other()))
    then = then_expression() if callable(then_expression) else then_expression
    other = else_expression() if callable(else_expression) else else_expression
    condition = cast_op(condition, "bool")
    while ndim(condition) < ndim(then):  # type: ignore[operator]
        condition = expand_dims_op(condition, -1)
    return where(logical_and(condition, ones_like_op(then, dtype="bool")), then, other)


@export("keras.backend.in_train_phase")
def in_train_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`x` in training, otherwise `alt`; each is a tensor or a function."""
    training = learning_phase() if training is None else training
    return choose(
        training,
        x if callable(x) else lambda: identity_op(x),
        alt if callable(alt) else lambda: identity_op(alt),
    )


@export("keras.backend.in_test_phase")
def in_test_phase(x: Any, alt: Any, training: Any = None) -> Any:
    """`alt` in training, otherwise `x`; each is a tensor or a function."""
    return in_train_phase(alt, x, training)


@export("keras.backend.map_fn")
def map_fn(fn: Any, elems: Any, name: str | None = None, dtype: Any = None) -> Any:
    return map_fn_op(fn, elems, name=name, dtype=dtype)


@export("keras.backend.foldl")
def foldl(fn: Any, elems: Any, initializer: Any = None, name: str | None = None) -> Any:
    return foldl_op(fn, elems, initializer, name=name)


@export("keras.backend.print_tensor")
def print_tensor(x: Any, message: str = "") -> Tensor:
    """`x`, printed whenever a step computes it."""
    return Print(x, [x], message)
