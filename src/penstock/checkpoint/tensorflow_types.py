"""TensorFlow's numbers of types, as its checkpoints have them."""

from __future__ import annotations

from penstock.checkpoint.values import FIXED_TYPES, STRING
from penstock.tensor.dtypes import as_dtype

_FLOAT8 = {"float8_e5m2": 24, "float8_e4m3fn": 25}  # which graphs of TF 1.x do not have
_NUMBERS = _FLOAT8 | {name: as_dtype(name).as_datatype_enum for name in (*FIXED_TYPES, STRING) if name not in _FLOAT8}
_NAMES = {number: name for name, number in _NUMBERS.items()} | {20: "resource", 21: "variant"}


def number_of(name: str) -> int:
    return _NUMBERS[name]


def type_name(number: int) -> str:
    """A name for any number: tensors of types that Penstock lacks can be listed."""
    return _NAMES.get(number, f"type {number}")


def enum_name(name: str) -> str:
    """As TensorFlow writes the type in messages: `DT_FLOAT`."""
    return "DT_" + {"float32": "float", "float64": "double", "float16": "half"}.get(name, name).upper()
