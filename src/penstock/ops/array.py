"""Shapes and reshaping: ops that return a tensor's shape or change it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.composite import SparseTensor, SparseTensorValue
from penstock.graph.constants import partial_value
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import name_scope
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.kernel_tools import TORCH_TYPES
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import int32, int64
from penstock.tensor.shapes import TensorShape, shape_of

newaxis = None
"""Adds an axis of size 1 in `x[..., tf.newaxis]`."""

# --- Shape, ShapeN, Size, Rank --------------------------------------------------------------------------

SHAPE = define_op(
    "Shape", "input: T", "output: out_type", attrs=["T: type", "out_type: indextype = int32"], of_shapes=True
)
SHAPE.not_differentiable()


@SHAPE.shape
def shape_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    return TensorShape([x.ndims])


@SHAPE.value
def shape_value(op: Operation, _: Any) -> np.ndarray | None:
    dims = op._inputs[0]._shape.tuple
    return None if dims is None else np.array(dims, object)


@SHAPE.kernel(host=("output",))
def shape_kernel(ctx: KernelContext) -> Any:
    array, from_numpy, dtype = np.array, torch.from_numpy, ctx["out_type"].np
    return lambda x: from_numpy(array(x.shape, dtype))  # takes takes half the time of torch.tensor


SHAPE_N = define_op(
    "ShapeN",
    "input: N * T",
    "output: N * out_type",
    attrs=["N: int >= 1", "T: type", "out_type: indextype = int32"],
    of_shapes=True,
)
SHAPE_N.not_differentiable()


@SHAPE_N.shape
def shape_n_shape(c: ShapeContext, xs: list[TensorShape]) -> list[TensorShape]:
    return [TensorShape([x.ndims]) for x in xs]


@SHAPE_N.value
def shape_n_value(op: Operation, *_: Any) -> list[np.ndarray | None]:
    found = [x._shape.tuple for x in op._inputs]
    return [None if dims is None else np.array(dims, object) for dims in found]


@SHAPE_N.kernel(host=("output",))
def shape_n_kernel(ctx: KernelContext) -> Any:
    dtype = ctx.torch_dtype("out_type")
    return lambda xs: tuple(torch.tensor(x.shape, dtype=dtype) for x in xs)


SIZE = define_op(
    "Size", "input: T", "output: out_type", attrs=["T: type", "out_type: indextype = int32"], of_shapes=True
)
SIZE.shape(shape_rules.scalar)
SIZE.not_differentiable()


@SIZE.value
def size_value(op: Operation, _: Any) -> np.ndarray | None:
    return np.array(op._inputs[0]._shape.num_elements(), object)


@SIZE.kernel(host=("output",))
def size_kernel(ctx: KernelContext) -> Any:
    dtype = ctx.torch_dtype("out_type")
    return lambda x: torch.scalar_tensor(math.prod(x.shape), dtype=dtype)


RANK = define_op("Rank", "input: T", "output: int32", attrs=["T: type"], of_shapes=True)
RANK.shape(shape_rules.scalar)
RANK.not_differentiable()


@RANK.value
def rank_value(op: Operation, _: Any) -> np.ndarray | None:
    return np.array(op._inputs[0]._shape.ndims, object)


@RANK.kernel(host=("output",))
def rank_kernel(ctx: KernelContext) -> Any:
    return lambda x: torch.tensor(x.ndim, dtype=torch.int32)


@export("shape")
def shape(input: Any, name: str | None = None, out_type: Any = int32, optimize: bool = True) -> Tensor:
    """The shape of `input` as a vector of `out_type`; a constant if it is known now (TF: tf.shape)."""
    with name_scope(name, "Shape", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            return get_op("Cast")(convert_to_tensor(input.dense_shape, int64), DstT=out_type, name=scope)
        value = convert_to_tensor(input, name="input")
        if optimize and value.shape.is_fully_defined():
            return constant(value.shape.as_list(), out_type, name=scope)
        return SHAPE(value, out_type=out_type, name=scope)


@export("shape_n")
def shape_n(input: Any, out_type: Any = int32, name: str | None = None) -> list[Tensor]:
    """The shapes of several tensors of the same dtype (TF: tf.shape_n)."""
    return SHAPE_N(input, out_type=out_type, name=name)


@export("size")
@of_ragged("rows")
def size(input: Any, name: str | None = None, out_type: Any = int32) -> Tensor:
    """The number of elements of `input`; a constant if it is known now (TF: tf.size)."""
    with name_scope(name, "Size", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            dims = get_op("Cast")(convert_to_tensor(input.dense_shape, int64), DstT=out_type)
            return get_op("Prod")(dims, [0], name=scope)
        value = convert_to_tensor(input, name="input")
        count = value.shape.num_elements()
        return SIZE(value, out_type=out_type, name=scope) if count is None else constant(count, out_type, name=scope)


@export("rank")
@of_ragged("rows")
def rank(input: Any, name: str | None = None) -> Tensor:
    """The number of dimensions of `input`, int32; a constant if it is known now (TF: tf.rank)."""
    with name_scope(name, "Rank", [input]) as scope:
        if isinstance(input, SparseTensor | SparseTensorValue):
            return size(input.dense_shape, name=scope)
        value = convert_to_tensor(input, name="input")
        known = value.shape.ndims
        return RANK(value, name=scope) if known is None else constant(known, int32, name=scope)


# --- Reshape --------------------------------------------------------------------------------------------

RESHAPE = define_op(
    "Reshape",
    "tensor: T, shape: Tshape",
    "output: T",
    attrs=["T: type", "Tshape: indextype = int32"],
    aliases=True,
    bits16="clear",
    view="reshaped",
    launches=True,
)


@RESHAPE.shape
@shape_rules.of_value("shape")
def reshape_shape(c: ShapeContext, x: TensorShape, shape: TensorShape) -> TensorShape:
    if shape.ndims not in (None, 1):
        raise ValueError(f"sizes input must be 1-D, not {shape}")
    wanted = partial_value(c.op._inputs[1])
    if wanted is None:
        return c.constant_shape("shape")
    open_dims = [i for i, d in enumerate(wanted) if d is None or d == -1]
    if sum(d == -1 for d in wanted) > 1 or any(d is not None and d < -1 for d in wanted):
        raise ValueError(f"Only one size may be -1, and none less, in {wanted.tolist()}")
    dims = [None if i in open_dims else int(d) for i, d in enumerate(wanted)]
    count, known = x.num_elements(), math.prod(d for d in dims if d is not None)
    if count is None:
        if not open_dims and x.tuple is not None:
            factor = math.prod(d for d in x.tuple if d is not None)
            if known % factor if factor else known:
                raise ValueError(f"Cannot reshape elements of shape {x} to shape {wanted.tolist()}")
        return shape_of(tuple(dims))
    fits = (count % known == 0 if known else not count) if open_dims else count == known
    if not fits:
        why = f"{count} must be evenly divisible by {known}" if open_dims else f"{known} elements"
        raise ValueError(f"Cannot reshape a tensor with {count} elements to shape {wanted.tolist()} ({why}): it is {x}")
    if len(open_dims) == 1 and known:
        dims[open_dims[0]] = count // known
    return shape_of(tuple(dims))


@RESHAPE.value
def reshape_value(op: Operation, x: Any, shape: Any) -> np.ndarray | None:
    return None if x is None or shape is None else x.reshape(_open_size_filled(x, [int(d) for d in shape]))


@RESHAPE.kernel(host=("shape",))
def reshape_kernel(ctx: KernelContext) -> Any:
    dims = ctx.const("shape")
    if dims is None:
        return lambda x, shape: x.reshape(_open_size_filled(x, shape.tolist()))
    known = tuple(dims.tolist())
    if 0 in known and -1 in known:
        return lambda x, _: x.reshape(_open_size_filled(x, known))
    return lambda x, _: x.reshape(known)


def _open_size_filled(x: Any, dims: Sequence[int]) -> Sequence[int]:
    """`dims` with what -1 stands for beside a 0: as in TensorFlow, the quotient of all other sizes."""
    if 0 not in dims or -1 not in dims:
        return dims
    have, known = (math.prod(size for size in sizes if size) for sizes in (x.shape, [d for d in dims if d != -1]))
    return [have // known if size == -1 else size for size in dims]


@RESHAPE.gradient
def reshape_gradient(op: Operation, grad: Any) -> list[Any]:
    return [RESHAPE(grad, shape(op.inputs[0])), None]


@export("reshape", "manip.reshape")
def reshape(tensor: Any, shape: Any, name: str | None = None) -> Tensor:
    """The elements of `tensor`, in order, in a new shape; one size may be -1, to be inferred (TF: tf.reshape).

    Raises ValueError, or at run time InvalidArgumentError, if the numbers of elements differ.
    """
    return RESHAPE(tensor, shape, name=name)


# --- ExpandDims, Squeeze --------------------------------------------------------------------------------

EXPAND_DIMS = define_op(
    "ExpandDims",
    "input: T, dim: Tdim",
    "output: T",
    attrs=["T: type", "Tdim: indextype = int32"],
    aliases=True,
    bits16="clear",
    view="reshaped",
    launches=True,
)


@EXPAND_DIMS.shape
def expand_dims_shape(c: ShapeContext, x: TensorShape, _: TensorShape) -> TensorShape:
    dim = c.constant("dim")
    if x.ndims is None:
        return UNKNOWN
    if dim is None:
        return TensorShape([None] * (x.ndims + 1))
    at = check_axis(int(dim.reshape(())), x.ndims + 1)
    return shape_of((*x.tuple[:at], 1, *x.tuple[at:]))


@EXPAND_DIMS.value
def expand_dims_value(op: Operation, x: Any, dim: Any) -> np.ndarray | None:
    return None if x is None or dim is None else np.expand_dims(x, int(dim.reshape(())))


@EXPAND_DIMS.kernel("CPU", T="string")
def expand_dims_of_strings(ctx: KernelContext) -> Any:
    return lambda x, dim: np.expand_dims(x, dim.item())


@EXPAND_DIMS.kernel(host=("dim",), T=TORCH_TYPES)
def expand_dims_kernel(ctx: KernelContext) -> Any:
    dim = ctx.const("dim")
    if dim is None:
        return lambda x, dim: x.unsqueeze(dim.item())
    at = dim.item()
    return lambda x, _: x.unsqueeze(at)


@EXPAND_DIMS.gradient
def expand_dims_gradient(op: Operation, grad: Any) -> list[Any]:
    return [RESHAPE(grad, shape(op.inputs[0])), None]


@export("expand_dims")
@of_ragged("rows")
def expand_dims(input: Any, axis: Any = None, name: str | None = None, dim: Any = None) -> Tensor:
    """`input` with an additional axis of size 1 at `axis` (TF: tf.expand_dims; `dim` is the older name)."""
    return EXPAND_DIMS(input, one_of("axis", axis, "dim", dim), name=name)


SQUEEZE = define_op(
    "Squeeze",
    "input: T",
    "output: T",
    attrs=["T: type", "squeeze_dims: list(int) >= 0 = []"],
    aliases=True,
    bits16="clear",
    view="reshaped",
    launches=True,
)


@SQUEEZE.shape
def squeeze_shape(c: ShapeContext, x: TensorShape) -> TensorShape:
    axes = c.attrs["squeeze_dims"]
    if x.ndims is None or (not axes and None in x.tuple):
        return UNKNOWN
    if not axes:
        return shape_of(tuple(d for d in x.tuple if d != 1))
    axes = {check_axis(a, x.ndims) for a in axes}
    for a in axes:
        if x.tuple[a] not in (None, 1):
            raise ValueError(f"Can not squeeze dim[{a}], expected a dimension of 1, got {x.tuple[a]}")
    return shape_of(tuple(d for i, d in enumerate(x.tuple) if i not in axes))


@SQUEEZE.value
def squeeze_value(op: Operation, x: Any) -> np.ndarray | None:
    return None if x is None else x.squeeze(tuple(op.attrs["squeeze_dims"]) or None)


@SQUEEZE.kernel()
def squeeze_kernel(ctx: KernelContext) -> Any:
    axes = tuple(ctx["squeeze_dims"])
    if not axes:
        return lambda x: x.squeeze()

    def squeeze_checked(x: Any) -> Any:
        for axis in axes:  # torch would leave other sizes unchanged
            if x.shape[axis] != 1:
                raise errors.InvalidArgumentError(
                    None, None, f"Can not squeeze dim[{axis}], expected a dimension of 1, got {x.shape[axis]}"
                )
        return x.squeeze(axes)

    dims = ctx.input_shape("input").tuple
    known = dims is not None and all(dims[a] == 1 for a in axes)
    return (lambda x: x.squeeze(axes)) if known else squeeze_checked


@SQUEEZE.gradient
def squeeze_gradient(op: Operation, grad: Any) -> Tensor:
    return RESHAPE(grad, shape(op.inputs[0]))


@export("squeeze")
@of_ragged("rows")
def squeeze(input: Any, axis: Any = None, name: str | None = None, squeeze_dims: Any = None) -> Tensor:
    """`input` without its axes of size 1, or without the ones in `axis` (TF: tf.squeeze)."""
    axis = one_of("axis", axis, "squeeze_dims", squeeze_dims, needed=False)
    if axis is not None and np.ndim(axis) == 0:
        axis = [axis]
    return SQUEEZE(input, squeeze_dims=axis, name=name)


def check_axis(axis: int, rank: int) -> int:
    """`axis` counted from the front. Raises ValueError unless it is one of the axes of a tensor of `rank`."""
    if not -rank <= axis < rank:
        raise ValueError(f"axis {axis} is not in [{-rank}, {rank})")
    return axis % rank


def one_of(name: str, value: Any, old_name: str, old_value: Any, needed: bool = True) -> Any:
    """The argument given under either name; raises ValueError if both are given, or neither although it is required."""
    if value is not None and old_value is not None:
        raise ValueError(f"Cannot specify both {name!r} and {old_name!r}.")
    if needed and value is None and old_value is None:
        raise ValueError(f"Must specify {name!r}.")
    return old_value if value is None else value
