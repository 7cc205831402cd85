"""Tensors with few distinct values: filled, zeros, ones, one-hot, identity matrices, masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.emit.expressions import expression
from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.constants import constant_value
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import Kernel, define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.ragged import of_ragged
from penstock.graph.scopes import more_nodes, name_scope
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import check_axis, expand_dims, rank, reshape, shape as shape_of_tensor
from penstock.ops.kernel_tools import TORCH_TYPES
from penstock.runtime.kernels import KernelContext
from penstock.runtime.tensor_lists import zeros_like_variant
from penstock.tensor.dtypes import DType, as_dtype, bool as bool_dtype, float32, int32, string
from penstock.tensor.shapes import TensorShape

# --- Fill, zeros, ones ----------------------------------------------------------------------------------

FILL = define_op(
    "Fill",
    "dims: index_type, value: T",
    "output: T",
    attrs=["T: type", "index_type: indextype = int32"],
    work=1.0,
    launches=True,
    kind="copy",
)
FILL.fold(lambda op, dims, value: np.full(dims, value))


@FILL.shape
@shape_rules.of_value("dims")
def fill_shape(c: ShapeContext, dims: TensorShape, value: TensorShape) -> TensorShape:
    value.assert_has_rank(0)
    shape = c.constant_shape("dims")  # first: a file can say that there are many dims in few bytes
    known = c.constant("dims")
    if known is not None and (known < 0).any():
        raise ValueError(f"Fill dimensions must be >= 0, got {known.tolist()}")
    return shape


@FILL.value
def fill_value(op: Operation, dims: Any, value: Any) -> np.ndarray | None:
    if dims is None or any(d is None for d in dims.flat) or np.prod(dims) > 64:
        return None
    return np.full([int(d) for d in dims], None if value is None else value[()], object)


@FILL.kernel("CPU", T="string")
def fill_with_string(ctx: KernelContext) -> Any:
    return lambda dims, value: np.full(dims.tolist(), value[()], object)


@FILL.kernel(host=("dims",), T=TORCH_TYPES)
def fill_kernel(ctx: KernelContext) -> Any:
    dims = ctx.const("dims")
    if dims is None:
        return lambda dims, value: value.new_empty(dims.tolist()).fill_(value)
    known = dims.tolist()
    return lambda _, value: value.new_empty(known).fill_(value)


@FILL.gradient
def fill_gradient(op: Operation, grad: Any) -> list[Any]:
    return [None, sum_all(convert_to_tensor(grad))]


def sum_all(x: Tensor) -> Tensor:
    """The sum of all elements."""
    axes = get_op("Range")(0, rank(x), 1) if x.shape.ndims is None else constant(np.arange(x.shape.ndims, dtype="i4"))
    return get_op("Sum")(x, axes)


@export("fill")
def fill(dims: Any, value: Any, name: str | None = None) -> Tensor:
    """A tensor of shape `dims`, every element `value` (TF: tf.fill)."""
    return FILL(dims, value, name=name)


def _filled(value: int, shape: Any, dtype: Any, scope: str) -> Tensor:
    """A constant if it is small, otherwise a Fill. `value` is 0 or 1."""
    dtype = as_dtype(dtype).base_dtype
    element: Any = (b"" if not value else b"1") if dtype == string else bool(value) if dtype.is_bool else value
    if not isinstance(shape, Tensor):
        try:
            static = TensorShape(shape)
        except (TypeError, ValueError):  # has tensors in it
            more_nodes(2 + sum(1 if isinstance(n, Tensor) else 2 for n in shape[1:]))  # it asks whether there are few
            shape = convert_to_tensor(shape, int32, name="packed")
        else:
            count = static.num_elements()
            if count is not None and count < 1000:
                return constant(element, dtype, static, name=scope)
            shape = convert_to_tensor(static)
    if shape.shape.ndims == 0:
        shape = reshape(shape, [-1])
    return FILL(shape, constant(element, dtype), name=scope)


@export("zeros")
def zeros(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Zeros (empty strings, False) of `shape`, which may be a tensor (TF: tf.zeros)."""
    with name_scope(name, "zeros", [shape]) as scope:
        return _filled(0, shape, dtype, scope)


