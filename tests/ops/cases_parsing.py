"""Cases of the ops that parse examples and decode strings. Serialized messages are made by protobuf itself."""

from __future__ import annotations

import gzip
import zlib
from typing import Any

import ml_dtypes
import numpy as np
from tensorboard.compat.proto.tensor_pb2 import TensorProto

from penstock import errors
from penstock.tensor.dtypes import as_dtype, float32, int32, int64, string
from penstock.tensor.example_protos import (
    BytesList,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
)
from penstock.tensor.shapes import TensorShape
from tests.ops.harness import OpCase


def feature(values: Any) -> Any:
    """None is a feature that is there but holds nothing; [] holds no ints."""
    if values is None:
        return Feature()
    first = values[0] if len(values) else 0
    if isinstance(first, bytes):
        return Feature(bytes_list=BytesList(value=values))
    if isinstance(first, float):
        return Feature(float_list=FloatList(value=values))
    return Feature(int64_list=Int64List(value=values))


def features(values: dict[str, Any]) -> Any:
    return Features(feature={key: feature(value) for key, value in values.items()})


def example(**values: Any) -> bytes:
    return Example(features=features(values)).SerializeToString()


def sequence(context: dict[str, Any], lists: dict[str, list[Any]]) -> bytes:
    found = {key: FeatureList(feature=[feature(v) for v in values]) for key, values in lists.items()}
    message = SequenceExample(context=features(context), feature_lists=FeatureLists(feature_list=found))
    return message.SerializeToString()


def texts(*values: Any) -> np.ndarray:
    found = np.empty(len(values), object)
    found[:] = values
    return found


def dense(shape: list[int | None], dtype: Any, default: Any = None) -> tuple[Any, Any, Any]:
    empty: Any = texts() if dtype == string else np.zeros(0, dtype.np)
    return TensorShape(shape), dtype, empty if default is None else default


NO_NAMES = texts()
INT = np.array([], np.int64)
BIG = [2**40, -1, 300, 0, 127, 128, -(2**63), 2**63 - 1]


def parse(
    examples: list[bytes], sparse: dict[str, Any], of_dense: dict[str, Any], names: Any = NO_NAMES, **case: Any
) -> OpCase:
    return OpCase(
        "ParseExample",
        [
            texts(*examples),
            names,
            [key.encode() for key in sparse],
            [key.encode() for key in of_dense],
            [default for _, _, default in of_dense.values()],
        ],
        {
            "Nsparse": len(sparse),
            "Ndense": len(of_dense),
            "sparse_types": list(sparse.values()),
            "Tdense": [dtype for _, dtype, _ in of_dense.values()],
            "dense_shapes": [shape for shape, _, _ in of_dense.values()],
        },
        **case,
    )


def parse_v2(
    examples: Any,
    sparse: dict[str, Any],
    of_dense: dict[str, Any],
    ragged: dict[str, Any] | None = None,
    splits: Any = int64,
    **case: Any,
) -> OpCase:
    ragged = ragged or {}
    return OpCase(
        "ParseExampleV2",
        [
            texts(*examples) if isinstance(examples, list) else examples,
            NO_NAMES,
            texts(*(key.encode() for key in sparse)),
            texts(*(key.encode() for key in of_dense)),
            texts(*(key.encode() for key in ragged)),
            [default for _, _, default in of_dense.values()],
        ],
        {
            "num_sparse": len(sparse),
            "sparse_types": list(sparse.values()),
            "ragged_value_types": list(ragged.values()),
            "ragged_split_types": [splits] * len(ragged),
            "Tdense": [dtype for _, dtype, _ in of_dense.values()],
            "dense_shapes": [shape for shape, _, _ in of_dense.values()],
        },
        **case,
    )


