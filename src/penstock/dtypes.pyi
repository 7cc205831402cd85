# Written by `python -m penstock.api.generate`.
from penstock.ops.cast import cast as cast
from penstock.ops.cast import saturate_cast as saturate_cast
from penstock.ops.complex_numbers import complex as complex
from penstock.ops.string_conversions import as_string as as_string
from penstock.tensor.dtypes import DType as DType
from penstock.tensor.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from penstock.tensor.dtypes import as_dtype as as_dtype
from penstock.tensor.dtypes import bfloat16 as bfloat16
from penstock.tensor.dtypes import bool as bool
from penstock.tensor.dtypes import complex128 as complex128
from penstock.tensor.dtypes import complex64 as complex64
from penstock.tensor.dtypes import double as double
from penstock.tensor.dtypes import float16 as float16
from penstock.tensor.dtypes import float32 as float32
from penstock.tensor.dtypes import float64 as float64
from penstock.tensor.dtypes import half as half
from penstock.tensor.dtypes import int16 as int16
from penstock.tensor.dtypes import int32 as int32
from penstock.tensor.dtypes import int64 as int64
from penstock.tensor.dtypes import int8 as int8
from penstock.tensor.dtypes import qint16 as qint16
from penstock.tensor.dtypes import qint32 as qint32
from penstock.tensor.dtypes import qint8 as qint8
from penstock.tensor.dtypes import quint16 as quint16
from penstock.tensor.dtypes import quint8 as quint8
from penstock.tensor.dtypes import resource as resource
from penstock.tensor.dtypes import string as string
from penstock.tensor.dtypes import uint16 as uint16
from penstock.tensor.dtypes import uint32 as uint32
from penstock.tensor.dtypes import uint64 as uint64
from penstock.tensor.dtypes import uint8 as uint8
from penstock.tensor.dtypes import variant as variant

__all__ = [
    "cast", "saturate_cast", "complex", "as_string", "DType", "QUANTIZED_DTYPES", "as_dtype", "bfloat16", "bool",
    "complex128", "complex64", "double", "float16", "float32", "float64", "half", "int16", "int32", "int64", "int8",
    "qint16", "qint32", "qint8", "quint16", "quint8", "resource", "string", "uint16", "uint32", "uint64", "uint8",
    "variant"
]
