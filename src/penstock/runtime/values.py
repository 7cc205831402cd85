"""Conversion of values at the border of a step: from fed values to kernels' arguments, and back for fetches.

A feed of the right dtype is not copied: kernels never write to their inputs. Fetched values belong to the caller.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from penstock import errors
from penstock.graph.constants import cast_numbers, make_array
from penstock.graph.operation import Tensor
from penstock.tensor.dtypes import DType, bfloat16, string
from penstock.tensor.shapes import TensorShape

_CPU = torch.device("cpu")


def to_runtime(array: np.ndarray, dtype: DType, device: torch.device = _CPU) -> Any:
    """Converts an array to what kernels take: a torch tensor (sharing memory if possible), or itself for strings.

    The array must not change while the tensor lives.
    """
    if dtype == string:
        return array
    if dtype.torch is None:
        raise TypeError(f"a {dtype.name} has no value outside a session")
    if not array.flags.writeable or not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if any(stride < 0 for stride in array.strides):
        array = array.copy()
    if dtype == bfloat16 or dtype.is_quantized:
        return _viewed(array, dtype).to(device)
    return torch.from_numpy(array).to(device)


_thaw = threading.Lock()


def constant_to_runtime(array: np.ndarray, dtype: DType, device: torch.device) -> Any:
    """Like `to_runtime`, for the read-only array of a constant: memory is shared because kernels do not write to
    inputs."""
    with _thaw:  # torch warns about read-only arrays
        try:
            array.flags.writeable = True
        except ValueError:
            return to_runtime(array, dtype, device)
        try:
            return to_runtime(array, dtype, device)
        finally:
            array.flags.writeable = False


def _viewed(array: np.ndarray, dtype: DType) -> torch.Tensor:
    """Reinterprets the bits of types that NumPy knows only through an extension."""
    plain = np.ascontiguousarray(array)
    bits = plain.reshape(-1).view({1: np.uint8, 2: np.uint16, 4: np.uint32}[plain.dtype.itemsize])
    return torch.from_numpy(bits).view(dtype.torch or torch.uint8).reshape(array.shape)


def from_runtime(value: Any, dtype: DType) -> Any:
    """Converts a kernel's value to the array that a client gets; shares memory if possible. 0-d: a NumPy scalar."""
    if isinstance(value, torch.Tensor):
        if dtype == bfloat16:
            value = value.cpu().contiguous().view(torch.uint16).numpy().view(dtype.np)
        else:
            value = value.cpu().resolve_conj().resolve_neg().numpy()
            if dtype.is_quantized:
                value = value.view(dtype.np)
    return value[()] if value.ndim == 0 else value


def _fetch_plain(tensor: torch.Tensor) -> Any:
    return tensor.numpy()[()]


def _fetch_copy(tensor: torch.Tensor) -> Any:
    try:
        return tensor.numpy().copy()[()]
    except MemoryError as error:  # a value that a kernel repeats without memory of its own may be of any size
        message = f"There is no memory for a fetched value of {tensor.nbytes:,} bytes, {tuple(tensor.shape)}"
        raise errors.ResourceExhaustedError(None, None, message) from error


def fetch_converter(dtype: DType, device: torch.device, copy: bool) -> Callable[[Any], Any]:
    """Returns a function that turns a kernel's value into the client's array. `copy`: others may hold the same
    memory."""
    dtype = dtype.base_dtype
    if (
        device.type == "cpu"
        and dtype.torch is not None
        and dtype != bfloat16
        and not dtype.is_complex | dtype.is_quantized
    ):
        return _fetch_copy if copy else _fetch_plain

    def convert(value: Any) -> Any:
        found = from_runtime(value, dtype)
        return found.copy() if isinstance(found, np.ndarray) else found

    return convert


def array_feed_converter(tensor: Tensor, shape: TensorShape) -> Callable[[Any], Any]:
    """Like `feed_converter`, for a kernel that takes an array: it gets one of the tensor's dtype.

    shape: what is known about it when it is fed, which may be more than the placeholder says.
    """
    convert, dtype, dims = feed_converter(tensor, _CPU), tensor.dtype.base_dtype.np, shape.tuple
    scalar = dtype.type if dims is None or not dims else None

    def check(value: Any) -> Any:
        if type(value) is scalar:
            return np.array(value)
        if type(value) is not np.ndarray or value.dtype is not dtype:
            return convert(value).numpy()
        return value if value.shape == dims else convert(value).numpy()

    return check


def array_fetch_converter(copy: bool) -> Callable[[Any], Any]:
    """Like `fetch_converter`, for an array that a kernel has made."""
    return _array_copy if copy else _array


def _array(array: np.ndarray) -> Any:
    return array[()]


def _array_copy(array: np.ndarray) -> Any:
    return array.copy()[()]


