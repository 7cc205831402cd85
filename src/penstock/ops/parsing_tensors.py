"""A tensor as the bytes of a TensorProto, and back (TF: SerializeTensor, ParseTensor)."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock.export import export
from penstock.graph import shape_rules
from penstock.graph.codec import tensor_array
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import UNKNOWN, ShapeContext
from penstock.ops.kernel_tools import TORCH_TYPES
from penstock.ops.strings import invalid
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime, to_runtime
from penstock.tensor.dtypes import as_dtype, string, variant
from penstock.tensor.shapes import TensorShape

PARSE_TENSOR = define_op("ParseTensor", "serialized: string", "output: out_type", attrs=["out_type: type"])
PARSE_TENSOR.not_differentiable()

SERIALIZE_TENSOR = define_op("SerializeTensor", "tensor: T", "serialized: string", attrs=["T: type"])
SERIALIZE_TENSOR.shape(shape_rules.scalar)
SERIALIZE_TENSOR.not_differentiable()


@PARSE_TENSOR.shape
def parse_tensor_shape(c: ShapeContext, serialized: TensorShape) -> TensorShape:
    return UNKNOWN


@PARSE_TENSOR.kernel("CPU", out_type=f"{TORCH_TYPES} string variant")
def parse_tensor_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["out_type"]

    def parse(serialized: np.ndarray) -> Any:
        if serialized.ndim:
            raise invalid(f"Expected `serialized` to be a scalar, got shape: {list(serialized.shape)}")
        text = serialized.item()
        try:
            proto = TensorProto.FromString(text)
            if proto.dtype and as_dtype(proto.dtype) != dtype:
                found = as_dtype(proto.dtype).name
                raise invalid(f"Type mismatch between parsed tensor ({found}) and dtype ({dtype.name})")
            return _variants(proto) if dtype == variant else to_runtime(tensor_array(proto), dtype)
        except DecodeError:
            encoded = base64.b64encode(text).decode()
            raise invalid(f"Could not parse `serialized` as TensorProto, base64: {encoded}") from None
        except (ValueError, TypeError) as error:
            raise invalid(f"Cannot parse tensor from proto: {error}") from None

    return parse


def _variants(proto: TensorProto) -> np.ndarray:
    found = np.empty(len(proto.variant_val), object)
    found[:] = [value.metadata for value in proto.variant_val]
    return found.reshape([dim.size for dim in proto.tensor_shape.dim])


@SERIALIZE_TENSOR.kernel("CPU", T=f"{TORCH_TYPES} string variant")
def serialize_tensor_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def serialize(tensor: torch.Tensor | np.ndarray) -> np.ndarray:
        proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=TensorShape(tuple(tensor.shape)).as_proto())
        if dtype == variant:
            for value in tensor.reshape(-1).tolist():
                if not isinstance(value, bytes):
                    raise invalid(f"A variant that holds a {type(value).__name__} cannot be serialized")
                proto.variant_val.add(type_name="penstock::Bytes", metadata=value)
            return np.array(proto.SerializeToString(), object)
        array = np.asarray(from_runtime(tensor, dtype), dtype.np)
        if dtype == string:
            proto.string_val.extend(array.reshape(-1).tolist())
        else:
            proto.tensor_content = array.tobytes()
        return np.array(proto.SerializeToString(), object)

    return serialize


@export("parse_tensor", "io.parse_tensor")
def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor of dtype `out_type` in a serialized TensorProto, a scalar string (TF: tf.parse_tensor)."""
    return PARSE_TENSOR(convert_to_tensor(serialized, string), out_type=as_dtype(out_type), name=name)


@export("serialize_tensor", "io.serialize_tensor")
def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """`tensor` as a serialized TensorProto, a scalar string (TF: tf.serialize_tensor)."""
    return SERIALIZE_TENSOR(tensor, name=name)
