"""Slicing: the Slice op, `tf.strided_slice`, and `tensor[...]`."""

from __future__ import annotations

import builtins
import sys
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.constants import constant_value, partial_value
from penstock.graph.convert import constant, convert_to_tensor
from penstock.graph.opdef import define_op, get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.operators import operator_function
from penstock.graph.scopes import control_dependencies, more_nodes, name_scope
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.array import shape as shape_of_tensor
from penstock.ops.kernel_tools import invalid
from penstock.ops.slice_assign import RESOURCE_STRIDED_SLICE_ASSIGN, STRIDED_SLICE_ASSIGN
from penstock.ops.stacking import PACK
from penstock.ops.strided_slice import MASKS, STRIDED_SLICE
from penstock.runtime.kernels import KernelContext
from penstock.tensor.dtypes import DType, bool as bool_dtype, int32, int64, resource
from penstock.tensor.shapes import Dimension, TensorShape, shape_of

# --- Slice ----------------------------------------------------------------------------------------------

SLICE = define_op(
    "Slice",
    "input: T, begin: Index, size: Index",
    "output: T",
    attrs=["T: type", "Index: indextype"],
    aliases=True,
    bits16="clear",
    launches=True,
    part=True,
)


@SLICE.shape
def slice_shape(c: ShapeContext, x: TensorShape, begin: TensorShape, size: TensorShape) -> TensorShape:
    for vector in (begin, size):
        vector.merge_with(TensorShape([x.ndims]))
    begins: Any = partial_value(c.op._inputs[1])
    sizes: Any = partial_value(c.op._inputs[2])
    rank = next(
        (s.ndims if s is x else s.with_rank(1).tuple[0] for s in (x, begin, size) if s.ndims is not None),
        None,
    )
    if rank is None:
        return UNKNOWN
    begins = [None] * rank if begins is None else begins
    sizes = [None] * rank if sizes is None else sizes
    return shape_of(tuple(map(_slice_dim, x.with_rank(rank).tuple, begins, sizes)))


def _slice_dim(dim: int | None, begin: int | None, size: int | None) -> int | None:
    if (size is not None and size < -1) or (begin is not None and begin < 0):
        raise ValueError(f"A slice cannot begin at {begin} and have size {size}")
    if size == -1:
        if dim is not None and begin is not None and begin > dim:
            raise ValueError(f"A slice cannot begin at {begin} in a dimension of size {dim}")
        return None if dim is None or begin is None else dim - begin
    return size  # also of one that does not fit: TensorFlow builds it, and it may be in a branch that is not taken


@SLICE.value
def slice_value(op: Operation, x: Any, begin: Any, size: Any) -> np.ndarray | None:
    if x is None or begin is None or size is None or (begin + size > x.shape).any():
        return None
    return x[tuple(builtins.slice(b, None if s == -1 else b + s) for b, s in zip(begin, size, strict=True))]


@SLICE.kernel(host=("begin", "size"))
def slice_kernel(ctx: KernelContext) -> Any:
    begin, size, dims = ctx.const("begin"), ctx.const("size"), ctx.input_shape("input").tuple

    def index_of(shape: Any, begins: Any, sizes: Any) -> tuple[Any, ...]:
        if not begins.shape == sizes.shape == (len(shape),):
            raise invalid(
                f"Expected begin and size arguments to be 1-D tensors of size {len(shape)}, "
                f"but got shapes {list(begins.shape)} and {list(sizes.shape)} instead."
            )
        begin, size = begins.tolist(), sizes.tolist()
        ends = [d if s == -1 else b + s for d, b, s in zip(shape, begin, size, strict=True)]
        for d, b, e in zip(shape, begin, ends, strict=True):
            if not 0 <= b <= e <= d:  # slicing itself would return a shorter result
                raise invalid(f"A slice that begins at {begin}, of size {size}, does not fit shape {list(shape)}")
        # The ellipsis makes NumPy return an array instead of a scalar.
        return (*map(builtins.slice, begin, ends), ...)

    if begin is None or size is None:
        return lambda x, begin, size: x[index_of(x.shape, begin, size)]
    if dims is None or None in dims or (begin + size > dims).any():  # which is an error, but only if it runs
        return lambda x, _, __: x[index_of(x.shape, begin, size)]
    index = index_of(dims, begin, size)
    return lambda x, _, __: x[index]


@SLICE.gradient
def slice_gradient(op: Operation, grad: Any) -> list[Any]:
    x, begin, _ = op._inputs
    before, dims, part = constant_value(begin), x.shape, op._outputs[0].shape
    if before is not None and dims.is_fully_defined() and part.is_fully_defined():
        after = np.array(dims.tuple, int) - np.array(part.tuple, int) - before
        paddings: Any = constant(np.stack([before, after], 1).astype(np.int32))
    else:
        minus, dtype = get_op("Sub"), begin.dtype
        rest = minus(minus(shape_of_tensor(x, out_type=dtype), shape_of_tensor(op._outputs[0], out_type=dtype)), begin)
        paddings = PACK([begin, rest], axis=1)
    return [get_op("Pad")(grad, paddings), None, None]


@export("slice")
def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Tensor:
    """The part of `input_` from `begin` on, of shape `size`; a size of -1 means all (TF: tf.slice)."""
    return SLICE(input_, begin, size, name=name)


