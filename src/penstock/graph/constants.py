"""Values known while the graph is built: Python objects as arrays, and shapes that flow through int tensors.

`partial_value` is what makes `reshape(x, [-1, tf.shape(x)[1]])` have a static shape: it traces an int tensor back
through the ops that have a value rule (`@OP.value`) and returns an object array of ints and Nones.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.export import export
from penstock.tensor.dtypes import DType, as_dtype, string as string_dtype
from penstock.tensor.shapes import Dimension, TensorShape

if TYPE_CHECKING:
    from penstock.graph.operation import Operation, Tensor

_SMALL = 64
"""Shapes are short vectors; longer int tensors are data and are not traced."""

_LARGE = 1 << 20
"""Values of more elements are left to the step: a file makes them of few bytes."""

MOST_DIMENSIONS = 254
"""Of tensors in TensorFlow."""

_HANDS_ON = frozenset({"Enter", "Switch"})
"""Ops whose live outputs equal their first input. (A loop variable changes at its Merge.)"""


def make_array(value: Any, dtype: DType | None = None, shape: Any = None) -> np.ndarray:
    """A Python value as an array of `dtype`, or of the dtype that TensorFlow would choose.

    Floats become float32 and ints int32 (int64 if they do not fit), as in TF; NumPy arrays keep their dtype. A single
    value fills `shape`. Strings become object arrays of bytes. Ints that `dtype` cannot hold wrap around, and arrays
    are cast to it in any case, as NumPy casts them. Raises TypeError for Python values of another kind (a float for an
    int tensor), ValueError if `value` is ragged or does not fit `shape`.
    """
    dtype = None if dtype is None else as_dtype(dtype).base_dtype
    array = _as_array(value, dtype)
    if shape is not None:
        wanted: Any = tuple(TensorShape(shape).as_list())
        if array.size == 1 and array.shape != wanted:
            array = np.full(wanted, array.reshape(())[()], array.dtype)
        elif array.shape != wanted:
            size = int(np.prod(wanted))
            if array.size > size:
                raise ValueError(f"Too many elements provided. Needed at most {size}, but received {array.size}")
            if array.size < size:  # TF 1.x repeats the last value
                flat = array.reshape(-1)
                array = np.concatenate([flat, np.repeat(flat[-1:], size - flat.size)])
            array = array.reshape(wanted)
    return array


def _of_objects(array: np.ndarray) -> np.ndarray:
    """Numbers that are kept as objects, as columns of tables and lists of mixed numbers are, as an array of numbers."""
    numbers = np.array(array.tolist()) if all(np.ndim(each) == 0 for each in array.flat) else array
    return numbers if numbers.dtype.kind in "biufc" else array


def _with_dimensions(array: np.ndarray) -> np.ndarray:
    """Objects of which those that are dimensions of shapes, [10, Dimension(20)], are ints."""
    found = np.empty(array.shape, object)
    found.reshape(-1)[:] = [int(each) if isinstance(each, Dimension) else each for each in array.flat]
    return found


def _as_array(value: Any, dtype: DType | None) -> np.ndarray:
    if hasattr(value, "detach"):  # a torch tensor
        value = value.detach().cpu().numpy()
    given_array = hasattr(type(value), "__array__")
    if dtype == string_dtype:
        return _string_array(value)
    if given_array:
        array = np.asarray(value)
    else:
        _refuse(value)
        try:
            array = np.array(value)  # convert without a dtype first: given one, NumPy would parse text as a number
        except ValueError as error:
            raise ValueError(f"Cannot make a tensor of {_brief(value)}: {error}") from None
        except (TypeError, OverflowError) as error:
            raise TypeError(f"Cannot make a {dtype.name if dtype else ''} tensor of {_brief(value)}: {error}") from None
        if dtype is not None and dtype.is_quantized and _ends_in_tuples_of_one(value):
            array = array.reshape(array.shape[:-1])
    if array.dtype.kind in "SU" or (array.dtype == object and (array.size or dtype is None) and _is_text(array)):
        if dtype is not None:
            raise TypeError(f"Expected {dtype.name}, got {_brief(value)} of type 'str' instead.")
        return _string_array(value)
    if array.dtype == object and dtype is not None:
        array = _of_objects(_with_dimensions(array) if dtype.is_integer else array)
    if array.dtype.kind == "O":
        raise TypeError(f"Cannot make a tensor of {_brief(value)}: its elements are not numbers or strings.")
    if dtype is None:
        if given_array:
            as_dtype(array.dtype)  # TypeError names a dtype that tensors do not have
            return array
        return _default_width(array)
    return _cast(array, dtype, value, given_array)


def _ends_in_tuples_of_one(value: Any) -> bool:
    """Whether elements are written `(21,)`: that is how NumPy writes TensorFlow's quantised types."""
    while isinstance(value, list | tuple) and len(value) > 0 and isinstance(value[0], list | tuple):
        value = value[0]
    return isinstance(value, tuple) and len(value) == 1


