"""Element types.

One `DType` object exists per number of TensorFlow's DataType enum, so `is` compares them. A reference
type, written `float32_ref`, is the type of an edge that carries a variable's buffer instead of a value;
its number is the value type's plus 100.
"""

from __future__ import annotations

import builtins
from typing import Any, Final, NoReturn, final

import ml_dtypes
import numpy as np
import torch

from penstock.export import export

_NumpyDtype = np.dtype[Any]
_TorchDtype = torch.dtype

_REF_OFFSET: Final = 100

# name, other accepted name, enum, torch type, NumPy type, kind: f(loat) c(omplex) i(nteger) u(nsigned)
# b(ool) q(uantized) o(bject)
_ROWS: Final[tuple[tuple[str, str | None, int, torch.dtype | None, Any, str], ...]] = (
    ("float32", "float", 1, torch.float32, np.float32, "f"),
    ("float64", "double", 2, torch.float64, np.float64, "f"),
    ("int32", None, 3, torch.int32, np.int32, "i"),
    ("uint8", None, 4, torch.uint8, np.uint8, "u"),
    ("int16", None, 5, torch.int16, np.int16, "i"),
    ("int8", None, 6, torch.int8, np.int8, "i"),
    ("string", None, 7, None, np.object_, "o"),
    ("complex64", None, 8, torch.complex64, np.complex64, "c"),
    ("int64", None, 9, torch.int64, np.int64, "i"),
    ("bool", None, 10, torch.bool, np.bool_, "b"),
    ("qint8", None, 11, torch.int8, np.dtype([("qint8", np.int8)]), "q"),
    ("quint8", None, 12, torch.uint8, np.dtype([("quint8", np.uint8)]), "q"),
    ("qint32", None, 13, torch.int32, np.dtype([("qint32", np.int32)]), "q"),
    ("bfloat16", None, 14, torch.bfloat16, ml_dtypes.bfloat16, "f"),
    ("qint16", None, 15, torch.int16, np.dtype([("qint16", np.int16)]), "q"),
    ("quint16", None, 16, torch.uint16, np.dtype([("quint16", np.uint16)]), "q"),
    ("uint16", None, 17, torch.uint16, np.uint16, "u"),
    ("complex128", None, 18, torch.complex128, np.complex128, "c"),
    ("float16", "half", 19, torch.float16, np.float16, "f"),
    ("resource", None, 20, None, np.object_, "o"),
    ("variant", None, 21, None, np.object_, "o"),
    ("uint32", None, 22, torch.uint32, np.uint32, "u"),
    ("uint64", None, 23, torch.uint64, np.uint64, "u"),
)

_BY_ENUM: Final[dict[int, DType]] = {}
_BY_KEY: Final[dict[Any, DType]] = {}  # names, NumPy types and dtypes, torch dtypes, Python types


@export("DType", "dtypes.DType")
@final
class DType:
    """The type of a tensor's elements.

    `torch` is what holds the elements in memory (None for string, resource and variant; the plain
    integer type for quantized ones) and `np` the matching NumPy dtype. `DType(enum)` returns the one
    object of that number. Attributes are computed when the module loads, so reading one is cheap.
    """

    __slots__ = (
        "_as_ref",
        "_is_ref_dtype",
        "as_datatype_enum",
        "as_numpy_dtype",
        "base_dtype",
        "is_bool",
        "is_complex",
        "is_floating",
        "is_integer",
        "is_numpy_compatible",
        "is_quantized",
        "is_ref_dtype",
        "is_unsigned",
        "name",
        "np",
        "real_dtype",
        "size",
        "torch",
    )

    name: str
    as_datatype_enum: int
    as_numpy_dtype: Any
    np: _NumpyDtype
    torch: _TorchDtype | None
    size: int  # bytes per element; 0 if elements have no fixed size
    base_dtype: DType
    real_dtype: DType
    is_ref_dtype: builtins.bool
    is_numpy_compatible: builtins.bool
    is_floating: builtins.bool
    is_complex: builtins.bool
    is_integer: builtins.bool  # quantized types are not integers
    is_bool: builtins.bool
    is_unsigned: builtins.bool
    is_quantized: builtins.bool
    _as_ref: DType
    _is_ref_dtype: builtins.bool

    def __new__(cls, type_enum: int) -> DType:
        try:
            return _BY_ENUM[type_enum]
        except (KeyError, TypeError):
            raise TypeError(f"{type_enum!r} is not the number of a data type") from None

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{self!r} cannot be changed (attribute {name!r})")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{self!r} cannot be changed (attribute {name!r})")

    @property
    def min(self) -> Any:
        """The least finite value. Raises TypeError if there is no order or no fixed range."""
        return self._range("minimum")[0]

    @property
    def max(self) -> Any:
        """The greatest finite value. Raises TypeError if there is no order or no fixed range."""
        return self._range("maximum")[1]

    def _range(self, what: str) -> tuple[Any, Any]:
        if self.is_floating:
            finfo: Any = ml_dtypes.finfo(self.np)
            return finfo.min, finfo.max
        if self.is_integer:
            iinfo = np.iinfo(self.np)
            return int(iinfo.min), int(iinfo.max)
        raise TypeError(f"Cannot find {what} value of {self}.")

    @property
    def limits(self) -> tuple[Any, Any]:
        """The range of intensities that an image of this type uses, without negative ones."""
        if self.is_integer:
            return 0, self.max
        if self.is_bool:
            return 0, True
        if self.base_dtype in (float32, float64):
            return 0, 1
        raise ValueError(f"{self} does not have defined limits.")

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Whether an `other` can be used where this type is wanted: a reference serves as a value."""
        other = as_dtype(other)
        return self is other or self is other.base_dtype

    def __eq__(self, other: object) -> builtins.bool:
        """Also true of what TensorFlow's `as_dtype` turns into this type: `np.float32`, "float32" or `float`."""
        if self is other:
            return True
        # `is`, since NumPy's dtypes are equal to Python's types: np.dtype("int64") == int
        if other is None or isinstance(other, DType) or any(other is kind for kind in (int, complex, str, bytes)):
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __ne__(self, other: object) -> builtins.bool:
        return not self == other

    def __hash__(self) -> int:
        return self.as_datatype_enum

    def __int__(self) -> int:
        return self.as_datatype_enum

    def __str__(self) -> str:
        return f"<dtype: {self.name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self.name}"

    def __reduce__(self) -> tuple[type[DType], tuple[int]]:
        return DType, (self.as_datatype_enum,)


