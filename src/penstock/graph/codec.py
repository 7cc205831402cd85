"""Converts tensors, attributes and nodes to messages and back: the bytes are TensorFlow's (messages are TensorBoard's
copies of its protos).

Reading only builds plain data; nothing in a message is executed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from tensorboard.compat.proto import attr_value_pb2, node_def_pb2, tensor_pb2, versions_pb2

from penstock.export import export
from penstock.graph.newer_attrs import NEWER_ATTRS
from penstock.graph.opdef import OpDef
from penstock.tensor.dtypes import DType, as_dtype, string
from penstock.tensor.shapes import TensorShape
from penstock.version import GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER

if TYPE_CHECKING:
    from penstock.graph.operation import Operation

_MOST_BYTES = 1 << 31
"""The most bytes of a tensor in a message: the maximum size of messages."""

# --- tensors --------------------------------------------------------------------------------------------

_FIELDS = {
    "float16": "half_val", "bfloat16": "half_val", "float32": "float_val", "float64": "double_val",
    "int8": "int_val", "int16": "int_val", "int32": "int_val", "uint8": "int_val", "uint16": "int_val",
    "uint32": "uint32_val", "uint64": "uint64_val", "int64": "int64_val", "bool": "bool_val",
    "complex64": "scomplex_val", "complex128": "dcomplex_val", "string": "string_val",
    "qint8": "int_val", "quint8": "int_val", "qint16": "int_val", "quint16": "int_val", "qint32": "int_val",
}  # fmt: skip


_NUMBERS = frozenset(as_dtype(name).as_datatype_enum for name in _FIELDS)


def tensor_proto(array: np.ndarray, dtype: DType | None = None, shape: tuple[int, ...] | None = None) -> Any:
    """An array as a TensorProto; if `shape` has more elements, the last value is repeated.

    Values are stored as in TensorFlow: as bytes if there are several that fill the shape, otherwise one by one.
    """
    dtype = (dtype or as_dtype(array.dtype)).base_dtype
    shape = array.shape if shape is None else shape
    proto = tensor_pb2.TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=TensorShape(shape).as_proto())
    if _is_one_value(array) and array.shape == shape:
        array = array.reshape(-1)[:1]
    one_by_one = dtype == string or dtype.is_bool or dtype.is_complex
    if array.size > 1 and array.size == math.prod(shape) and not one_by_one:
        # "<": the wire is little-endian whatever the host is.
        proto.tensor_content = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
    else:
        getattr(proto, _FIELDS[dtype.name]).extend(_field_values(array.reshape(-1), dtype))
    return proto


def _is_one_value(array: np.ndarray) -> bool:
    """Whether it is one value that is seen in many places, as `tensor_array` makes it."""
    return array.size > 1 and not any(array.strides)


def _field_values(flat: np.ndarray, dtype: DType) -> list[Any]:
    """The content of the field of `dtype` for these values: halves are stored as bits, a complex number as two
    floats."""
    if dtype.name in ("float16", "bfloat16"):
        flat = flat.view(np.uint16)
    elif dtype.is_complex:
        flat = np.ascontiguousarray(flat).view(dtype.real_dtype.np)
    elif dtype.is_quantized:
        flat = flat.view(dtype.np[0])
    return flat.tolist()


def tensor_array(proto: Any) -> np.ndarray:
    """A TensorProto as an array (TF: tf.make_ndarray). Raises ValueError if it contradicts itself.

    One value that stands for all is a read-only view of it, which takes no memory.
    """
    dtype = as_dtype(proto.dtype).base_dtype
    shape = tuple(d.size for d in proto.tensor_shape.dim)
    size = math.prod(shape)
    if any(d < 0 for d in shape) or dtype.name not in _FIELDS:
        raise ValueError(f"a tensor message of dtype {dtype.name} and shape {list(shape)} has no value")
    if size * dtype.np.itemsize > _MOST_BYTES:  # one value may represent all, so the message itself can be short
        raise ValueError(f"a tensor message of dtype {dtype.name} and shape {list(shape)} would be of more than 2 GiB")
    if proto.tensor_content:
        if size * dtype.np.itemsize != len(proto.tensor_content):
            raise ValueError(f"a tensor message of shape {list(shape)} holds {len(proto.tensor_content)} bytes")
        return np.frombuffer(proto.tensor_content, dtype.np.newbyteorder("<")).astype(dtype.np).reshape(shape)
    values: Any = getattr(proto, _FIELDS[dtype.name])
    if dtype.name in ("float16", "bfloat16"):
        flat = np.array(values, np.uint16).view(dtype.np)
    elif dtype.is_complex:
        flat = np.array(values, dtype.real_dtype.np).view(dtype.np)
    elif dtype == string:
        flat = np.empty(len(values), object)
        flat[:] = list(values)
    else:
        flat = np.array(values, dtype.np)
    if flat.size > size:
        raise ValueError(f"a tensor message of shape {list(shape)} holds {flat.size} values")
    if flat.size < size:  # the last value repeats; none at all means zeros
        last = flat[-1] if flat.size else (b"" if dtype == string else dtype.np.type(0))
        if flat.size < 2:
            return np.broadcast_to(np.full((), last, flat.dtype), shape)
        flat = np.concatenate([flat, np.full(size - flat.size, last, flat.dtype)])
    return flat.reshape(shape)


def repeated_bytes(proto: Any) -> int:
    """How many bytes `tensor_array` takes for values that a TensorProto leaves out, because the last one repeats."""
    if proto.tensor_content or proto.dtype not in _NUMBERS:
        return 0
    dtype = as_dtype(proto.dtype)
    given = len(getattr(proto, _FIELDS[dtype.name])) // (2 if dtype.is_complex else 1)
    size = math.prod(d.size for d in proto.tensor_shape.dim)
    return (size - given) * dtype.np.itemsize if 1 < given < size else 0


# --- attributes -----------------------------------------------------------------------------------------

_PROTO_FIELD = {
    "int": "i",
    "float": "f",
    "bool": "b",
    "string": "s",
    "type": "type",
    "shape": "shape",
    "tensor": "tensor",
    "func": "func",
}


def _plain(kind: str, value: Any) -> Any:
    match kind:
        case "type":
            return value.as_datatype_enum
        case "shape":
            return value.as_proto()
        case "tensor":
            return tensor_proto(value)
        case "func":
            return attr_value_pb2.NameAttrList(name=value.name)  # a GraphFunction, or such a message
        case _:
            return value


def attr_proto(kind: str, value: Any) -> Any:
    """An attribute's Python value as an AttrValue message. `kind` is the OpDef's name of its type."""
    if isinstance(value, attr_value_pb2.AttrValue):
        return value
    proto = attr_value_pb2.AttrValue()
    if kind.startswith("list("):
        kind = kind[5:-1]
        proto.list.SetInParent()
        getattr(proto.list, _PROTO_FIELD[kind]).extend([_plain(kind, v) for v in value])
        return proto
    field, plain = _PROTO_FIELD[kind], _plain(kind, value)
    if kind in ("shape", "tensor", "func"):
        getattr(proto, field).CopyFrom(plain)
    else:
        setattr(proto, field, plain)
    return proto


def attr_from_proto(proto: Any) -> Any:
    """An AttrValue message as the Python value that nodes keep."""
    field = proto.WhichOneof("value")
    if field == "list":
        filled = proto.list.ListFields()
        return [_from_field(filled[0][0].name, item) for item in filled[0][1]] if filled else []
    return None if field is None else _from_field(field, getattr(proto, field))


def _from_field(field: str, value: Any) -> Any:
    match field:
        case "type":
            return as_dtype(value).base_dtype
        case "shape":
            return TensorShape(value)
        case "tensor":
            array = tensor_array(value)
            array.flags.writeable = False
            return array
        case "s":
            return bytes(value)
        case _:
            return value


def kind_of(value: Any) -> str:
    """The attribute type of a system attribute ("_class", …), which no OpDef declares."""
    if isinstance(value, list):
        return f"list({kind_of(value[0]) if value else 'string'})"
    kinds: list[tuple[type, str]] = [
        (bool, "bool"), (int, "int"), (float, "float"), (bytes, "string"), (DType, "type"), (TensorShape, "shape"),
        (np.ndarray, "tensor"),
    ]  # fmt: skip
    for cls, kind in kinds:
        if isinstance(value, cls):
            return kind
    raise TypeError(f"{value!r} cannot be an attribute")


# --- nodes -------------------------------------------------------------------------------------------


def node_def(op: Operation) -> Any:
    """A node as a NodeDef message, which TensorFlow 1.15 reads unless the node uses what came later."""
    proto = node_def_pb2.NodeDef(name=op.name, op=op.type, device=op.device)
    for tensor in op._inputs:
        proto.input.append(tensor.op.name if tensor.value_index == 0 else tensor.name)
    proto.input.extend(sorted(f"^{control.name}" for control in op._control_inputs))
    for name, value in op.attrs.items():
        declared = op.op_def.attrs.get(name)
        if (op.type, name) in NEWER_ATTRS and declared is not None and value == declared.default:
            continue
        proto.attr[name].CopyFrom(attr_proto(declared.type if declared else kind_of(value), value))
    return proto


def versions() -> Any:
    return versions_pb2.VersionDef(producer=GRAPH_DEF_VERSION, min_consumer=GRAPH_DEF_VERSION_MIN_CONSUMER)


def node_attrs(op_def: OpDef, proto: Any) -> dict[str, Any]:
    """The attributes of a NodeDef as Python values. Raises ValueError if one does not have its declared type."""
    attrs: dict[str, Any] = {}
    for name, value in proto.attr.items():
        declared = op_def.attrs.get(name)
        if declared is None and not name.startswith("_"):
            raise ValueError(f"node {proto.name!r}: op {op_def.name} has no attribute {name!r}")
        if name == "_output_shapes" and declared is None:
            continue
        kind = _OF_ALL_OPS.get(name) if declared is None else declared.type
        if kind is not None and not _is_of(value, kind):
            raise ValueError(f"node {proto.name!r}: attribute {name!r} of {op_def.name} is not a valid {kind}")
        attrs[name] = attr_from_proto(value)
    return attrs


_OF_ALL_OPS = {"_class": "list(string)", "_gradient_op_type": "string", "_member": "int"}
"""Attributes that any node may have and Penstock reads."""


def _is_of(value: Any, kind: str) -> bool:
    """Whether an AttrValue message holds what an OpDef calls `kind`; an empty list is of any."""
    if not kind.startswith("list("):
        return bool(value.WhichOneof("value") == _PROTO_FIELD[kind])
    held = [field.name for field, _ in value.list.ListFields()]
    return value.WhichOneof("value") == "list" and held in ([], [_PROTO_FIELD[kind[5:-1]]])


@export("make_ndarray", "contrib.util.make_ndarray")
def make_ndarray(tensor: Any) -> np.ndarray:
    """The array in a TensorProto message (TF: tf.make_ndarray)."""
    return tensor_array(tensor)


@export("make_tensor_proto", "contrib.util.make_tensor_proto")
def make_tensor_proto(
    values: Any, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> Any:
    """A TensorProto message with `values`, with the dtype that `tf.constant` would choose (TF's function).

    Where `shape` has more elements, the last value is repeated. With `verify_shape` another shape raises TypeError,
    with `allow_broadcast` another number of values than 1 or all.
    """
    from penstock.graph.constants import make_array

    if isinstance(values, tensor_pb2.TensorProto):
        return values
    dtype = None if dtype is None else as_dtype(dtype)
    array = make_array(values, dtype)
    if shape is None:
        return tensor_proto(array)
    dims: tuple[Any, ...] = tuple(TensorShape(shape).as_list())
    wrong = array.size not in (1, math.prod(dims)) if allow_broadcast else verify_shape and array.shape != dims
    if wrong:
        raise TypeError(f"Expected Tensor's shape: {dims}, got {array.shape}.")
    return tensor_proto(array, shape=make_array(values, dtype, shape).shape)