def parse_single(serialized: Any, sparse: dict[str, Any], of_dense: dict[str, Any], **case: Any) -> OpCase:
    return OpCase(
        "ParseSingleExample",
        [serialized, [default for _, _, default in of_dense.values()]],
        {
            "num_sparse": len(sparse),
            "sparse_keys": [key.encode() for key in sparse],
            "dense_keys": [key.encode() for key in of_dense],
            "sparse_types": list(sparse.values()),
            "Tdense": [dtype for _, dtype, _ in of_dense.values()],
            "dense_shapes": [shape for shape, _, _ in of_dense.values()],
        },
        **case,
    )


def parse_sequence(
    serialized: Any,
    context_sparse: dict[str, Any] | None = None,
    context_dense: dict[str, Any] | None = None,
    list_sparse: dict[str, Any] | None = None,
    list_dense: dict[str, Any] | None = None,
    may_lack: tuple[bytes, ...] = (),
    debug_name: bytes = b"",
    **case: Any,
) -> OpCase:
    context_sparse, context_dense = context_sparse or {}, context_dense or {}
    list_sparse, list_dense = list_sparse or {}, list_dense or {}
    return OpCase(
        "ParseSingleSequenceExample",
        [
            serialized,
            texts(*may_lack),
            [key.encode() for key in context_sparse],
            [key.encode() for key in context_dense],
            [key.encode() for key in list_sparse],
            [key.encode() for key in list_dense],
            [default for _, _, default in context_dense.values()],
            debug_name,
        ],
        {
            "Ncontext_sparse": len(context_sparse),
            "Ncontext_dense": len(context_dense),
            "Nfeature_list_sparse": len(list_sparse),
            "Nfeature_list_dense": len(list_dense),
            "context_sparse_types": list(context_sparse.values()),
            "Tcontext_dense": [dtype for _, dtype, _ in context_dense.values()],
            "feature_list_dense_types": [dtype for _, dtype, _ in list_dense.values()],
            "context_dense_shapes": [shape for shape, _, _ in context_dense.values()],
            "feature_list_sparse_types": list(list_sparse.values()),
            "feature_list_dense_shapes": [shape for shape, _, _ in list_dense.values()],
        },
        **case,
    )


def bad(**case: Any) -> dict[str, Any]:
    return {"raises": errors.InvalidArgumentError, **case}


I8 = np.int64
THREE = [example(a=[1, 2], f=[1.5], s=[b"x", b"yy"]), example(a=None), example(a=[300], s=[b""])]

