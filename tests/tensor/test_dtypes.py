"""Element types: identity, conversion, and what each type says of itself."""

from __future__ import annotations

import copy
import enum
import operator
import pickle
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch
from tensorboard.compat.proto import types_pb2

from penstock.tensor import dtypes
from penstock.tensor.dtypes import DType, as_dtype, dtype_from_opdef_name

PROTO_NAMES = {
    "DT_FLOAT": "float32",
    "DT_DOUBLE": "float64",
    "DT_HALF": "float16",
} | {
    f"DT_{name.upper()}": name
    for name in (
        *("bfloat16", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "complex64"),
        *("complex128", "bool", "string", "resource", "variant"),
        *("qint8", "qint16", "qint32", "quint8", "quint16"),
    )
}
VALUE_TYPES = [as_dtype(name) for name in PROTO_NAMES.values()]


def names_where(attribute: str) -> set[str]:
    return {dtype.name for dtype in VALUE_TYPES if getattr(dtype, attribute)}


@pytest.mark.parametrize(("proto", "name"), PROTO_NAMES.items())
def test_numbers_are_those_of_the_data_type_proto(proto: str, name: str) -> None:
    dtype = getattr(dtypes, name)
    assert dtype.as_datatype_enum == getattr(types_pb2, proto)
    assert dtype._as_ref.as_datatype_enum == getattr(types_pb2, proto + "_REF")
    assert getattr(dtypes, name + "_ref") is dtype._as_ref
    assert dtype_from_opdef_name(proto) is dtype
    assert dtype_from_opdef_name(proto.removeprefix("DT_").lower()) is dtype


@pytest.mark.parametrize("dtype", [*VALUE_TYPES, *(d._as_ref for d in VALUE_TYPES)], ids=repr)
def test_there_is_one_object_per_number(dtype: DType) -> None:
    assert as_dtype(dtype) is dtype
    assert as_dtype(dtype.name) is dtype
    assert as_dtype(dtype.as_datatype_enum) is dtype
    assert DType(dtype.as_datatype_enum) is dtype
    assert copy.copy(dtype) is dtype
    assert copy.deepcopy([dtype])[0] is dtype
    assert pickle.loads(pickle.dumps(dtype)) is dtype
    assert (int(dtype), hash(dtype)) == (dtype.as_datatype_enum,) * 2


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("float", "float32"),
        ("double", "float64"),
        ("half", "float16"),
        ("float_ref", "float32_ref"),
        ("half_ref", "float16_ref"),
        (float, "float32"),
        (int, "int32"),
        (bool, "bool"),
        (complex, "complex128"),
        (str, "string"),
        (bytes, "string"),
        (object, "string"),
        (np.float32, "float32"),
        (np.bool_, "bool"),
        (np.longlong, "int64"),
        (np.ulonglong, "uint64"),
        (np.intc, "int32"),
        (np.str_, "string"),
        (np.dtype("S3"), "string"),
        (np.dtype("U7"), "string"),
        (np.dtype(object), "string"),
        (np.dtype(">f4"), "float32"),
        (np.dtype(">i8"), "int64"),
        (ml_dtypes.bfloat16, "bfloat16"),
        (np.dtype(ml_dtypes.bfloat16), "bfloat16"),
        (torch.float32, "float32"),
        (torch.bfloat16, "bfloat16"),
        (torch.uint16, "uint16"),
        (torch.quint8, "quint8"),
        (torch.ones(1, dtype=torch.int16), "int16"),
        (np.ones(2), "float64"),
        (np.int64(7), "int64"),
        (enum.IntEnum("E", {"X": 3}).X, "int32"),
        *((1.0, "float32"), (3.0, "int32"), (103.0, "int32_ref"), (True, "float32")),
    ],
    ids=repr,
)
def test_as_dtype_understands(value: Any, expected: str) -> None:
    assert as_dtype(value).name == expected


@pytest.mark.parametrize(
    "value",
    [
        *("int", "f4", "DT_FLOAT", "<dtype: 'float32'>", "", b"float32", None),
        *(0, 24, 100, 999, -1, 0.0, 1.5, False),
        *([1], (np.float32,), list, np.generic, np.void, torch.strided),
        *(np.dtype("M8[s]"), np.dtype([("a", np.int8)])),
    ],
    ids=repr,
)
def test_as_dtype_refuses_and_names(value: Any) -> None:
    with pytest.raises(TypeError) as raised:
        as_dtype(value)
    assert repr(value) in str(raised.value)