def feed_converter(tensor: Tensor, device: torch.device) -> Callable[[Any], Any]:
    """Returns a function that turns a value fed for `tensor` into a kernel's argument.

    The returned function raises ValueError for a shape, and TypeError or ValueError for a dtype, that does not
    fit, naming the tensor, both shapes or types, and the line that built it.
    """
    dtype, dims = tensor.dtype.base_dtype, tensor.shape.tuple
    np_dtype = dtype.np
    fast = device.type == "cpu" and dtype.torch is not None and dtype != bfloat16 and not dtype.is_quantized
    from_numpy = torch.from_numpy
    exact = dims is not None and None not in dims
    scalar = np_dtype.type if fast and not dims else None

    def convert(value: Any) -> Any:
        if type(value) is scalar:
            return from_numpy(np.array(value))
        if fast and type(value) is np.ndarray and value.dtype is np_dtype and value.flags.writeable:
            shape = value.shape
            if dims is None or shape == dims or (not exact and _fits(shape, dims)):
                try:
                    return from_numpy(value)
                except ValueError:  # negative strides, which an axis of one element may have in a contiguous array
                    return from_numpy(value.copy())
        return _convert_any(value)

    def _convert_any(value: Any) -> Any:
        if isinstance(value, Tensor):
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include Python scalars, "
                f"strings, lists, numpy ndarrays and torch tensors: {tensor.name} was fed {value!r}."
            )
        if dtype.torch is not None and not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            found = torch.from_dlpack(value.detach() if isinstance(value, torch.Tensor) else value)
            if found.dtype == dtype.torch:
                _check_shape(tensor, tuple(found.shape), dims)
                return found.to(device)
            value = from_runtime(found, _dtype_of(found))
        array = _feed_array(tensor, value, dtype)
        _check_shape(tensor, array.shape, dims)
        return to_runtime(array, dtype, device)

    return convert


def _dtype_of(value: torch.Tensor) -> DType:
    from penstock.tensor.dtypes import as_dtype

    return as_dtype(value.dtype)


def _feed_array(tensor: Tensor, value: Any, dtype: DType) -> np.ndarray:
    try:
        if isinstance(value, np.ndarray) and value.dtype == object and dtype != string:
            value = _without_arrays(value).tolist()  # numbers that are kept as objects, as in columns of tables
        found = None if dtype == string else _fed_numbers(value, dtype)
        return make_array(value, dtype) if found is None else found
    except (TypeError, ValueError, OverflowError) as error:
        kind = type(error) if type(error) in (TypeError, ValueError) else ValueError
        raise kind(
            f"Cannot feed {_brief(value)} for Tensor {tensor.name!r}, which is {dtype.name}: {error}{_line(tensor)}"
        ) from None


def _without_arrays(value: np.ndarray) -> np.ndarray:
    """Objects, with the element for arrays of one element, which NumPy took for numbers until 2.3."""
    found = value.copy()
    for at, each in enumerate(value.flat):
        if isinstance(each, np.ndarray) and each.size == 1:
            found.flat[at] = each.item()
    return found


def array_of_list(value: Any, dtype: DType) -> Any:
    """A list or tuple of numbers or strings as the array that feeding it makes; `value` itself if it is something
    else."""
    if not isinstance(value, list | tuple):
        return value
    try:
        found = make_array(value, dtype) if dtype == string else _fed_numbers(value, dtype)
        return value if found is None else found
    except (TypeError, ValueError, OverflowError):
        return value


def _fed_numbers(value: Any, dtype: DType) -> np.ndarray | None:
    """What is fed, cast as NumPy casts it (TF: np.asarray(value, dtype)): fractions are dropped, ints wrap around, and
    text is read as numbers. None for what is not a number, a list or an array of them.

    What NumPy takes only in arrays, infinities for ints and complex numbers for reals, is refused in lists, as is a
    single int that its type cannot hold (TF does so too).
    """
    if not isinstance(value, np.ndarray | np.generic | list | tuple | float | int | str | bytes):
        return None
    array, made_here = np.asarray(value), not isinstance(value, np.ndarray | np.generic)
    kind = array.dtype.kind
    if array.dtype == dtype.np:
        return array
    if kind in "SU" and array.size and not dtype.is_bool:
        return array.astype(dtype.np)
    if kind not in "biufc":
        return None
    if made_here and kind == "c" and not dtype.is_complex:
        raise TypeError("complex numbers")
    if made_here and kind == "f" and dtype.is_integer and not np.isfinite(array).all():
        raise TypeError("only finite numbers can be made whole")
    cast = cast_numbers(array, dtype.np)
    if isinstance(value, int) and not dtype.is_floating and cast.dtype.names is None and cast != value:
        raise TypeError(f"its type {array.dtype} is not compatible with Tensor type {dtype.name}, which cannot hold it")
    return cast


def _fits(shape: tuple[int, ...], dims: Any) -> bool:
    return len(shape) == len(dims) and all(d is None or d == s for s, d in zip(shape, dims, strict=True))


def _check_shape(tensor: Tensor, shape: tuple[int, ...], dims: Any) -> None:
    if dims is not None and not _fits(shape, dims):
        raise ValueError(
            f"Cannot feed value of shape {shape} for Tensor {tensor.name!r}, which has shape '{tensor.shape}'"
            + _line(tensor)
        )


def _line(tensor: Tensor) -> str:
    return f" (built at {tensor.op.user_line})" if tensor.op.user_line else ""


def _brief(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype} and shape {value.shape}"
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