PARSED = [
    parse(
        THREE,
        {"a": int64, "f": float32, "s": string, "none": int64},
        {},
        ref=(
            np.array([[0, 0], [0, 1], [2, 0]], I8),
            np.array([[0, 0]], I8),
            np.array([[0, 0], [0, 1], [2, 0]], I8),
            np.zeros([0, 2], I8),
            np.array([1, 2, 300], I8),
            np.array([1.5], np.float32),
            texts(b"x", b"yy", b""),
            INT,
            np.array([3, 2], I8),
            np.array([3, 1], I8),
            np.array([3, 2], I8),
            np.array([3, 0], I8),
        ),
        note="sparse",
    ),
    parse(
        [example(a=[1, 2, 3, 4], f=[0.5], s=[b"x", b"y"]), example(a=[5, 6, 7, 8], f=[2.5], s=[b"", b"z"])],
        {},
        {"a": dense([2, 2], int64), "f": dense([], float32), "s": dense([2], string)},
        ref=(
            np.arange(1, 9).reshape(2, 2, 2),
            np.array([0.5, 2.5], np.float32),
            np.array([[b"x", b"y"], [b"", b"z"]], object),
        ),
        note="dense",
    ),
    parse(
        [example(), example(a=[9, 8])],
        {},
        {"a": dense([2], int64, np.array([5, 6])), "s": dense([], string, np.array(b"d", object))},
        ref=(np.array([[5, 6], [9, 8]]), texts(b"d", b"d")),
        note="defaults",
    ),
    parse(
        [example(a=[1, 2], s=[b"x"]), example(), example(a=[3, 4, 5, 6], s=[b"y", b"z"])],
        {},
        {"a": dense([None, 2], int64, np.array(7)), "s": dense([None], string, np.array([b"-"], object))},
        ref=(
            np.array([[[1, 2], [7, 7]], [[7, 7], [7, 7]], [[3, 4], [5, 6]]]),
            np.array([[b"x", b"-"], [b"-", b"-"], [b"y", b"z"]], object),
        ),
        note="padded",
    ),
    parse(
        [],
        {"a": int64},
        {"b": dense([None], int64, np.array(1)), "c": dense([2], float32)},
        ref=(np.zeros([0, 2], I8), INT, np.array([0, 0], I8), np.zeros([0, 0], I8), np.zeros([0, 2], np.float32)),
        note="no examples",
    ),
    parse([example(a=BIG)], {}, {"a": dense([8], int64)}, ref=np.array([BIG]), note="all sizes of ints"),
    parse(
        [example(a=BIG), example(a=[1]), example(), example(a=[2**20] * 20)],
        {"a": int64},
        {},
        ref=(
            np.array([*([0, i] for i in range(8)), [1, 0], *([3, i] for i in range(20))], I8),
            np.array([*BIG, 1, *[2**20] * 20]),
            np.array([4, 20], I8),
        ),
        note="all sizes of ints, in rows",
    ),
    parse(
        # Not packed: a tag before each number, as proto2 writers give them.
        [b"\n\x13\n\x11\n\x01a\x12\x0c\x12\n\r\x00\x00\x80?\r\x00\x00\x00?", example(a=[2.0, 3.0])],
        {},
        {"a": dense([2], float32)},
        ref=np.array([[1, 0.5], [2, 3]], np.float32),
        note="unpacked",
    ),
    parse(
        [b"\n\x0e\n\x0c\n\x01a\x12\x07\x1a\x05\x08\x05\x08\xac\x02"],
        {},
        {"a": dense([2], int64)},
        ref=np.array([[5, 300]]),
        note="unpacked ints",
    ),
    parse([b"garbage"], {"a": int64}, {}, **bad(match="Could not parse example input, value: 'garbage'")),
    parse(
        [example(a=[1]), example()],
        {},
        {"a": dense([1], int64)},
        texts(b"first", b"second"),
        **bad(match=r"Name: second, Feature: a \(data type: int64\) is required but could not be found"),
    ),
    parse(
        [example(a=[1]), example(a=[1, 2])],
        {},
        {"a": dense([1], int64)},
        **bad(
            match="Name: <unknown>, Key: a, Index: 1.  Number of int64 values != expected.  "
            r"Values size: 2 but output shape: \[1\]"
        ),
    ),
    parse([example(a=[1.0])], {}, {"a": dense([1], int64)}, **bad(match="Data type: float but expected type: int64")),
    parse([example(a=[1.0])], {"a": string}, {}, **bad(match="Key: a, Index: 0.  Data types don't match")),
    parse(
        [example(a=[1, 2, 3])],
        {},
        {"a": dense([None, 2], int64, np.array(0))},
        **bad(match=r"not a multiple of stride length. Saw 3 values but output shape is: \[\?,2\]"),
    ),
    parse([example()], {}, {"a": dense([None], int64)}, **bad(match="must contain a single element")),
    parse([example()], {}, {"a": dense([2], int64, np.array(1))}, **bad(match="is not compatible with dense_shapes_")),
    parse([example()] * 2, {"a": int64}, {}, texts(b"n"), **bad(match="Expected names have the same shape")),
    parse_v2(
        [example(a=[1, 2], b=[0.5], c=[1, 2], d=[0.5]), example(), example(a=[3], b=[1.5], c=[3], d=[1.5])],
        {"a": int64},
        {"b": dense([], float32, np.float32(9))},
        {"c": int64, "d": float32},
        int32,
        ref=(
            np.array([[0, 0], [0, 1], [2, 0]], I8),
            np.array([1, 2, 3], I8),
            np.array([3, 2], I8),
            np.array([0.5, 9, 1.5], np.float32),
            np.array([1, 2, 3], I8),
            np.array([0.5, 1.5], np.float32),
            np.array([0, 2, 2, 3], np.int32),
            np.array([0, 1, 1, 2], np.int32),
        ),
    ),
    parse_v2(
        example(a=[1, 2], b=[0.5]),
        {"a": int64},
        {"b": dense([], float32)},
        ref=(np.array([[0], [1]], I8), np.array([1, 2], I8), np.array([2], I8), np.float32(0.5)),
        note="one example",
    ),
    parse_single(
        example(a=[1, 2], b=[0.5, 1.5], s=[b"x"], sparse=[1, 2]),
        {"sparse": int64, "none": string},
        {
            "a": dense([2], int64),
            "b": dense([None], float32, np.float32(0)),
            "c": dense([], int64, np.array(7)),
            "s": dense([], string),
        },
        ref=(
            np.array([[0], [1]], I8),
            np.zeros([0, 1], I8),
            np.array([1, 2], I8),
            texts(),
            np.array([2], I8),
            np.array([0], I8),
            np.array([1, 2], I8),
            np.array([0.5, 1.5], np.float32),
            np.int64(7),
            np.array(b"x", object),
        ),
    ),
    parse_single(example(), {}, {"a": dense([None, 2], int64, np.array(0))}, ref=np.zeros([0, 2], I8)),
    parse_single(b"garbage", {"a": int64}, {}, **bad(match="Could not parse example input")),
    parse_single(example(), {}, {"a": dense([1], int64)}, **bad(match=r"^Feature: a \(data type: int64\) is required")),
    parse_single(example(a=[1.0]), {}, {"a": dense([1], int64)}, **bad(match="Key: a.  Data types don't match")),
    parse_sequence(
        sequence({"n": [3], "w": [b"x", b"y"]}, {"x": [[1.0, 2.0], [3.0, 4.0]], "t": [[1, 2], [], [3]]}),
        {"w": string},
        {"n": dense([], int64), "d": dense([2], float32, np.float32([5, 6]))},
        {"t": int64, "gone": float32},
        {"x": dense([2], float32), "empty": dense([3], int64)},
        (b"empty",),
        ref=(
            np.array([[0], [1]], I8),
            texts(b"x", b"y"),
            np.array([2], I8),
            np.int64(3),
            np.float32([5, 6]),
            np.array([[0, 0], [0, 1], [2, 0]], I8),
            np.zeros([0, 2], I8),
            np.array([1, 2, 3], I8),
            np.zeros(0, np.float32),
            np.array([3, 2], I8),
            np.array([0, 0], I8),
            np.array([[1, 2], [3, 4]], np.float32),
            np.zeros([0, 3], I8),
        ),
    ),
    parse_sequence(
        sequence({}, {}),
        list_dense={"x": dense([2], float32)},
        debug_name=b"nm",
        **bad(match="Name: nm, Feature list 'x' is required but could not be found"),
    ),
    parse_sequence(
        sequence({}, {"x": [[1.0], [2]]}),
        list_dense={"x": dense([1], float32)},
        **bad(match="Feature list: x, Index: 1.  Data types don't match"),
    ),
    parse_sequence(
        sequence({}, {"x": [[1.0], [2.0, 3.0]]}),
        list_dense={"x": dense([1], float32)},
        **bad(match="Feature list: x, Index: 1.  Number of float values != expected"),
    ),
    parse_sequence(
        sequence({"n": [1.0]}, {}), context_sparse={"n": int64}, **bad(match="Context feature: n.  Data types")
    ),
    parse_sequence(
        sequence({}, {}), context_dense={"n": dense([1], int64)}, **bad(match="Context feature: n .*required")
    ),
    parse_sequence(b"garbage", context_sparse={"n": int64}, **bad(match="Could not parse")),
]