def _new_dtype(attributes: dict[str, Any]) -> DType:
    dtype: DType = object.__new__(DType)
    for name, value in attributes.items():
        object.__setattr__(dtype, name, value)
    _BY_ENUM[dtype.as_datatype_enum] = dtype
    return dtype


def _define_dtypes() -> None:
    for name, alias, enum, torch_dtype, numpy_type, kind in _ROWS:
        attributes = {
            "name": name,
            "as_datatype_enum": enum,
            "as_numpy_dtype": numpy_type,
            "np": np.dtype(numpy_type),
            "torch": torch_dtype,
            "size": 0 if kind == "o" else np.dtype(numpy_type).itemsize,
            "is_ref_dtype": False,
            "_is_ref_dtype": False,
            "is_numpy_compatible": name not in ("resource", "variant"),
            "is_floating": kind == "f",
            "is_complex": kind == "c",
            "is_integer": kind in "iu",
            "is_bool": kind == "b",
            "is_unsigned": kind == "u",
            "is_quantized": kind == "q",
        }
        value = _new_dtype(attributes)
        ref = _new_dtype(
            attributes
            | {
                "name": name + "_ref",
                "as_datatype_enum": enum + _REF_OFFSET,
                "is_ref_dtype": True,
                "_is_ref_dtype": True,
            }
        )
        for dtype in (value, ref):
            object.__setattr__(dtype, "base_dtype", value)
            object.__setattr__(dtype, "_as_ref", ref)
            object.__setattr__(dtype, "real_dtype", dtype)
        for key in (name, alias):
            if key is not None:
                _BY_KEY[key] = value
                _BY_KEY[key + "_ref"] = ref
        if kind == "q":
            _BY_KEY[value.np] = value
        elif kind != "o":
            _BY_KEY[value.np] = _BY_KEY[numpy_type] = _BY_KEY[torch_dtype] = value

    for complex_name, real_name in (("complex64", "float32"), ("complex128", "float64")):
        for dtype in (_BY_KEY[complex_name], _BY_KEY[complex_name + "_ref"]):
            object.__setattr__(dtype, "real_dtype", _BY_KEY[real_name])

    for code in "bBhHiIlLqQ":  # C's types: some have the same width but are different NumPy scalar types
        numpy_dtype = np.dtype(code)
        width = f"{'int' if numpy_dtype.kind == 'i' else 'uint'}{8 * numpy_dtype.itemsize}"
        _BY_KEY[numpy_dtype] = _BY_KEY[numpy_dtype.type] = _BY_KEY[width]
    for string_type in (np.object_, np.dtype(object), np.str_, np.bytes_, object, str, bytes):
        _BY_KEY[string_type] = _BY_KEY["string"]
    for python_type, name in (
        (float, "float32"),
        (int, "int32"),
        (builtins.bool, "bool"),
        (complex, "complex128"),
    ):
        _BY_KEY[python_type] = _BY_KEY[name]
    for torch_dtype, name in ((torch.qint8, "qint8"), (torch.quint8, "quint8"), (torch.qint32, "qint32")):
        _BY_KEY[torch_dtype] = _BY_KEY[name]


