"""Modules of messages that protoc wrote in TensorFlow 1's time."""

from __future__ import annotations

from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto

from penstock.programs.old_messages import without_descriptors
from tests.programs.running import output_of

MODULE = """
import sys
_b=sys.version_info[0]<3 and (lambda x:x) or (lambda x:x.encode('latin1'))
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from google.protobuf import reflection as _reflection
from google.protobuf import symbol_database as _symbol_database
_sym_db = _symbol_database.Default()
DESCRIPTOR = _descriptor.FileDescriptor(
  name='shop.proto', package='old.shop', syntax='proto3', serialized_options=None,
  serialized_pb=_b({text!r}))
_ITEM = _descriptor.Descriptor(
  name='Item', full_name='old.shop.Item', filename=None, file=DESCRIPTOR, containing_type=None,
  fields=[_descriptor.FieldDescriptor(
    name='id', full_name='old.shop.Item.id', index=0, number=1, type=5, cpp_type=1, label=1,
    has_default_value=False, default_value=0, message_type=None, enum_type=None, containing_type=None,
    is_extension=False, extension_scope=None, options=None)],
  extensions=[], nested_types=[], enum_types=[], options=None, is_extendable=False, syntax='proto3',
  extension_ranges=[], oneofs=[], serialized_start=22, serialized_end=40)
DESCRIPTOR.message_types_by_name['Item'] = _ITEM
Item = _reflection.GeneratedProtocolMessageType('Item', (_message.Message,), dict(
  DESCRIPTOR = _ITEM, __module__ = 'shop_pb2'))
_sym_db.RegisterMessage(Item)
"""

PROGRAM = """
import tensorflow as tf
from google.protobuf import text_format
from protos import shop_pb2
item = text_format.Parse('id: 7 name: "cup" kind: GLASS', shop_pb2.Item())
again = shop_pb2.Item.FromString(item.SerializeToString())
print(again.id, again.name, again.kind == shop_pb2.GLASS, shop_pb2.Item.DESCRIPTOR.full_name, shop_pb2.__name__)
"""


def described() -> str:
    """The bytes of the description, as protoc wrote them: characters of latin-1."""
    file = FileDescriptorProto(name="shop.proto", package="old.shop", syntax="proto3")
    file.enum_type.add(name="Kind").value.add(name="WOOD", number=0)
    file.enum_type[0].value.add(name="GLASS", number=1)
    item = file.message_type.add(name="Item")
    item.field.add(name="id", number=1, type=5, label=1)
    item.field.add(name="name", number=2, type=9, label=1)
    item.field.add(name="kind", number=3, type=14, label=1, type_name=".old.shop.Kind")
    return file.SerializeToString().decode("latin-1")


def test_messages_that_protoc_wrote_before_3_19_can_be_imported(tmp_path: Path) -> None:
    (tmp_path / "protos").mkdir()
    (tmp_path / "protos" / "__init__.py").touch()
    (tmp_path / "protos" / "shop_pb2.py").write_text(MODULE.format(text=described()))
    assert output_of(tmp_path, PROGRAM) == "7 cup True old.shop.Item protos.shop_pb2\n"


def test_other_modules_stay_as_they_are() -> None:
    assert without_descriptors("DESCRIPTOR = _descriptor_pool.Default().AddSerializedFile(b'x')") is None
    assert without_descriptors("x = _descriptor.FileDescriptor(name='a')") is None


def test_lists_of_whole_numbers_take_truth_values(tmp_path: Path) -> None:
    program = """
import numpy as np, tensorflow as tf
flags = tf.train.Int64List(value=(flag for flag in [True, np.False_, 7]))
flags.value.append(True)
flags.value.extend(np.array([False, True]))
flags.value.extend(iter([np.int64(5)]))
print(list(flags.value), list(tf.train.Int64List().value), list(tf.train.Int64List(value=None).value))
make = lambda value: tf.train.Int64List(value=value)
for call, wrong in [(make, [2.5]), (flags.value.append, "1"), (flags.value.extend, [.5])]:
    try:
        call(wrong)
    except TypeError:
        print("refused")
"""
    assert output_of(tmp_path, program) == "[1, 0, 7, 1, 0, 1, 5] [] []\nrefused\nrefused\nrefused\n"


def test_lists_of_bytes_take_the_text_of_python_2(tmp_path: Path) -> None:
    program = "import tensorflow as tf\nname = u'caf\\xe9'.encode('utf-8')\n"
    program += "print [ord(each) if isinstance(each, str) else len(each) for each in "
    program += "tf.train.BytesList(value=['jpg', name, b'x']).value]\n"
    assert output_of(tmp_path, program) == "[3, 5, 1]\n"
    refused = "import tensorflow as tf\ntry:\n    tf.train.BytesList(value=['a'])\nexcept TypeError:\n    print('no')\n"
    assert output_of(tmp_path, refused) == "no\n"