@export("ones")
def ones(shape: Any, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Ones of `shape`, which may be a tensor (TF: tf.ones)."""
    with name_scope(name, "ones", [shape]) as scope:
        return _filled(1, shape, dtype, scope)


# --- ZerosLike, OnesLike --------------------------------------------------------------------------------

ZEROS_LIKE = define_op("ZerosLike", "x: T", "y: T", attrs=["T: type"], work=1.0, bits16="clear", kind="copy")
ZEROS_LIKE.shape(shape_rules.unchanged)
ZEROS_LIKE.kernel("CPU", T="string")(lambda n: lambda x: np.full(x.shape, b"", object))
ZEROS_LIKE.kernel(T=TORCH_TYPES)(lambda n: torch.zeros_like)
ZEROS_LIKE.not_differentiable()


@ZEROS_LIKE.kernel("CPU", T="variant")
def zeros_like_variant_kernel(ctx: KernelContext) -> Kernel:
    """A list of tensors has zeros like each of them."""
    return zeros_like_variant


ONES_LIKE = define_op(
    "OnesLike",
    "x: T",
    "y: T",
    attrs=[
        "T: {bfloat16, half, float, double, int8, uint8, int16, uint16, int32, uint32, int64, uint64, "
        "complex64, complex128, bool}"
    ],
    work=1.0,
    kind="copy",
)
ONES_LIKE.shape(shape_rules.unchanged)
ONES_LIKE.kernel()(lambda n: torch.ones_like)
ONES_LIKE.not_differentiable()


@export("zeros_like")
@of_ragged("elements")
def zeros_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Zeros with the shape of `tensor`, and with its dtype unless another is given (TF: tf.zeros_like).

    With `optimize` a static shape makes it a constant; then any false dtype is none, as in zeros_like(x, False).
    """
    with name_scope(name, "zeros_like", [tensor]) as scope:
        x = convert_to_tensor(tensor, name="tensor")
        constant = optimize and x.shape.is_fully_defined()
        wanted = x.dtype.base_dtype if dtype is None or (constant and not dtype) else as_dtype(dtype).base_dtype
        if constant:
            return _filled(0, x.shape, wanted, scope)
        if wanted == x.dtype.base_dtype:
            return ZEROS_LIKE(x, name=scope)
        return _like(0, x, wanted, optimize, scope)


@export("ones_like")
@of_ragged("elements")
def ones_like(tensor: Any, dtype: Any = None, name: str | None = None, optimize: bool = True) -> Tensor:
    """Ones with the shape of `tensor`, and with its dtype unless another is given (TF: tf.ones_like)."""
    with name_scope(name, "ones_like", [tensor]) as scope:
        x = convert_to_tensor(tensor, name="tensor")
        wanted = x.dtype.base_dtype if dtype is None else as_dtype(dtype).base_dtype
        if optimize and x.shape.is_fully_defined():
            found = _filled(1, x.shape, wanted, scope)
            more_nodes(2 if found.op.type == "Const" else 0)  # the shape, and a one to fill it with
            return found
        return _like(1, x, wanted, optimize, scope)


def _like(value: int, x: Tensor, dtype: DType, optimize: bool, scope: str) -> Tensor:
    found = _filled(value, shape_of_tensor(x, optimize=optimize), dtype, scope)
    found.set_shape(x.shape)
    return found


# --- OneHot ---------------------------------------------------------------------------------------------

ONE_HOT = define_op(
    "OneHot",
    "indices: TI, depth: int32, on_value: T, off_value: T",
    "output: T",
    attrs=["axis: int = -1", "T: type", "TI: {uint8, int8, int32, int64} = int64"],
    work=1.0,
    kind="copy",
)
ONE_HOT.not_differentiable()


@ONE_HOT.shape
def one_hot_shape(
    c: ShapeContext, indices: TensorShape, depth: TensorShape, on: TensorShape, off: TensorShape
) -> TensorShape:
    for scalar in (depth, on, off):
        scalar.assert_has_rank(0)
    known = c.constant("depth")
    if known is not None and known < 0:
        raise ValueError(f"depth must be non-negative, got: {known}")
    if indices.ndims is None:
        return UNKNOWN
    at = check_axis(c.attrs["axis"], indices.ndims + 1)
    return TensorShape([*indices.tuple[:at], None if known is None else int(known), *indices.tuple[at:]])


@ONE_HOT.kernel("CPU", T="string", host=("depth",))
@ONE_HOT.kernel(host=("depth",), T=TORCH_TYPES)
def one_hot_kernel(ctx: KernelContext) -> Any:
    axis, device = ctx["axis"], ctx.device
    choose = np.where if ctx["T"] == string else torch.where

    def classes(depth: int, rank: int) -> torch.Tensor:
        """0 … depth-1 along the new axis."""
        if depth < 0:
            raise errors.InvalidArgumentError(None, None, f"depth must be non-negative, got: {depth}")
        after = 0 if axis == -1 else rank - axis
        return torch.arange(depth, device=device).reshape([-1] + [1] * after)

    def one_hot(indices: torch.Tensor, depth: torch.Tensor, on: Any, off: Any) -> Any:
        return choose(indices.unsqueeze(axis) == classes(int(depth.item()), indices.ndim), on, off)

    depth, rank = ctx.const("depth"), ctx.input_shape("indices").ndims
    if depth is None or rank is None:
        return one_hot
    known = classes(depth.item(), rank)
    return lambda indices, _, on, off: choose(indices.unsqueeze(axis) == known, on, off)


@export("one_hot")
@of_ragged("rows")
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """For each index a vector of `depth` elements along `axis`: `on_value` at the index, `off_value` elsewhere.

    An index outside [0, depth) produces all `off_value`. Raises TypeError if the values' dtypes and `dtype` disagree.
    TF: tf.one_hot.
    """
    with name_scope(name, "one_hot", [indices, depth, on_value, off_value, dtype]) as scope:
        wanted = None if dtype is None else as_dtype(dtype)
        given = [convert_to_tensor(v, wanted) for v in (on_value, off_value) if v is not None]
        if len({t.dtype.base_dtype for t in given}) > 1:
            raise TypeError(f"dtypes of on_value and off_value differ: {given[0].dtype}, {given[1].dtype}")
        wanted = wanted or (given[0].dtype.base_dtype if given else float32)
        if len(given) < 2 and not (wanted.is_floating or wanted.is_integer or wanted.is_complex or wanted.is_bool):
            raise TypeError(f"on_value and off_value must be given for dtype {wanted.name}")
        on = given.pop(0) if on_value is not None else _filled(1, [], wanted, "on_value")
        off = given.pop(0) if off_value is not None else _filled(0, [], wanted, "off_value")
        return ONE_HOT(indices, depth, on, off, axis=-1 if axis is None else axis, name=scope)


# --- composed of other ops ------------------------------------------------------------------------------


@export("eye", "linalg.eye")
def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = float32,
    name: str | None = None,
) -> Tensor:
    """An identity matrix, or a batch of them: [*batch_shape, num_rows, num_columns] (TF: tf.eye)."""
    with name_scope(name, "eye", [num_rows, num_columns, batch_shape]) as scope:
        batch = [] if batch_shape is None else batch_shape
        square = num_columns is None
        rows: Any
        shorter: Any
        columns = num_rows if square else num_columns
        if isinstance(num_rows, Tensor) or isinstance(columns, Tensor):
            rows, columns = (convert_to_tensor(x, int32) for x in (num_rows, columns))
            shorter = rows if square else get_op("Minimum")(rows, columns)
        else:
            rows, columns = int(num_rows), int(columns)
            shorter = min(rows, columns)
        if isinstance(batch, Tensor):
            join = get_op("ConcatV2")
            ends = [join([batch, convert_to_tensor(e, int32)], 0) for e in ([shorter], [rows, columns])]
        else:
            ends = [[*list(batch), shorter], [*list(batch), rows, columns]]
        diagonal = ones(ends[0], dtype)
        if square:
            return get_op("MatrixDiag")(diagonal, name="diag")
        return get_op("MatrixSetDiag")(zeros(ends[1], dtype), diagonal, name=scope)


