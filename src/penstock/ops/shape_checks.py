"""Assertions and predicates about rank, shape, type and order of tensors (TF: tf.assert_rank and related ops)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.composite import SparseTensor
from penstock.graph.constants import constant_value
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import control_dependencies, more_nodes, name_scope
from penstock.ops.basic import no_op
from penstock.ops.checks import Count, Text, all_of
from penstock.ops.logging import Assert
from penstock.tensor.dtypes import DType, as_dtype

# --- rank, shape and type -------------------------------------------------------------------------------


def _assert_rank(
    x: Any,
    ranks: Iterable[Any],
    phrase: str,
    fits: Callable[[int, Any], bool],
    op: str,
    data: Any,
    summarize: Count,
    message: Text,
    name: Text,
    default_name: str,
) -> Operation:
    with name_scope(name, default_name, [x, data]):
        x = convert_to_tensor(x, name="x")
        wanted = [convert_to_tensor(rank, name="rank") for rank in ranks]
        if any(rank.shape.ndims not in (None, 0) for rank in wanted):
            raise ValueError("Rank must be a scalar.")
        known = [constant_value(rank) for rank in wanted]
        if any(value is not None and value.dtype.kind not in "iu" for value in known):
            raise TypeError(f"ranks are integers, not {[value.dtype for value in known if value is not None]}")
        if x.shape.ndims is not None and all(value is not None for value in known):
            numbers = [int(value) for value in known if value is not None]
            if any(fits(x.shape.ndims, number) for number in numbers):
                more_nodes(1 + len(wanted))  # TensorFlow checks types of ranks by nodes, too
                return no_op("static_checks_determined_all_ok")
            shown = numbers[0] if len(numbers) == 1 and default_name != "assert_rank_in" else tuple(numbers)
            raise ValueError(
                f"{f'{message}.  ' if message else ''}Tensor {x.name} must have {phrase} {shown}.  "
                f"Received rank {x.shape.ndims}, shape {x.shape}"
            )
        scalar = [
            Assert(get_op("Equal")(get_op("Rank")(r), 0), ["Rank must be a scalar."])
            for r in wanted
            if r.shape.ndims is None
        ]
        with control_dependencies(scalar):
            rank = get_op("Rank")(x)
        more_nodes(len(wanted))
        holds = get_op(op)(rank, wanted[0])
        for other in wanted[1:]:
            holds = get_op("LogicalOr")(holds, get_op(op)(rank, other))
        if data is None:
            data = [
                message or "",
                f"Tensor {x.name} must have {phrase}",
                *wanted,
                "Received shape: ",
                get_op("Shape")(x),
            ]
        return Assert(holds, data, summarize=summarize)


@export("assert_rank", "debugging.assert_rank")
def assert_rank(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails unless `x` has `rank` dimensions: raises ValueError now, or otherwise InvalidArgumentError at run time."""
    return _assert_rank(
        x,
        [rank],
        "rank",
        lambda have, want: have == want,
        "Equal",
        data,
        summarize,
        message,
        name,
        "assert_rank",
    )