_define_dtypes()


@export("as_dtype", "dtypes.as_dtype")
def as_dtype(type_value: Any) -> DType:
    """The `DType` of a name, an enum number, a NumPy or torch dtype, a NumPy scalar type, or a Python type.

    Python's `float` and `int` mean float32 and int32, but `complex` means complex128; TensorFlow rejects `int`,
    `complex`, `str` and `bytes`. A number that equals one of the enum counts as that: `tf.placeholder(1.0)` is of
    float32. A value with a `dtype`, such as an array, counts as that dtype. Raises TypeError for anything else.
    """
    if type(type_value) is DType:
        return type_value
    kind = type(type_value)
    try:
        if kind in (int, float, builtins.bool):  # TensorFlow's table of numbers has 1 for 1.0, too
            return _BY_ENUM[type_value]
        return _BY_KEY[type_value]
    except (KeyError, TypeError):
        pass
    if isinstance(type_value, np.dtype):
        if type_value.kind in "SU":
            return string
        native = type_value.newbyteorder("=")
        if native in _BY_KEY:
            return _BY_KEY[native]
    elif not isinstance(type_value, type):
        inner = getattr(type_value, "dtype", None)
        if isinstance(inner, (DType, np.dtype, torch.dtype)):
            return as_dtype(inner)
        if isinstance(type_value, int) and kind is not builtins.bool and int(type_value) in _BY_ENUM:
            return _BY_ENUM[int(type_value)]  # a subclass of int, such as an IntEnum's member
    raise TypeError(f"Cannot convert value {type_value!r} to a DType.")


def opdef_name(dtype: DType) -> str:
    """What op definitions, and TensorFlow's kernels in their messages, call a type: "float" or "half"."""
    return {"float32": "float", "float64": "double", "float16": "half"}.get(dtype.name, dtype.name)


def dtype_from_opdef_name(name: str) -> DType:
    """The type an op definition calls "float" or "half", and a text proto DT_FLOAT or DT_HALF."""
    if isinstance(name, str):
        dtype = _BY_KEY.get(name.removeprefix("DT_").lower() if name.startswith("DT_") else name)
        if dtype is not None:
            return dtype
    raise TypeError(f"{name!r} is not the name of a data type in an op definition")


float16 = half = _BY_KEY["float16"]
bfloat16 = _BY_KEY["bfloat16"]
float32 = _BY_KEY["float32"]
float64 = double = _BY_KEY["float64"]
int8 = _BY_KEY["int8"]
int16 = _BY_KEY["int16"]
int32 = _BY_KEY["int32"]
int64 = _BY_KEY["int64"]
uint8 = _BY_KEY["uint8"]
uint16 = _BY_KEY["uint16"]
uint32 = _BY_KEY["uint32"]
uint64 = _BY_KEY["uint64"]
complex64 = _BY_KEY["complex64"]
complex128 = _BY_KEY["complex128"]
bool = _BY_KEY["bool"]  # from here on the builtin is `builtins.bool`, in the functions above too
string = _BY_KEY["string"]
resource = _BY_KEY["resource"]
variant = _BY_KEY["variant"]
qint8 = _BY_KEY["qint8"]
qint16 = _BY_KEY["qint16"]
qint32 = _BY_KEY["qint32"]
quint8 = _BY_KEY["quint8"]
quint16 = _BY_KEY["quint16"]

float16_ref = half_ref = float16._as_ref
bfloat16_ref = bfloat16._as_ref
float32_ref = float32._as_ref
float64_ref = double_ref = float64._as_ref
int8_ref = int8._as_ref
int16_ref = int16._as_ref
int32_ref = int32._as_ref
int64_ref = int64._as_ref
uint8_ref = uint8._as_ref
uint16_ref = uint16._as_ref
uint32_ref = uint32._as_ref
uint64_ref = uint64._as_ref
complex64_ref = complex64._as_ref
complex128_ref = complex128._as_ref
bool_ref = bool._as_ref
string_ref = string._as_ref
resource_ref = resource._as_ref
variant_ref = variant._as_ref
qint8_ref = qint8._as_ref
qint16_ref = qint16._as_ref
qint32_ref = qint32._as_ref
quint8_ref = quint8._as_ref
quint16_ref = quint16._as_ref

QUANTIZED_DTYPES: Final = frozenset(dtype for dtype in _BY_ENUM.values() if dtype.is_quantized)