# --- decoding -------------------------------------------------------------------------------------------


def raw(values: Any, out_type: str, **attrs: Any) -> dict[str, Any]:
    return {"op": "DecodeRaw", "inputs": [values], "attrs": {"out_type": as_dtype(out_type), **attrs}}


def padded(values: Any, length: int, out_type: str, **attrs: Any) -> dict[str, Any]:
    inputs = [values, np.int32(length)]
    return {"op": "DecodePaddedRaw", "inputs": inputs, "attrs": {"out_type": as_dtype(out_type), **attrs}}


NUMBERS = [
    np.array([[1, 2], [3, 4]]).astype(t)
    for t in ("f2", "f4", "f8", "i4", "u2", "u1", "i2", "i1", "i8", "c8", "c16", ml_dtypes.bfloat16)
]

DECODED = [
    *(
        OpCase(**raw(texts(*(row.tobytes() for row in x)), as_dtype(x.dtype).name), ref=x)  # type: ignore[arg-type]
        for x in NUMBERS
    ),
    *(
        OpCase(
            **raw(texts(*(row.byteswap().tobytes() for row in x)), as_dtype(x.dtype).name, little_endian=False),
            ref=x,
            note="big-endian",
        )
        for x in (NUMBERS[0], NUMBERS[1], NUMBERS[9])
    ),
    OpCase(**raw(b"\0\1\1", "bool"), ref=np.array([False, True, True])),
    OpCase(**raw(np.array([[b"ab"], [b"cd"]], object), "uint8"), ref=np.array([[[97, 98]], [[99, 100]]], np.uint8)),
    OpCase(**raw(texts(b"", b""), "int32"), ref=np.zeros([2, 0], np.int32)),
    OpCase(**raw(texts(), "int32"), ref=np.zeros([0, 0], np.int32)),
    OpCase(**raw(texts(b"ab", b"c"), "uint8"), **bad(match="all be the same size, but element 1 has size 2 != 1")),
    OpCase(**raw(b"abc", "int16"), **bad(match="length 3 that is not a multiple of 2, the size of int16")),
    OpCase(**padded(texts(b"\1\2\3\4", b"\1\2"), 4, "int16"), ref=np.array([[513, 1027], [513, 0]], np.int16)),
    OpCase(**padded(texts(b"abc", b"d"), 2, "uint8"), ref=np.array([[97, 98], [100, 0]], np.uint8)),
    OpCase(**padded(b"\1\2\3", 4, "int16", little_endian=False), ref=np.array([258, 768], np.int16)),
    OpCase(**padded(texts(), 4, "int16"), ref=np.zeros([0, 2], np.int16)),
    OpCase(**padded(b"a", 0, "uint8"), **bad(match="must be greater than zero")),
    OpCase(**padded(b"a", 3, "int16"), raises=ValueError, match="a multiple of 2"),
    OpCase(
        "DecodeCompressed",
        [texts(zlib.compress(b"hello"), b"")],
        {"compression_type": "ZLIB"},
        ref=texts(b"hello", b""),
    ),
    OpCase("DecodeCompressed", [gzip.compress(b"hello")], {"compression_type": "GZIP"}, ref=np.array(b"hello", object)),
    OpCase(
        "DecodeCompressed",
        [gzip.compress(b"hel") + gzip.compress(b"lo")],
        {"compression_type": "GZIP"},
        ref=np.array(b"hello", object),
        note="two files in one",
    ),
    OpCase("DecodeCompressed", [texts(b"as", b"is")], ref=texts(b"as", b"is")),
    OpCase("DecodeCompressed", [b"junk"], {"compression_type": "ZLIB"}, raises=errors.DataLossError),
    OpCase("DecodeCompressed", [b"junk"], {"compression_type": "LZ"}, **bad(match="'LZ'")),
    OpCase(
        "DecodeJSONExample",
        [texts(b'{"features":{"feature":{"a":{"int64List":{"value":["1"]}}}}}', b"{}")],
        ref=texts(example(a=[1]), b""),
    ),
    OpCase("DecodeJSONExample", [b'{"x": 1}'], **bad(match="Error while parsing JSON")),
    OpCase("DecodeJSONExample", [b"{"], **bad(match="Error while parsing JSON")),
]