@export("strided_slice")
def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Tensor:
    """`input_[begin:end:strides]` over several axes; bit i of a mask applies to item i (TF: tf.strided_slice).

    A slice of a variable `var` can be assigned to: `tf.strided_slice(…, var=v).assign(x)`.
    """
    if strides is None:
        begin = convert_to_tensor(begin, name="begin")
        strides = get_op("OnesLike")(begin) if constant_value(begin) is None else np.ones_like(constant_value(begin))
    found = STRIDED_SLICE(
        input_,
        begin,
        end,
        strides,
        begin_mask=begin_mask,
        end_mask=end_mask,
        ellipsis_mask=ellipsis_mask,
        new_axis_mask=new_axis_mask,
        shrink_axis_mask=shrink_axis_mask,
        name=name,
    )
    if var is not None:
        found.__class__ = VariableSlice
    return found


class VariableSlice(Tensor):
    """A slice of a variable: `v[1:3].assign(x)` updates that part of it."""

    __slots__ = ()

    def assign(self, value: Any, name: str | None = None) -> Tensor:
        """Update this part of the variable. Returns the variable's new value."""
        source, begin, end, strides = self.op._inputs
        while not source.dtype._is_ref_dtype and source.dtype != resource:
            if not source.op._inputs:
                raise ValueError("Sliced assignment is only supported for variables")
            source = source.op._inputs[0]  # the node that reads the variable
        masks = {mask: self.op.attrs[mask] for mask in MASKS}
        if source.dtype != resource:
            return STRIDED_SLICE_ASSIGN(source, begin, end, strides, value, name=name, **masks)
        value = convert_to_tensor(value, self.dtype)
        op = RESOURCE_STRIDED_SLICE_ASSIGN(source, begin, end, strides, value, name=name, **masks)
        with control_dependencies([op]):
            return get_op("ReadVariableOp")(source, dtype=self.dtype)


# --- tensor[...] ----------------------------------------------------------------------------------------

_BAD_INDEX = (
    "Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and scalar tf.int32/tf.int64 tensors "
    "are valid indices, got {!r}"
)


@operator_function
def slice_tensor(tensor: Any, item: Any) -> Tensor:
    """`tensor[item]`, for a tensor or a variable: NumPy's basic indexing, or a boolean mask.

    Integers may be tensors. Raises TypeError for an invalid index, ValueError for one known to be out of range. Source:
    TF's Tensor.__getitem__.
    """
    if _is_mask(item):
        from penstock.ops.gather import boolean_mask  # composed of slices

        return boolean_mask(tensor, item)
    items = list(item) if isinstance(item, list | tuple) else [item]
    with name_scope(None, "strided_slice", [tensor, *items]) as scope:
        begin, end, strides, masks = _vectors(items)
        dtype = _index_type([*begin, *end, *strides])
        begins = _index_vector(begin, dtype, "stack")
        ends = _index_vector(end, dtype, "stack_1")
        steps = _index_vector(strides, dtype, "stack_2")
        return strided_slice(
            convert_to_tensor(tensor),
            begins,
            ends,
            steps,
            **masks,
            var=tensor if hasattr(tensor, "_handle_tensor") else None,
            name=scope,
        )


def _is_mask(item: Any) -> bool:
    if isinstance(item, Tensor | np.ndarray | np.generic):
        return item.dtype == bool_dtype
    return isinstance(item, bool)


def _vectors(items: list[Any]) -> tuple[list[Any], list[Any], list[Any], dict[str, Any]]:
    """The begin, end and stride of each item, ints and scalar tensors, and the masks that describe them."""
    rows: list[tuple[Any, Any, Any]] = []
    masks = dict.fromkeys(MASKS, 0)
    for i, item in enumerate(items):
        bit = 1 << i
        row: tuple[Any, Any, Any] = (0, 0, 1)
        if isinstance(item, builtins.slice):
            open_end = item.stop is None or item.stop is sys.maxsize  # what Python's old protocols pass
            masks["begin_mask"] |= bit * (item.start is None)
            masks["end_mask"] |= bit * open_end
            bounds = (item.start, None if open_end else item.stop, item.step)
            row = tuple(d if v is None else _index(v) for v, d in zip(bounds, row, strict=True))
        elif item is Ellipsis:
            masks["ellipsis_mask"] |= bit
        elif item is None:
            masks["new_axis_mask"] |= bit
        else:
            masks["shrink_axis_mask"] |= bit
            at = _index(item)
            # No kernel looks at the end of a single index; for a tensor it would cost an Add.
            row = (at, at if isinstance(at, Tensor) else at + 1, 1)
            more_nodes(2 if isinstance(at, Tensor) else 0)  # TensorFlow adds one to it
        rows.append(row)
    if masks["ellipsis_mask"].bit_count() > 1:
        raise ValueError("Multiple ellipses in slice spec not allowed")
    return [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], masks


def _index(value: Any) -> Any:
    """An index as an int or a scalar tensor; raises TypeError if it is invalid."""
    if hasattr(value, "_handle_tensor"):
        value = convert_to_tensor(value)
    if isinstance(value, Tensor):
        if value.dtype.base_dtype in (int32, int64) and value.shape.ndims in (None, 0):
            return value
    elif isinstance(value, int | np.integer | Dimension) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "iu"
    ):
        return int(value)
    raise TypeError(_BAD_INDEX.format(value))


def _index_type(values: list[Any]) -> DType:
    """int32, unless something requires int64."""
    for value in values:
        wide = value.dtype.base_dtype != int32 if isinstance(value, Tensor) else _is_wide(value)
        if wide:
            return int64
    return int32


def _is_wide(value: Any) -> bool:
    return isinstance(value, int) and not -(2**31) <= value < 2**31


def _index_vector(values: list[Any], dtype: DType, name: str) -> Tensor:
    given = [
        get_op("Cast")(v, DstT=dtype) if isinstance(v, Tensor) and v.dtype.base_dtype != dtype else v for v in values
    ]
    return convert_to_tensor(given, dtype, name=name)