@pytest.mark.parametrize("dtype", VALUE_TYPES, ids=repr)
def test_numpy_and_torch_types_lead_back_to_the_type(dtype: DType) -> None:
    if dtype.name in ("resource", "variant"):
        assert (dtype.torch, dtype.np, dtype.is_numpy_compatible) == (None, np.dtype(object), False)
        return
    assert as_dtype(dtype.np) is dtype
    assert as_dtype(dtype.as_numpy_dtype) is dtype
    assert dtype.is_numpy_compatible
    assert np.dtype(dtype.as_numpy_dtype) == dtype.np
    if dtype is dtypes.string:
        assert dtype.torch is None
        assert dtype.as_numpy_dtype is np.object_
    else:
        assert dtype.torch is not None
        assert dtype.torch.itemsize == dtype.size == dtype.np.itemsize
    if dtype.torch is not None and not dtype.is_quantized:
        assert as_dtype(dtype.torch) is dtype


def test_every_element_a_torch_tensor_holds_survives_the_way_through_numpy() -> None:
    for dtype in VALUE_TYPES:
        if dtype.torch is None or dtype.is_quantized or dtype is dtypes.bfloat16:
            continue
        assert torch.ones(2, dtype=dtype.torch).numpy().dtype == dtype.np


def test_kinds_of_type_are_told_apart() -> None:
    assert names_where("is_floating") == {"float16", "bfloat16", "float32", "float64"}
    assert names_where("is_complex") == {"complex64", "complex128"}
    assert names_where("is_bool") == {"bool"}
    assert names_where("is_unsigned") == {"uint8", "uint16", "uint32", "uint64"}
    assert names_where("is_integer") == names_where("is_unsigned") | {"int8", "int16", "int32", "int64"}
    assert names_where("is_quantized") == {"qint8", "qint16", "qint32", "quint8", "quint16"}
    assert names_where("is_ref_dtype") == set()


def test_quantized_types_are_listed_with_their_references() -> None:
    assert dtypes.qint8 in dtypes.QUANTIZED_DTYPES
    assert dtypes.quint16_ref in dtypes.QUANTIZED_DTYPES
    assert len(dtypes.QUANTIZED_DTYPES) == 10


def test_a_reference_type_is_another_type_of_the_same_elements() -> None:
    value, ref = dtypes.float32, dtypes.float32_ref
    assert value != ref
    assert ref.is_ref_dtype
    assert ref._is_ref_dtype
    assert not value._is_ref_dtype
    assert ref.base_dtype is value
    assert value.base_dtype is value
    assert ref._as_ref is ref
    assert ref.is_floating
    assert (ref.torch, ref.np, ref.size) == (value.torch, value.np, value.size)
    assert dtypes.resource_ref.base_dtype is dtypes.resource


def test_a_reference_serves_as_a_value_but_not_the_other_way_round() -> None:
    assert dtypes.float32.is_compatible_with(dtypes.float32_ref)
    assert dtypes.float32.is_compatible_with("float32_ref")
    assert dtypes.float32.is_compatible_with(np.float32)
    assert not dtypes.float32_ref.is_compatible_with(dtypes.float32)
    assert not dtypes.float32.is_compatible_with(dtypes.float64)


def test_the_real_type_of_a_complex_type_is_half_of_it() -> None:
    assert dtypes.complex64.real_dtype is dtypes.float32
    assert dtypes.complex64_ref.real_dtype is dtypes.float32
    assert dtypes.complex128.real_dtype is dtypes.float64
    assert dtypes.int32.real_dtype is dtypes.int32
    assert dtypes.int32_ref.real_dtype is dtypes.int32_ref


@pytest.mark.parametrize(
    ("name", "least", "greatest"),
    [
        ("float16", -65504.0, 65504.0),
        ("float32", -3.4028234663852886e38, 3.4028234663852886e38),
        ("float64", -np.finfo(np.float64).max, np.finfo(np.float64).max),
        ("bfloat16", -3.3895313892515355e38, 3.3895313892515355e38),
        ("int8", -128, 127),
        ("uint8", 0, 255),
        ("uint64", 0, 2**64 - 1),
        ("int64_ref", -(2**63), 2**63 - 1),
    ],
)
def test_min_and_max_are_the_finite_extremes(name: str, least: Any, greatest: Any) -> None:
    dtype = as_dtype(name)
    assert float(dtype.min) == float(least)
    assert float(dtype.max) == float(greatest)
    if dtype.is_integer:
        assert (dtype.min, dtype.max) == (least, greatest)