def csv(records: Any, defaults: list[Any], **attrs: Any) -> dict[str, Any]:
    arrays = [np.array(d, object) if np.asarray(d).dtype.kind in "SO" else np.asarray(d) for d in defaults]
    return {"op": "DecodeCSV", "inputs": [records, arrays], "attrs": attrs}


I32, F32 = np.int32, np.float32
CSV = [
    OpCase(
        **csv(texts(b"1,2.5,x,1e3,-7", b"3,inf,,nan,+8"), [I32(0), F32(0), b"d", np.float64(0), [np.int64(0)]]),
        ref=(I32([1, 3]), F32([2.5, np.inf]), texts(b"x", b"d"), np.array([1000, np.nan]), np.array([-7, 8])),
    ),
    OpCase(**csv(b"1,2", [I32(0), F32(0)]), ref=(I32(1), F32(2)), note="scalar"),
    OpCase(**csv(np.array([[b"1"], [b"2"]], object), [I32(0)]), ref=(I32([[1], [2]]),), note="matrix"),
    OpCase(**csv(texts(), [I32(0), b""]), ref=(I32([]), texts()), note="no records"),
    OpCase(**csv(texts(b" 1 , 0x10"), [I32(0), F32(0)]), ref=(I32([1]), F32([16]))),
    OpCase(**csv(texts(b",", b"1,z"), [I32([7]), b"d"]), ref=(I32([7, 1]), texts(b"d", b"z"))),
    OpCase(**csv(texts(b'"a,b","c""d\n",""'), [b"", b"", b"e"]), ref=(texts(b"a,b"), texts(b'c"d\n'), texts(b"e"))),
    OpCase(**csv(texts(b'"a",'), [b"", b"e"]), ref=(texts(b"a"), texts(b"e"))),
    OpCase(**csv(texts(b'"a,b"'), [b"", b""], use_quote_delim=False), ref=(texts(b'"a'), texts(b'b"'))),
    OpCase(**csv(b"a\r", [b""], use_quote_delim=False), **bad(match="quotes/CRLFs")),
    OpCase(**csv(texts(b"1|2"), [I32(0), I32(0)], field_delim="|"), ref=(I32([1]), I32([2]))),
    OpCase(**csv(texts(b"NA,NA,,"), [I32(5), b"q", I32(6), b"r"], na_value="NA"),
           ref=(I32([5]), texts(b"q"), I32([6]), texts(b"r"))),
    OpCase(**csv(texts(b"1,x,3"), [I32(0), I32(0)], select_cols=[0, 2]), ref=(I32([1]), I32([3]))),
    OpCase(**csv(texts(b"1", b"1,2"), [I32(0)]), **bad(match="Expect 1 fields but have 2 in record 1")),
    OpCase(**csv(b"", [I32(0)]), **bad(match="Expect 1 fields but have 0 in record 0")),
    OpCase(**csv(b"1,2", [I32(0), I32(0)], select_cols=[0, 5]), **bad(match="Expect 2 fields but have 1 in record 0")),
    OpCase(**csv(texts(b"1", b"a"), [I32(0)]), **bad(match="Field 0 in record 1 is not a valid int32: a")),
    OpCase(**csv(b"99999999999", [I32(0)]), **bad(match="not a valid int32")),
    OpCase(**csv(b"1_0", [I32(0)]), **bad(match="not a valid int32")),
    OpCase(**csv(b"x", [F32(0)]), **bad(match="not a valid float: x")),
    OpCase(**csv(b"1_0", [F32(0)]), **bad(match="not a valid float: 1_0")),
    OpCase(**csv(b"1,", [I32(0), I32([])]), **bad(match="Field 1 is required but missing in record 0!")),
    OpCase(**csv(b'a"b', [b""]), **bad(match="Unquoted fields cannot have quotes/CRLFs inside")),
    OpCase(**csv(b"1\n", [I32(0)]), **bad(match="Unquoted fields cannot have quotes/CRLFs inside")),
    OpCase(**csv(b'"ab"x', [b""]), **bad(match="Quote inside a string has to be escaped by another quote")),
    OpCase(**csv(b'"ab', [b""]), **bad(match="Quoted field has to end with quote followed by delim or end")),
    OpCase(**csv(b"1", [I32(0)], field_delim="::"), **bad(match="field_delim should be only 1 char")),
    OpCase(**csv(b"1", [I32([1, 2])]), raises=ValueError, match="length-0 or length-1 vector"),
]  # fmt: skip

