"""Sparse tensors to strings, three serialized TensorProtos each, and back (TF: SerializeSparse, …)."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import torch
from google.protobuf.message import DecodeError
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock.export import export
from penstock.graph.codec import tensor_array
from penstock.graph.composite import SparseTensor
from penstock.graph.convert import convert_to_tensor
from penstock.graph.opdef import Kernel, OpDef, define_op
from penstock.graph.operation import Tensor
from penstock.graph.shape_context import ShapeContext
from penstock.graph.traits import SERIAL
from penstock.ops.kernel_tools import invalid
from penstock.ops.sparse_tools import ANY, as_sparse, check_parts, join, sparse_shapes, take, tensor
from penstock.runtime.kernels import KernelContext
from penstock.runtime.values import from_runtime, to_runtime
from penstock.tensor.dtypes import DType, as_dtype, int64, string, variant
from penstock.tensor.shapes import TensorShape, unknown_shape

Parts = tuple[np.ndarray, Any, list[int]]
"""The The indices [n, rank], values [n] and shape of a sparse tensor."""

# --- serialization --------------------------------------------------------------------------------------


def _serializing(name: str) -> OpDef:
    op = define_op(
        name,
        "sparse_indices: int64, sparse_values: T, sparse_shape: int64",
        "serialized_sparse: out_type",
        attrs=["T: type", "out_type: {string, variant} = string"],
        work=SERIAL,
    )
    op.not_differentiable()
    return op


SERIALIZE_SPARSE = _serializing("SerializeSparse")
SERIALIZE_MANY_SPARSE = _serializing("SerializeManySparse")


def _check_static(indices: TensorShape, values: TensorShape, shape: TensorShape) -> None:
    indices.assert_has_rank(2)
    values.assert_has_rank(1)
    shape.assert_has_rank(1)


@SERIALIZE_SPARSE.shape
def serialize_sparse_shape(c: ShapeContext, *parts: TensorShape) -> TensorShape:
    _check_static(*parts)
    return TensorShape([3])


@SERIALIZE_MANY_SPARSE.shape
def serialize_many_sparse_shape(c: ShapeContext, *parts: TensorShape) -> TensorShape:
    _check_static(*parts)
    return TensorShape([None, 3])


def _serialized(value: Any, dtype: DType) -> bytes:
    proto = TensorProto(dtype=dtype.as_datatype_enum, tensor_shape=TensorShape(tuple(value.shape)).as_proto())
    if dtype == string:
        texts = value.tolist()
        proto.tensor_content = b"".join(map(_varint, map(len, texts))) + b"".join(texts)
    else:
        proto.tensor_content = np.asarray(from_runtime(value, dtype), dtype.np).tobytes()
    return proto.SerializeToString()


def _varint(value: int) -> bytes:
    """Seven bits per byte, the low ones first; the eighth bit says that there are more."""
    found = bytearray()
    while value > 127:
        found.append(value & 127 | 128)
        value >>= 7
    return bytes([*found, value])


def _texts(content: bytes, count: int) -> np.ndarray:
    """Strings as serialized by `_serialized`: their lengths, then their contents."""
    lengths, at = [], 0
    for _ in range(count):
        length = shift = 0
        while True:
            byte = content[at]
            at += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        lengths.append(length)
    if at + sum(lengths) != len(content):
        raise ValueError(f"{len(content)} bytes for {count} strings of {sum(lengths)} in all")
    found = np.empty(count, object)
    for i, length in enumerate(lengths):
        found[i] = content[at : at + length]
        at += length
    return found


def _strings(rows: list[tuple[Any, ...]], dtype: DType) -> np.ndarray:
    found = np.empty((len(rows), 3), object)
    for i, parts in enumerate(rows):
        found[i] = [_serialized(part, of) for part, of in zip(parts, (int64, dtype, int64), strict=True)]
    return found


@SERIALIZE_SPARSE.kernel("CPU", T=ANY, out_type="string")
def serialize_sparse_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def serialize(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> np.ndarray:
        if indices.ndim != 2 or values.ndim != 1 or shape.ndim != 1:
            check_parts(indices, values, shape)
        return _strings([(indices, values, shape)], dtype)[0]

    return serialize


@SERIALIZE_SPARSE.kernel("CPU", T=ANY, out_type="variant")
def hold_sparse_kernel(ctx: KernelContext) -> Kernel:
    """The parts themselves: variants go nowhere but to other kernels."""

    def hold(*parts: Any) -> np.ndarray:
        check_parts(*parts)
        return _held([parts])[0]

    return hold


@SERIALIZE_MANY_SPARSE.kernel("CPU", T=ANY, out_type="variant")
def hold_many_sparse_kernel(ctx: KernelContext) -> Kernel:
    def hold(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> np.ndarray:
        return _held([(tensor(i), v, tensor(np.array(s))) for i, v, s in rows_of(indices, values, shape)])

    return hold


def _held(rows: list[tuple[Any, ...]]) -> np.ndarray:
    found = np.empty((len(rows), 3), object)
    for row, parts in enumerate(rows):
        for part, value in enumerate(parts):
            found[row, part] = value
    return found


@SERIALIZE_MANY_SPARSE.kernel("CPU", T=ANY, out_type="string")
def serialize_many_sparse_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx["T"]

    def serialize(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> np.ndarray:
        return _strings([(tensor(i), v, tensor(np.array(s))) for i, v, s in rows_of(indices, values, shape)], dtype)

    return serialize


def rows_of(indices: torch.Tensor, values: Any, shape: torch.Tensor) -> list[Parts]:
    """The sparse tensors that are the rows of one; its rows must be in order."""
    check_parts(indices, values, shape)
    if len(shape) < 2:
        raise invalid(f"Rank of input SparseTensor should be > 1, but saw rank: {len(shape)}")
    height, *rest = shape.tolist()
    places = indices.numpy()
    row = places[:, 0]
    if ((row < 0) | (row >= height)).any():
        raise invalid(f"Received unexpected column 0 value in input SparseTensor: {row.tolist()}, with {height} rows")
    if (row[1:] < row[:-1]).any():
        raise invalid("The rows of the input SparseTensor must be in order; use tf.sparse.reorder")
    edges = np.searchsorted(row, np.arange(height + 1))
    return [(places[a:b, 1:], take(values, np.arange(a, b)), rest) for a, b in itertools.pairwise(edges)]


# --- and back -------------------------------------------------------------------------------------------

DESERIALIZE_SPARSE = define_op(
    "DeserializeSparse",
    "serialized_sparse: Tserialized",
    "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    attrs=["dtype: type", "Tserialized: {string, variant} = string"],
    work=SERIAL,
)
DESERIALIZE_MANY_SPARSE = define_op(
    "DeserializeManySparse",
    "serialized_sparse: string",
    "sparse_indices: int64, sparse_values: dtype, sparse_shape: int64",
    attrs=["dtype: type"],
)
DESERIALIZE_SPARSE.not_differentiable()
DESERIALIZE_MANY_SPARSE.not_differentiable()


@DESERIALIZE_SPARSE.shape
def deserialize_sparse_shape(c: ShapeContext, serialized: TensorShape) -> list[TensorShape]:
    serialized.with_rank_at_least(1)
    if serialized.tuple is not None:
        TensorShape(serialized.tuple[-1:]).assert_is_compatible_with([3])
    return sparse_shapes(None, None)


@DESERIALIZE_MANY_SPARSE.shape
def deserialize_many_sparse_shape(c: ShapeContext, serialized: TensorShape) -> list[TensorShape]:
    serialized.with_rank(2).assert_is_compatible_with([None, 3])
    return sparse_shapes(None, None)


def _parsed(text: bytes, dtype: DType, part: int, at: int) -> Any:
    try:
        proto = TensorProto.FromString(text)
        found = as_dtype(proto.dtype) if proto.dtype else None
        if found == dtype == string and proto.tensor_content:
            dims = [dim.size for dim in proto.tensor_shape.dim]
            return _texts(proto.tensor_content, math.prod(dims)).reshape(dims)
        if found == dtype:
            return to_runtime(tensor_array(proto), dtype)
    except (DecodeError, ValueError, TypeError, IndexError) as error:
        raise invalid(f"Could not parse serialized_sparse[{at}, {part}]: {error}") from None
    have = found and found.name
    raise invalid(f"Requested SparseTensor of type {dtype.name} but SparseTensor[{at}].values.dtype() == {have}")


def _read(strings: np.ndarray, dtype: DType, at: int) -> Parts:
    """The sparse tensor in three strings; its number is `at`."""
    types = (int64, dtype, int64)
    parts = zip(strings, types, strict=True)
    indices, values, shape = (_parsed(text, of, part, at) for part, (text, of) in enumerate(parts))
    check_parts(indices, values, shape, "a serialized tensor")
    return indices.numpy(), values, shape.tolist()


def stacked(tensors: list[Parts], dims: list[int]) -> tuple[Any, ...]:
    """Stacks sparse tensors of the same rank; their number is the product of the first `dims` of the result."""
    rank = len(tensors[0][2])
    for i, (_, _, shape) in enumerate(tensors):
        if len(shape) != rank:
            raise invalid(
                f"Inconsistent rank across SparseTensors: rank prior to SparseTensor[{i}] was: {rank + len(dims)} "
                f"but rank of SparseTensor[{i}] is: {len(shape) + len(dims)}"
            )
    largest = [max(sizes) for sizes in zip(*(shape for _, _, shape in tensors), strict=True)]
    lead = np.stack(np.unravel_index(np.arange(len(tensors)), dims), 1) if dims else np.zeros((1, 0), np.int64)
    rows = [
        np.concatenate([np.broadcast_to(at, (len(indices), len(dims))), indices], 1)
        for at, (indices, _, _) in zip(lead, tensors, strict=True)
    ]
    return tensor(np.concatenate(rows)), join([values for _, values, _ in tensors]), torch.tensor([*dims, *largest])


def _taken_out(parts: np.ndarray, dtype: DType, at: int) -> Parts:
    """The sparse tensor of three variants, which is number `at`."""
    indices, values, shape = parts
    have = string if isinstance(values, np.ndarray) else as_dtype(values.dtype)
    if have.np != dtype.np and not dtype.is_quantized:
        raise invalid(
            f"Requested SparseTensor of type {dtype.name} but SparseTensor[{at}].values.dtype() == {have.name}"
        )
    return indices.numpy(), values, shape.tolist()


@DESERIALIZE_SPARSE.kernel("CPU", dtype=ANY)
@DESERIALIZE_MANY_SPARSE.kernel("CPU", dtype=ANY)
def deserialize_sparse_kernel(ctx: KernelContext) -> Kernel:
    dtype, many = ctx["dtype"], ctx.node.op.name == "DeserializeManySparse"
    read = _taken_out if ctx.node.attrs.get("Tserialized") == variant else _read

    def deserialize(strings: np.ndarray) -> tuple[Any, ...]:
        if strings.ndim < 1 or strings.shape[-1] != 3 or (many and strings.ndim != 2):
            raise invalid(f"Serialized sparse should have 3 as the last dimension but got shape {list(strings.shape)}")
        dims = list(strings.shape[:-1])
        if not strings.size:
            raise invalid("Must have at least 1 serialized SparseTensor, but input matrix has 0 rows")
        return stacked([read(three, dtype, at) for at, three in enumerate(strings.reshape(-1, 3))], dims)

    return deserialize


# --- functions ------------------------------------------------------------------------------------------


@export("serialize_sparse", "io.serialize_sparse")
def serialize_sparse(sp_input: Any, name: str | None = None, out_type: Any = string) -> Tensor:
    """A sparse tensor as a vector of 3 strings (TF: tf.serialize_sparse)."""
    sp_input = as_sparse(sp_input)
    return SERIALIZE_SPARSE(
        sp_input.indices, sp_input.values, sp_input.dense_shape, out_type=as_dtype(out_type), name=name
    )


@export("serialize_many_sparse", "io.serialize_many_sparse")
def serialize_many_sparse(sp_input: Any, name: str | None = None, out_type: Any = string) -> Tensor:
    """Each row of a sparse tensor of rank 2 or more, serialized separately: strings [rows, 3].

    A step raises InvalidArgumentError if rows are out of order. TF: tf.serialize_many_sparse.
    """
    sp_input = as_sparse(sp_input)
    return SERIALIZE_MANY_SPARSE(
        sp_input.indices, sp_input.values, sp_input.dense_shape, out_type=as_dtype(out_type), name=name
    )


def _with_rank(parts: Any, rank: int | None) -> SparseTensor:
    indices, values, shape = parts
    indices.set_shape(unknown_shape(2) if rank is None else [None, rank])
    shape.set_shape([rank])
    return SparseTensor(indices, values, shape)


def deserialize_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The sparse tensors in strings [..., 3], stacked along the strings' dimensions (TF: tf.io.deserialize_sparse).

    Each other dimension is the largest among them. `rank` is that of the result.
    """
    text = convert_to_tensor(serialized_sparse)
    return _with_rank(DESERIALIZE_SPARSE(text, dtype=as_dtype(dtype), name=name), rank)


@export("deserialize_many_sparse", "io.deserialize_many_sparse")
def deserialize_many_sparse(
    serialized_sparse: Any, dtype: Any, rank: int | None = None, name: str | None = None
) -> SparseTensor:
    """The n sparse tensors in strings [n, 3], stacked along a new first dimension (TF: tf.deserialize_many_sparse).

    Each other dimension is the largest among them. `rank` is that of the result. A step raises InvalidArgumentError if
    ranks differ or strings cannot be read.
    """
    text = convert_to_tensor(serialized_sparse, string)
    return _with_rank(DESERIALIZE_MANY_SPARSE(text, dtype=as_dtype(dtype), name=name), rank)