def _refuse(value: Any) -> None:
    if value is None:
        raise ValueError("None values not supported.")


def _default_width(array: np.ndarray) -> np.ndarray:
    if array.dtype == np.float64:
        return array.astype(np.float32)
    if array.dtype == np.int64:
        narrow = array.astype(np.int32)
        return narrow if np.array_equal(narrow, array) else array
    return array


def _cast(array: np.ndarray, dtype: DType, value: Any, given_array: bool) -> np.ndarray:
    """Python values must be of the dtype's kind, and ints wrap around, as NumPy's do; arrays are cast to any kind."""
    if array.dtype == dtype.np:
        return array
    kinds = {"b": 1, "u": 1, "i": 1, "f": 2, "V": 2, "c": 3}
    have, want = kinds.get(array.dtype.kind, 2), 3 if dtype.is_complex else 2 if dtype.is_floating else 1
    unlike = have > want or (dtype.is_bool and array.dtype.kind != "b")
    if unlike and array.size and not given_array:
        raise TypeError(f"Expected {dtype.name}, got {_brief(value)} of type '{type(value).__name__}' instead.")
    plain = dtype.np[0] if dtype.np.fields else dtype.np  # NumPy's stand-ins for quantised types have one field
    cast = cast_numbers(array, plain)
    return np.ascontiguousarray(cast).reshape(cast.shape).view(dtype.np)


def cast_numbers(array: np.ndarray, to: np.dtype) -> np.ndarray:
    """`array.astype(to)`, where ints wrap around, fractions are dropped, and of complex numbers the real part is kept.

    Floats outside a small int type wrap around too, which C leaves open and processors do through int32.
    """
    if array.dtype.kind == "c" and to.kind in "iuf":
        array = array.real
    with np.errstate(invalid="ignore", over="ignore"):
        if array.dtype.kind == "f" and to.kind in "iu" and to.itemsize < 4:
            array = array.astype(np.int32)
        return array.astype(to)


def _is_text(array: np.ndarray) -> bool:
    return all(isinstance(item, str | bytes) for item in array.flat)


def _string_array(value: Any) -> np.ndarray:
    """An object array of bytes. str is encoded as UTF-8; NumPy's own string dtypes would drop trailing NULs."""
    if isinstance(value, str | bytes):
        found = np.empty((), object)
        found[()] = value.encode() if isinstance(value, str) else bytes(value)
        return found
    array = value if isinstance(value, np.ndarray) else np.array(value, dtype=object)
    if array.dtype == object and set(map(type, array.reshape(-1).tolist())) <= {bytes}:
        return array.copy()
    found = np.empty(array.shape, object)
    items = array.reshape(-1).tolist()
    if set(map(type, items)) - {bytes}:
        items = [_bytes_of(item) for item in items]
    found.reshape(-1)[:] = items
    return found


def _bytes_of(item: Any) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if not isinstance(item, bytes):
        raise TypeError(f"Expected string, got {_brief(item)} of type '{type(item).__name__}' instead.")
    return bytes(item)