@export("sequence_mask")
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = bool_dtype, name: str | None = None) -> Tensor:
    """[..., maxlen]: whether a position is before its length (TF: tf.sequence_mask).

    `maxlen` None: the longest of `lengths`.
    """
    with name_scope(name, "SequenceMask", [lengths, maxlen]):
        lengths = convert_to_tensor(lengths)
        known = constant_value(lengths)
        if maxlen is None and known is not None:
            maxlen = constant(max(0, known.max(initial=0)), lengths.dtype.base_dtype)
        elif maxlen is None:
            longest = get_op("Max")(lengths, get_op("Range")(0, rank(lengths), 1))
            maxlen = get_op("Maximum")(constant(0, longest.dtype), longest)
        else:
            maxlen = convert_to_tensor(maxlen)
        if maxlen.shape.ndims not in (None, 0):
            raise ValueError(f"maxlen must be scalar for sequence_mask, not of shape {maxlen.shape}")
        positions = get_op("Range")(constant(0, maxlen.dtype), maxlen, constant(1, maxlen.dtype))
        ends = get_op("Cast")(expand_dims(lengths, -1), DstT=maxlen.dtype.base_dtype)
        mask = get_op("Less")(positions, ends)
        dtype = as_dtype(dtype)
        return mask if dtype.is_bool else get_op("Cast")(mask, DstT=dtype)


# --- in C -----------------------------------------------------------------------------------------------

expression("ZerosLike", "0", "0", "0", weight=0)
expression("OnesLike", "1", "1", "1", weight=0)
