"""Converts everything that can stand for a tensor (TF: tf.convert_to_tensor)."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.export import export
from penstock.graph.constants import make_array
from penstock.graph.opdef import get_op
from penstock.graph.operation import Operation, Tensor
from penstock.graph.scopes import get_default_graph, name_scope
from penstock.tensor.dtypes import DType, as_dtype, int32, int64
from penstock.tensor.shapes import Dimension, TensorShape

ConversionFn = Callable[..., Any]
_conversions: list[tuple[int, int, type | tuple[type, ...], ConversionFn]] = []
_lock = threading.Lock()


@export("register_tensor_conversion_function")
def register_tensor_conversion_function(base_type: Any, conversion_func: ConversionFn, priority: int = 100) -> None:
    """Let `conversion_func(value, dtype, name, as_ref)` make tensors of `base_type` objects (TF's function).

    It may return NotImplemented to decline. Lower priorities are tried first.
    """
    types = base_type if isinstance(base_type, tuple) else (base_type,)
    if not types or not all(isinstance(t, type) for t in types):
        raise TypeError("base_type must be a type or a tuple of types.")
    if not callable(conversion_func):
        raise TypeError("conversion_func must be callable.")
    with _lock:
        _conversions.append((priority, len(_conversions), base_type, conversion_func))
        _conversions.sort(key=lambda row: row[:2])


@export("convert_to_tensor")
def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    dtype_hint: Any = None,
    as_ref: bool = False,
) -> Tensor:
    """`value` as a tensor of the default graph: itself, a variable's value, or a constant.

    Raises TypeError or ValueError, naming both, if it cannot have `dtype`. `preferred_dtype`, or `dtype_hint` as it is
    called later, is only a preference.
    """
    wanted = None if dtype is None else as_dtype(dtype).base_dtype
    if isinstance(value, Tensor):
        return _checked(value, wanted)
    hint = preferred_dtype if dtype_hint is None else dtype_hint
    if hint is not None and wanted is None and not _wraps(value, as_dtype(hint)):
        try:
            return convert_to_tensor(value, hint, name, as_ref=as_ref)
        except (TypeError, ValueError):
            pass
    for _, _, types, fn in _conversions:
        if isinstance(value, types):
            found = fn(value, dtype=wanted, name=name, as_ref=as_ref)
            if found is NotImplemented:
                continue
            if wanted is not None and found.dtype.base_dtype != wanted:
                message = f"{value!r} is {found.dtype.base_dtype.name}, not {wanted.name} as asked for"
                raise DtypeMismatchError(f"{message}. Convert it with tf.cast.")
            return found
    return constant(value, wanted, name=name or "Const")


def _wraps(value: Any, hint: DType) -> bool:
    """Whether whole numbers would wrap around in a type that is only preferred: sizes of shapes, for which TensorFlow
    takes int32 whatever they are."""
    if not hint.is_integer or not isinstance(value, int | list | tuple | np.ndarray):
        return False
    if isinstance(value, np.ndarray):
        return bool(value.dtype.kind in "iu" and value.size and not hint.min <= value.min() <= value.max() <= hint.max)
    numbers = value if isinstance(value, list | tuple) else (value,)
    return any(isinstance(each, int | np.integer) and not hint.min <= each <= hint.max for each in numbers)


class DtypeMismatchError(TypeError, ValueError):
    """A tensor does not have the expected dtype. (TensorFlow raises one or the other, depending on code path and
    version.)"""


def _checked(tensor: Tensor, wanted: DType | None) -> Tensor:
    if wanted is not None and tensor.dtype.base_dtype != wanted:
        raise DtypeMismatchError(
            f"Tensor conversion requested dtype {wanted.name} for Tensor with dtype {tensor.dtype.name}: {tensor}"
            + (f", built at {tensor.op.user_line}" if tensor.op.user_line else "")
            + f". Convert it with tf.cast(x, tf.{wanted.name}), or the other operand to its type."
        )
    return tensor


@export("constant")
def constant(
    value: Any, dtype: Any = None, shape: Any = None, name: str = "Const", verify_shape: bool = False
) -> Tensor:
    """A node that always returns `value` (TF: tf.constant).

    Floats become float32 and ints int32 unless `dtype` says otherwise; NumPy arrays keep their dtype and are
    copied. A scalar fills `shape`. Raises TypeError or ValueError if the value fits neither.
    """
    array = make_array(value, dtype, None if verify_shape else shape)
    if verify_shape and shape is not None and TensorShape(shape).tuple != array.shape:
        raise TypeError(f"Expected Tensor's shape: {TensorShape(shape)}, got {TensorShape(array.shape)}.")
    if array is value or array.base is not None or (isinstance(value, np.ndarray) and np.shares_memory(array, value)):
        array = array.copy()  # what the caller does to the array later must not change the graph
    array.flags.writeable = False
    attrs = {"value": array, "dtype": as_dtype(dtype or array.dtype).base_dtype}
    return get_default_graph().add_node(get_op("Const"), [], attrs, name)._outputs[0]


def _convert_shape(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if not value.is_fully_defined():
        raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
    dims = value.as_list()
    if dtype not in (None, int32, int64):
        raise TypeError(f"Cannot convert a TensorShape to dtype {dtype.name}")
    return constant(
        dims, dtype or (int64 if any(d > 2**31 - 1 for d in dims) else int32), name=name or "shape_as_tensor"
    )


def _convert_dimension(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Tensor:
    if value.value is None:
        raise ValueError("Cannot convert an unknown Dimension to a Tensor")
    if dtype is not None and as_dtype(dtype).base_dtype not in (int32, int64):
        raise TypeError(f"Cannot convert a Dimension to dtype {as_dtype(dtype).name}")
    return constant(value.value, dtype or int32, name=name or "shape_as_tensor")


def _convert_list(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    """Packs a list that contains tensors; each plain part becomes one constant."""
    if not _has_tensor(value):
        if any(isinstance(item, Dimension) for item in value):
            return constant([int(item) for item in value], dtype, name=name or "Const")
        return NotImplemented
    have = _tensor_dtype(value)
    if dtype is not None and dtype != have:
        value = _with_tensors_cast(value, dtype)
    return _pack(value, dtype or have, name or "packed")


def _with_tensors_cast(value: Any, dtype: DType) -> Any:
    """A list in which tensors of other types are cast to `dtype`, as TensorFlow does if the first has another."""
    if isinstance(value, list | tuple):
        return [_with_tensors_cast(item, dtype) for item in value]
    if not _is_tensor_like(value) or as_dtype(value.dtype).base_dtype == dtype:
        return value
    return get_op("Cast")(convert_to_tensor(value), DstT=dtype)


def _pack(value: Any, dtype: DType | None, name: str) -> Tensor:
    with name_scope(name) as scope:
        parts = [
            _pack(item, dtype, str(i))
            if isinstance(item, list | tuple) and _has_tensor(item)
            else convert_to_tensor(item, dtype, name=str(i))
            for i, item in enumerate(value)
        ]
        return get_op("Pack")(parts, name=scope)


def _is_tensor_like(item: Any) -> bool:
    return isinstance(item, Tensor) or hasattr(item, "_as_graph_element") or hasattr(item, "_is_indexed_slices")


def _has_tensor(value: Any) -> bool:
    return any(_is_tensor_like(i) or (isinstance(i, list | tuple) and _has_tensor(i)) for i in value)


def _tensor_dtype(value: Any) -> DType | None:
    for item in value:
        if _is_tensor_like(item):
            return as_dtype(item.dtype).base_dtype
        if isinstance(item, list | tuple) and (found := _tensor_dtype(item)) is not None:
            return found
    return None


def _convert_operation(value: Any, dtype: Any = None, name: str | None = None, as_ref: bool = False) -> Any:
    raise TypeError(f"Can't convert Operation '{value.name}' to Tensor; use one of its outputs.")


register_tensor_conversion_function(TensorShape, _convert_shape, 99)
register_tensor_conversion_function(Dimension, _convert_dimension, 99)
register_tensor_conversion_function((list, tuple), _convert_list, 99)
register_tensor_conversion_function(Operation, _convert_operation, 98)


def convert_n_to_tensor(values: Any, dtype: Any = None, name: str | None = None) -> list[Tensor]:
    """Each of `values` as a tensor."""
    return [convert_to_tensor(v, dtype, None if name is None else f"{name}_{i}") for i, v in enumerate(values)]