def _brief(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."


# --- values that flow through the graph -----------------------------------------------------------------


@export("contrib.util.constant_value", "get_static_value")
def constant_value(tensor: Tensor, partial: bool = False) -> np.ndarray | None:
    """The value of `tensor` if it is known without running anything, otherwise None (TF: contrib.util).

    With `partial`, parts of a `tf.stack` that are not known are None in an array of objects.
    """
    if not hasattr(tensor, "op"):
        return None
    if tensor.op.op_def.traits.constant:
        return tensor.op.attrs["value"]
    if partial and tensor.op.type == "Pack" and not tensor.op.attrs["axis"]:
        return np.array([constant_value(part, partial) for part in tensor.op._inputs])
    found = partial_value(tensor)
    if found is not None and all(item is not None for item in found.flat):
        return found.astype(tensor.dtype.base_dtype.np)
    fold = tensor.op.op_def.fold_fn if (tensor.shape.num_elements() or 0) <= _LARGE else None
    known = {} if fold is None else {t: constant_value(t) for t in dict.fromkeys(tensor.op._inputs)}
    if fold is None or any(value is None for value in known.values()):
        return None
    try:
        return fold(tensor.op, *(known[t] for t in tensor.op._inputs))
    except ValueError:
        return None  # the kernel will report the error


def constant_value_as_shape(tensor: Tensor) -> TensorShape:
    """`tensor`, an int vector, read as a shape; -1 and unknown elements are unknown dims."""
    found = partial_value(tensor)
    if found is None:
        length = tensor.shape.with_rank_at_most(1).tuple
        if length is not None and len(length) == 1 and (length[0] or 0) > MOST_DIMENSIONS:
            raise ValueError(f"A shape of {length[0]} dimensions; tensors have at most {MOST_DIMENSIONS}")
        return TensorShape(None if length is None or len(length) != 1 or length[0] is None else [None] * length[0])
    if found.ndim == 0:
        if found[()] != -1:
            raise ValueError(
                f"Received a scalar with value {found[()]!r} as shape; only -1 (an unknown shape) is valid."
            )
        return TensorShape(None)
    if any(item is not None and item < -1 for item in found):
        raise ValueError(f"Dimension {min(i for i in found if i is not None)} must be >= 0")
    return TensorShape([None if item is None or item < 0 else int(item) for item in found])


def partial_value(tensor: Tensor, memo: dict[Tensor, Any] | None = None) -> np.ndarray | None:
    """What is known about a small int tensor: an object array of ints and None, or None for "nothing".

    `memo` holds the results so far: shape arithmetic has many shared subexpressions.
    """
    memo = {} if memo is None else memo
    waiting = [tensor]
    while waiting:  # not recursive: programs have chains of thousands of ops
        last = waiting[-1]
        missing = [t for t in _asked(last.op) if t not in memo] if last not in memo else []
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if last not in memo:
            memo[last] = _partial_value(last, memo)
    return memo[tensor]


def _asked(op: Operation) -> list[Tensor]:
    """The inputs whose values determine the value of `op`."""
    if op.op_def.traits.constant or not any(t.dtype.is_integer for t in op._outputs):
        return []
    if op.type in _HANDS_ON:
        return op._inputs[:1]
    return op._inputs if op.op_def.value_fn is not None else []


def _partial_value(tensor: Tensor, memo: dict[Tensor, Any]) -> np.ndarray | None:
    op = tensor.op
    if op.op_def.traits.constant:
        value = op.attrs["value"]
        return value.astype(object) if value.size <= _SMALL and value.dtype.kind in "iub" else None
    if not tensor.dtype.is_integer:
        return None
    if op.type in _HANDS_ON:
        return memo[op._inputs[0]]
    rule = op.op_def.value_fn
    if rule is None:
        return None
    inputs = [[memo[t] for t in value] if isinstance(value, list) else memo[value] for value in op.input_values()]
    try:
        found = rule(op, *inputs)
    except Exception:
        return None  # the kernel will report the error, with the values of a real run
    if isinstance(found, list):  # of an op with several outputs
        found = found[tensor.value_index]
    return None if found is None or np.size(found) > _SMALL else np.asarray(found, object)


def lift(fn: Any) -> Any:
    """Makes a value rule from a function of ints: unknown (None) in, unknown out; broadcasts like NumPy."""
    known = np.frompyfunc(lambda *xs: None if any(x is None for x in xs) else fn(*xs), fn.__code__.co_argcount, 1)

    def rule(op: Any, *inputs: Any) -> Any:
        return None if any(x is None for x in inputs) else known(*inputs)

    return rule
