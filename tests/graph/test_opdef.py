"""Signatures as text, and the registry of ops beside TensorFlow's own OpDefs."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import (
    NO_DEFAULT,
    ArgDef,
    AttrDef,
    OpDef,
    define_op,
    parse_arg,
    parse_attr,
    registered_ops,
)
from penstock.tensor.dtypes import DType
from penstock.tensor.shapes import TensorShape

with gzip.open(Path(__file__).parent.parent / "data" / "tf_opdefs.json.gz", "rt") as file:
    REFERENCE: dict[str, Any] = json.load(file)
# Of tf.contrib in TensorFlow 1.x, and in none of its libraries since.
REFERENCE["GatherTree"] = {
    "inputs": [
        {"name": "step_ids", "type_attr": "T"},
        {"name": "parent_ids", "type_attr": "T"},
        {"name": "max_sequence_lengths", "type": "DT_INT32"},
        {"name": "end_token", "type_attr": "T"},
    ],
    "outputs": [{"name": "beams", "type_attr": "T"}],
    "attrs": [{"name": "T", "type": "type", "allowed": ["DT_INT32"]}],
}
for _name in ("BytesInUse", "BytesLimit", "MaxBytesInUse"):
    REFERENCE[_name] = {
        "inputs": [],
        "outputs": [{"name": "out", "type": "DT_INT64"}],
        "attrs": [],
        "is_stateful": True,
    }


def enum(dtype: DType) -> str:
    names = {"float32": "FLOAT", "float64": "DOUBLE", "float16": "HALF"}
    return "DT_" + names.get(dtype.name, dtype.name.upper())


def plain(kind: str, value: Any) -> Any:
    """An attribute's Python value as the reference file writes it."""
    match value:
        case DType():
            return enum(value)
        case TensorShape():
            return None if value.ndims is None else value.as_list()
        case bytes():
            return value.decode()
        case np.ndarray():
            return value.tolist()
        case list():
            return [plain(kind, v) for v in value]
        case float():
            return pytest.approx(value, rel=1e-6)
    return value


def arg_row(arg: ArgDef) -> dict[str, Any]:
    row: dict[str, Any] = {"name": arg.name}
    if arg.dtype is not None:
        row["type"] = enum(arg.dtype)
    for name in ("type_attr", "type_list_attr", "number_attr"):
        if getattr(arg, name) is not None:
            row[name] = getattr(arg, name)
    if arg.is_ref:
        row["is_ref"] = True
    return row


def attr_row(attr: AttrDef) -> dict[str, Any]:
    row: dict[str, Any] = {"name": attr.name, "type": attr.type}
    if attr.allowed is not None:
        row["allowed"] = sorted(str(plain(attr.type, v)) for v in attr.allowed)
    if attr.minimum is not None:
        row["minimum"] = attr.minimum
    if attr.default is not NO_DEFAULT:
        row["default"] = plain(attr.type, attr.default)
    return row


def reference_attr(attr: dict[str, Any]) -> dict[str, Any]:
    row = dict(attr)
    if "default" in row:
        (row["default"],) = row["default"].values()
        if row["type"] == "tensor":
            from google.protobuf import text_format
            from tensorboard.compat.proto.tensor_pb2 import TensorProto

            row["default"] = tf.make_ndarray(text_format.Parse(row["default"], TensorProto())).tolist()
    if "allowed" in row:
        row["allowed"] = sorted(row["allowed"])
    return row


PENSTOCKS_OWN = {"ParquetDataset"}
"""Ops that TensorFlow does not have."""
OF_CONTRIB = {"Resampler", "ResamplerGrad"}
"""Ops of tf.contrib, which the reference, of TensorFlow 2, does not have."""


@pytest.mark.parametrize("op", registered_ops().values(), ids=lambda op: op.name)
def test_every_registered_op_has_the_signature_of_tensorflows_opdef(op: OpDef) -> None:
    if op.name in PENSTOCKS_OWN | OF_CONTRIB:
        assert op.name not in REFERENCE
        return
    reference = REFERENCE[op.name]
    assert [arg_row(a) for a in op.inputs] == reference["inputs"]
    assert [arg_row(a) for a in op.outputs] == reference["outputs"]
    assert [attr_row(a) for a in op.attrs.values()] == [reference_attr(a) for a in reference["attrs"]]
    flags = {
        "is_stateful": op.stateful,
        "is_commutative": op.commutative,
        "is_aggregate": op.aggregate,
        "allows_uninitialized_input": op.allows_uninitialized_input,
    }
    assert {k: v for k, v in flags.items() if v} == {k: reference[k] for k in flags if k in reference}


def test_an_argument_is_a_name_and_a_type_an_attribute_a_list_or_a_reference() -> None:
    attrs = {a.name: a for a in map(parse_attr, ["T: type", "N: int >= 1", "Ts: list(type)"])}
    assert parse_arg("x: float", attrs) == ArgDef("x", dtype=tf.float32)
    assert parse_arg("x: T", attrs) == ArgDef("x", type_attr="T")
    assert parse_arg("x: N * T", attrs) == ArgDef("x", type_attr="T", number_attr="N")
    assert parse_arg("x: N * float", attrs) == ArgDef("x", dtype=tf.float32, number_attr="N")
    assert parse_arg("x: Ts", attrs) == ArgDef("x", type_list_attr="Ts")
    assert parse_arg("x: Ref(T)", attrs) == ArgDef("x", type_attr="T", is_ref=True)


def test_an_attribute_has_a_type_a_minimum_a_default_and_allowed_values() -> None:
    assert parse_attr("T: {float, int32} = float") == AttrDef("T", "type", tf.float32, (tf.float32, tf.int32))
    assert parse_attr("ks: list(int) >= 4 = [1, 2, 2, 1]") == AttrDef("ks", "list(int)", [1, 2, 2, 1], None, 4)
    assert parse_attr("p: {'SAME', 'VALID'} = 'SAME'") == AttrDef("p", "string", b"SAME", (b"SAME", b"VALID"))
    assert parse_attr("shape: shape = unknown") == AttrDef("shape", "shape", TensorShape(None))
    assert parse_attr("b: bool = true").default is True
    assert parse_attr("f: float = 1e-05").default == 1e-5


@pytest.mark.parametrize("text", ["x", "x: nonsense", "x: 3 * T"])
def test_a_signature_that_does_not_parse_says_so(text: str) -> None:
    with pytest.raises((ValueError, TypeError)):
        define_op("Unparsable", text)
    assert "Unparsable" not in registered_ops()


def test_an_op_is_registered_once() -> None:
    with pytest.raises(ValueError, match="already registered"):
        define_op("MatMul")


def test_an_unknown_op_names_the_nearest() -> None:
    with pytest.raises(NotImplementedError, match=r"'MatMull'.*MatMul"):
        tf.get_default_graph().create_op("MatMull", [])


def test_libraries_ask_an_op_whether_it_is_stateful() -> None:
    with tf.Graph().as_default():
        assert tf.random_shuffle([1, 2]).op.op_def.is_stateful
        assert not tf.identity(1.0).op.op_def.is_stateful