# --- tensors and files ----------------------------------------------------------------------------------


def tensor_bytes(array: Any) -> bytes:
    """A TensorProto with its numbers as one piece of memory, or its strings one by one."""
    array = np.asarray(array)
    proto = TensorProto(dtype=as_dtype(array.dtype).as_datatype_enum)
    proto.tensor_shape.SetInParent()
    for size in array.shape:
        proto.tensor_shape.dim.add(size=size)
    if array.dtype == object:
        proto.string_val.extend(array.reshape(-1).tolist())
    else:
        proto.tensor_content = array.tobytes()
    return proto.SerializeToString()


def one_by_one(dtype: Any, shape: list[int], **fields: Any) -> bytes:
    proto = TensorProto(dtype=dtype.as_datatype_enum, **fields)
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
    return proto.SerializeToString()


WHOLE = [*NUMBERS, np.array([True, False]), np.int32(3), np.zeros([0, 2]), texts(b"a", b""), np.uint64([2**63])]
STORED = [
    *(OpCase("SerializeTensor", [x], ref=np.array(tensor_bytes(x), object)) for x in WHOLE),
    *(OpCase("ParseTensor", [tensor_bytes(x)], {"out_type": as_dtype(x.dtype)}, ref=x) for x in WHOLE),
    OpCase(
        "ParseTensor", [one_by_one(int32, [2, 2], int_val=[5])], {"out_type": int32}, ref=np.full([2, 2], 5, np.int32)
    ),
    OpCase("ParseTensor", [tensor_bytes(np.int32(3))], {"out_type": float32}, **bad(match=r"parsed tensor \(int32\)")),
    OpCase("ParseTensor", [b"garbage"], {"out_type": float32}, **bad(match="Could not parse")),
    OpCase("ParseTensor", [texts(b"")], {"out_type": float32}, **bad(match="to be a scalar")),
    OpCase(
        "ParseTensor", [one_by_one(int32, [3], tensor_content=b"1")], {"out_type": int32}, **bad(match="Cannot parse")
    ),
    OpCase("ReadFile", [b"/nowhere/to/be/found"], raises=errors.NotFoundError, match="/nowhere/to/be/found"),
    OpCase("ReadFile", [texts(b"a")], raises=ValueError),
    OpCase("WriteFile", [texts(b"a"), b""], raises=ValueError),
    OpCase("MatchingFiles", [b"/no*where"], ref=texts()),
    OpCase("MatchingFiles", [texts(b"/nowhere", b"/no*where")], ref=texts()),
    OpCase("MatchingFiles", [b"/nowhere/*"], raises=errors.NotFoundError, match="no such directory"),
]

CASES = [*PARSED, *DECODED, *CSV, *STORED]
