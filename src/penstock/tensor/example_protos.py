"""tf.train.Example and its parts: TensorFlow's messages, built here since no package that we need has them.

The descriptors live in a pool of their own, so that an installed tensorflow, which registers the same names in
the default pool, does not clash with them. The bytes are the same, and so are the full names.

`WireExample` and `WireSequenceExample` read the same bytes, but leave each feature's list as it is on the wire
(`bytes_list`, `float_list` and `int64_list` are bytes): what the parsing ops hand to NumPy.
"""

from __future__ import annotations

from typing import Any

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_Field = descriptor_pb2.FieldDescriptorProto
_SCALARS = {"bytes": _Field.TYPE_BYTES, "float": _Field.TYPE_FLOAT, "int64": _Field.TYPE_INT64}


def _message(file: Any, name: str, *fields: str, oneof: str = "") -> None:
    """Add a message to `file`: fields are written "type name", numbered as they come.

    A type is a scalar, "repeated …", a message, or "map …" from strings to a message.
    """
    message = file.message_type.add(name=name)
    if oneof:
        message.oneof_decl.add(name=oneof)
    for number, text in enumerate(fields, 1):
        *qualifiers, kind, field_name = text.split()
        repeated = bool(qualifiers)
        field = message.field.add(name=field_name, number=number)
        field.label = _Field.LABEL_REPEATED if repeated else _Field.LABEL_OPTIONAL
        if "map" in qualifiers:
            entry_name = field_name.title().replace("_", "") + "Entry"
            entry = message.nested_type.add(name=entry_name)
            entry.options.map_entry = True
            entry.field.add(name="key", number=1, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_STRING)
            value = entry.field.add(name="value", number=2, label=_Field.LABEL_OPTIONAL, type=_Field.TYPE_MESSAGE)
            value.type_name = f".{file.package}.{kind}"
            kind = f"{name}.{entry_name}"
        if kind in _SCALARS:
            field.type = _SCALARS[kind]
            if repeated and kind != "bytes":
                field.options.packed = True
        else:
            field.type, field.type_name = _Field.TYPE_MESSAGE, f".{file.package}.{kind}"
        if oneof:
            field.oneof_index = 0


def _file(name: str, package: str) -> Any:
    return descriptor_pb2.FileDescriptorProto(name=name, package=package, syntax="proto3")


def _containers(file: Any) -> None:
    """The messages that hold features, on top of `Feature`."""
    _message(file, "Features", "map Feature feature")
    _message(file, "FeatureList", "repeated Feature feature")
    _message(file, "FeatureLists", "map FeatureList feature_list")
    _message(file, "Example", "Features features")
    _message(file, "SequenceExample", "Features context", "FeatureLists feature_lists")


def _build() -> dict[str, Any]:
    pool = descriptor_pool.DescriptorPool()
    file = _file("penstock/example.proto", "tensorflow")
    _message(file, "BytesList", "repeated bytes value")
    _message(file, "FloatList", "repeated float value")
    _message(file, "Int64List", "repeated int64 value")
    _message(file, "Feature", "BytesList bytes_list", "FloatList float_list", "Int64List int64_list", oneof="kind")
    _containers(file)
    pool.Add(file)
    wire = _file("penstock/wire_example.proto", "penstock.wire")
    _message(wire, "Feature", "bytes bytes_list", "bytes float_list", "bytes int64_list", oneof="kind")
    _containers(wire)
    pool.Add(wire)
    found = {}
    for one in (file, wire):
        for message in one.message_type:
            full = f"{one.package}.{message.name}"
            found[full] = message_factory.GetMessageClass(pool.FindMessageTypeByName(full))
    return found


_classes = _build()

BytesList: Any = _classes["tensorflow.BytesList"]
FloatList: Any = _classes["tensorflow.FloatList"]
Int64List: Any = _classes["tensorflow.Int64List"]
Feature: Any = _classes["tensorflow.Feature"]
Features: Any = _classes["tensorflow.Features"]
FeatureList: Any = _classes["tensorflow.FeatureList"]
FeatureLists: Any = _classes["tensorflow.FeatureLists"]
Example: Any = _classes["tensorflow.Example"]
SequenceExample: Any = _classes["tensorflow.SequenceExample"]

WireExample: Any = _classes["penstock.wire.Example"]
WireSequenceExample: Any = _classes["penstock.wire.SequenceExample"]
WireFeature: Any = _classes["penstock.wire.Feature"]
