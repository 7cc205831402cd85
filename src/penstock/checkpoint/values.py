"""Tensor values as bytes: the types that a checkpoint can hold, and their layout.

Elements are in C order, little-endian. Strings, whose layout depends on the format, are in `layouts`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import torch

Value = np.ndarray[Any, Any] | np.generic | torch.Tensor
Array = np.ndarray[Any, Any]
Bytes = np.ndarray[Any, np.dtype[np.uint8]]

STRING = "string"


@dataclass(frozen=True)
class StoredType:
    """`code` is the type's name in a safetensors header.

    `parts`: complex numbers are stored as pairs of floats (one more dimension of 2): many safetensors readers do not
    support complex types, none supports complex128, and each rejects a whole file for one unknown type.
    """

    numpy: np.dtype[Any]
    code: str
    parts: int = 1


# Keyed by TensorFlow's name of the type, which NumPy and torch share.
FIXED_TYPES: dict[str, StoredType] = {
    "bool": StoredType(np.dtype(np.bool_), "BOOL"),
    "int8": StoredType(np.dtype(np.int8), "I8"),
    "int16": StoredType(np.dtype(np.int16), "I16"),
    "int32": StoredType(np.dtype(np.int32), "I32"),
    "int64": StoredType(np.dtype(np.int64), "I64"),
    "uint8": StoredType(np.dtype(np.uint8), "U8"),
    "uint16": StoredType(np.dtype(np.uint16), "U16"),
    "uint32": StoredType(np.dtype(np.uint32), "U32"),
    "uint64": StoredType(np.dtype(np.uint64), "U64"),
    "float16": StoredType(np.dtype(np.float16), "F16"),
    "float32": StoredType(np.dtype(np.float32), "F32"),
    "float64": StoredType(np.dtype(np.float64), "F64"),
    "bfloat16": StoredType(np.dtype(ml_dtypes.bfloat16), "BF16"),
    "float8_e4m3fn": StoredType(np.dtype(ml_dtypes.float8_e4m3fn), "F8_E4M3"),
    "float8_e5m2": StoredType(np.dtype(ml_dtypes.float8_e5m2), "F8_E5M2"),
    "complex64": StoredType(np.dtype(np.complex64), "F32", parts=2),
    "complex128": StoredType(np.dtype(np.complex128), "F64", parts=2),
    "qint8": StoredType(np.dtype([("qint8", np.int8)]), "I8"),
    "quint8": StoredType(np.dtype([("quint8", np.uint8)]), "U8"),
    "qint16": StoredType(np.dtype([("qint16", np.int16)]), "I16"),
    "quint16": StoredType(np.dtype([("quint16", np.uint16)]), "U16"),
    "qint32": StoredType(np.dtype([("qint32", np.int32)]), "I32"),
}


def numpy_dtype(name: str) -> np.dtype[Any]:
    """That of arrays of this type: objects for strings, and for types that no array has."""
    return FIXED_TYPES[name].numpy if name in FIXED_TYPES else np.dtype(np.object_)


@dataclass(frozen=True)
class Encoded:
    """A value whose bytes are fetched when it is written: a GPU's tensors pass through the host one by one.

    checksum: that of strings, where it is not that of their bytes.
    """

    dtype: str
    shape: tuple[int, ...]
    nbytes: int
    take: Callable[[], memoryview]
    checksum: int | None = None

    @property
    def stored_as(self) -> tuple[str, tuple[int, ...]]:
        """Type code and shape for a safetensors header."""
        if self.dtype == STRING:
            return "U8", (self.nbytes,)
        kind = FIXED_TYPES[self.dtype]
        return kind.code, (*self.shape, 2) if kind.parts == 2 else self.shape


Strings = Callable[[Sequence[bytes]], tuple[bytes, int | None]]
"""From strings to bytes in the layout of a format, and `Encoded.checksum`."""


def encode(value: Value | Encoded, strings: Strings) -> Encoded:
    """Raises TypeError if a checkpoint cannot hold `value`."""
    if isinstance(value, Encoded):
        return value
    if isinstance(value, torch.Tensor):
        return _encode_torch(value)
    if not isinstance(value, (np.ndarray, np.generic)):
        raise TypeError(f"a checkpoint holds NumPy arrays and torch tensors, not {type(value).__name__}")
    array = np.asarray(value)
    if array.dtype.kind in "OSU":
        items = [_item_bytes(item) for item in array.reshape(-1).tolist()]
        data, checksum = strings(items)
        return Encoded(STRING, array.shape, len(data), lambda: memoryview(data), checksum)
    name = array.dtype.names[0] if array.dtype.names else array.dtype.name
    if name not in FIXED_TYPES or (array.dtype.names and array.dtype != FIXED_TYPES[name].numpy):
        raise TypeError(f"a checkpoint cannot hold elements of type {array.dtype}")
    return Encoded(name, array.shape, array.nbytes, lambda: array_bytes(array))


def array_bytes(array: Array) -> memoryview:
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _encode_torch(value: torch.Tensor) -> Encoded:
    name = str(value.dtype).removeprefix("torch.")
    if name not in FIXED_TYPES or value.layout is not torch.strided or value.device.type == "meta":
        raise TypeError(f"a checkpoint cannot hold a torch tensor of {value.dtype}, {value.layout}, {value.device}")
    return Encoded(name, tuple(value.shape), value.numel() * value.element_size(), lambda: _torch_bytes(value))


def _torch_bytes(value: torch.Tensor) -> memoryview:
    if not value.numel():
        return memoryview(b"")  # NumPy's empty arrays have strides of 0, of which torch makes no view of bytes
    # A conjugated or negated view stores the original elements and a flag.
    host = value.detach().resolve_conj().resolve_neg().cpu().contiguous()
    data: memoryview = host.reshape(-1).view(torch.uint8).numpy().data
    return data


def _item_bytes(item: object) -> bytes:
    if isinstance(item, str):
        return item.encode()
    if isinstance(item, bytes):
        return item
    raise TypeError(f"a checkpoint holds arrays of bytes or str objects, not of {type(item).__name__}")


def decode(dtype: str, shape: Sequence[int], data: Bytes) -> Array:
    """The value of `data`, in the same memory, after `size_problem` has found nothing. Raises ValueError for invalid
    data."""
    if dtype == "bool" and data.size and data.max() > 1:
        raise ValueError("a bool that is neither 0 nor 1")
    return data.view(FIXED_TYPES[dtype].numpy).reshape(shape)