@export("assert_rank_at_least", "debugging.assert_rank_at_least")
def assert_rank_at_least(
    x: Any,
    rank: Any,
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails unless `x` has at least `rank` dimensions; raises the same errors as `assert_rank`."""
    return _assert_rank(
        x,
        [rank],
        "rank at least",
        lambda have, want: have >= want,
        "GreaterEqual",
        data,
        summarize,
        message,
        name,
        "assert_rank_at_least",
    )


@export("assert_rank_in", "debugging.assert_rank_in")
def assert_rank_in(
    x: Any,
    ranks: Iterable[Any],
    data: Any = None,
    summarize: Count = None,
    message: Text = None,
    name: Text = None,
) -> Operation:
    """Fails unless the rank of `x` is one of `ranks`; raises the same errors as `assert_rank`."""
    return _assert_rank(
        x,
        ranks,
        "rank in",
        lambda have, want: have == want,
        "Equal",
        data,
        summarize,
        message,
        name,
        "assert_rank_in",
    )


@export("assert_scalar", "debugging.assert_scalar", "contrib.framework.assert_scalar")
def assert_scalar(tensor: Any, name: Text = None, message: Text = None) -> Tensor:
    """`tensor`, converted; raises ValueError unless its static shape is that of a scalar."""
    with name_scope(name, "assert_scalar", [tensor]) as scope:
        tensor = convert_to_tensor(tensor, name=scope)
        if tensor.shape.ndims != 0:
            prefix = f"{message}. " if message else ""
            raise ValueError(f"{prefix}Expected scalar shape for {tensor.name}, saw shape: {tensor.shape}.")
        return tensor


@export("assert_integer", "debugging.assert_integer")
def assert_integer(x: Any, message: Text = None, name: Text = None) -> Operation:
    """Raises TypeError unless `x` has an integer type."""
    with name_scope(name, "assert_integer", [x]):
        x = convert_to_tensor(x, name="x")
        if not x.dtype.is_integer:
            prefix = f"{message}  " if message else ""
            raise TypeError(f'{prefix}Expected "x" to be integer type.  Found: {x.name} of dtype {x.dtype!r}')
        return no_op("statically_determined_was_integer")


@export("assert_type", "debugging.assert_type")
def assert_type(tensor: Any, tf_type: Any, message: Text = None, name: Text = None) -> Operation:
    """Raises TypeError unless the dtype of `tensor` is `tf_type`."""
    wanted = as_dtype(tf_type)
    with name_scope(name, "assert_type", [tensor]):
        tensor = convert_to_tensor(tensor, name="tensor")
        if tensor.dtype != wanted:
            prefix = f"{message}.  " if message else ""
            raise TypeError(f"{prefix}{tensor.name} must be of type {wanted!r}; got {tensor.dtype!r}")
        return no_op("statically_determined_correct_type")


@export("assert_proper_iterable", "debugging.assert_proper_iterable")
def assert_proper_iterable(values: Any) -> None:
    """Raises TypeError unless `values` is an iterable other than a tensor, array or string."""
    strange = (Tensor, SparseTensor, np.ndarray, bytes, str)
    if isinstance(values, strange) or hasattr(values, "_as_graph_element"):
        raise TypeError(f'Expected argument "values" to be a "proper" iterable.  Found: {type(values)}')
    if not hasattr(values, "__iter__"):
        raise TypeError(f'Expected argument "values" to be iterable.  Found: {type(values)}')


@export("assert_same_float_dtype", "debugging.assert_same_float_dtype", "contrib.framework.assert_same_float_dtype")
def assert_same_float_dtype(tensors: Any = None, dtype: Any = None) -> DType:
    """The common floating type of all `tensors` (and `dtype`); raises ValueError for different types or other kinds."""
    found = None if dtype is None else as_dtype(dtype).base_dtype
    for tensor in (tensor for tensor in tensors or [] if tensor is not None):
        have = tensor.dtype.base_dtype
        if found is None:
            found = have
        elif have != found:
            raise ValueError(
                f"Tensor {getattr(tensor, 'name', tensor)} is {have.name}, expected {found.name} as of the others"
            )
    found = found or as_dtype("float32")
    if not found.is_floating:
        raise ValueError(f"Expected floating point type, got {found.name}.")
    return found


# --- predicates -----------------------------------------------------------------------------------------


@export("is_numeric_tensor", "debugging.is_numeric_tensor")
def is_numeric_tensor(tensor: Any) -> bool:
    """Whether it is a tensor of numbers."""
    return isinstance(tensor, Tensor) and (
        tensor.dtype.is_integer or tensor.dtype.is_floating or tensor.dtype.is_complex
    )


@export("is_non_decreasing", "debugging.is_non_decreasing", "math.is_non_decreasing")
def is_non_decreasing(x: Any, name: Text = None) -> Tensor:
    """Whether each element (in row-major order) is at least the one before: bool scalar."""
    with name_scope(name, "is_non_decreasing", [x]):
        return _in_order("LessEqual", x)


@export("is_strictly_increasing", "debugging.is_strictly_increasing", "math.is_strictly_increasing")
def is_strictly_increasing(x: Any, name: Text = None) -> Tensor:
    """Whether each element (in row-major order) is more than the one before: bool scalar."""
    with name_scope(name, "is_strictly_increasing", [x]):
        return _in_order("Less", x)


def _in_order(op: str, x: Any) -> Tensor:
    flat = get_op("Reshape")(convert_to_tensor(x, name="x"), [-1])
    strided = get_op("StridedSlice")
    before = strided(flat, [0], [-1], [1], begin_mask=1)
    after = strided(flat, [1], [0], [1], end_mask=1)
    return all_of(get_op(op)(before, after))