@pytest.mark.parametrize("name", ["bool", "string", "complex64", "qint8", "resource"])
def test_types_without_order_have_no_extremes(name: str) -> None:
    with pytest.raises(TypeError, match=f"minimum value of <dtype: '{name}'>"):
        _ = as_dtype(name).min
    with pytest.raises(TypeError, match=f"maximum value of <dtype: '{name}'>"):
        _ = as_dtype(name).max


def test_limits_are_an_images_range() -> None:
    assert dtypes.float32.limits == (0, 1)
    assert dtypes.float64_ref.limits == (0, 1)
    assert dtypes.uint8.limits == (0, 255)
    assert dtypes.int8.limits == (0, 127)
    assert dtypes.bool.limits == (0, True)
    for dtype in (dtypes.float16, dtypes.complex64, dtypes.string, dtypes.qint8):
        with pytest.raises(ValueError, match=dtype.name):
            _ = dtype.limits


def test_sizes_are_bytes_per_element_and_zero_for_objects() -> None:
    assert [d.size for d in (dtypes.float16, dtypes.bool, dtypes.complex128, dtypes.qint32)] == [2, 1, 16, 4]
    assert [d.size for d in (dtypes.string, dtypes.resource, dtypes.variant)] == [0, 0, 0]


def test_a_type_equals_whatever_converts_to_it_and_nothing_else() -> None:
    equals: list[Any] = [np.float32, "float32", "float", np.dtype("float32"), torch.float32, 1, 1.0, True, float]
    for other in equals:
        assert dtypes.float32 == other
        assert operator.ne(dtypes.float32, other) is False
    differs: list[Any] = [np.float64, "junk", None, 2, 1.5, False, object(), [], dtypes.int32]
    for other in differs:
        assert dtypes.float32 != other
        assert operator.eq(dtypes.float32, other) is False


def test_types_work_as_dict_keys() -> None:
    table = {dtypes.float32: "a", dtypes.float32_ref: "b", dtypes.int32: "c"}
    assert table[as_dtype("float")] == "a"
    assert table[dtypes.float32._as_ref] == "b"
    assert len(table) == 3


def test_a_type_prints_as_tensorflow_prints_it() -> None:
    assert str(dtypes.float32) == "<dtype: 'float32'>"
    assert repr(dtypes.string_ref) == "tf.string_ref"
    assert f"{dtypes.half}" == "<dtype: 'float16'>"


def test_a_type_cannot_be_changed() -> None:
    with pytest.raises(AttributeError, match=r"tf\.float32"):
        dtypes.float32.name = "float64"
    with pytest.raises(AttributeError):
        del dtypes.float32.size
    assert dtypes.float32.name == "float32"


@pytest.mark.parametrize("value", [0, 99, 124, "float32", None, []])
def test_a_type_is_constructed_from_known_numbers_only(value: Any) -> None:
    with pytest.raises(TypeError, match="not the number of a data type"):
        DType(value)


@pytest.mark.parametrize("name", ["DT_INVALID", "type", "DT_", "Float", None, np.float32])
def test_unknown_names_in_op_definitions_are_refused(name: Any) -> None:
    with pytest.raises(TypeError, match=re.escape(repr(name))):
        dtype_from_opdef_name(name)


def test_op_definitions_may_name_references() -> None:
    assert dtype_from_opdef_name("DT_FLOAT_REF") is dtypes.float32_ref
    assert dtype_from_opdef_name("float_ref") is dtypes.float32_ref


@pytest.mark.parametrize(
    ("python_type", "expected"),
    [(float, {"float32"}), (bool, {"bool"}), (int, set()), (complex, set()), (str, set()), (bytes, set())],
)
def test_a_type_is_equal_to_the_python_types_that_tensorflow_reads(python_type: type, expected: set[str]) -> None:
    assert {dtype.name for dtype in VALUE_TYPES if dtype == python_type} == expected


@pytest.mark.parametrize("name", ["int64", "int32", "float64", "complex128", "bool"])
def test_a_dtype_equals_numpy_s_of_the_same_name_whatever_python_type_numpy_takes_that_for(name: str) -> None:
    dtype = as_dtype(name)
    assert dtype == np.dtype(name)
    assert np.ones(1, name).dtype == dtype
    assert dtype != np.dtype("uint8")
