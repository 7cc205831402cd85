"""Reading, writing and decoding (TF: tf.io): each is written where its op is, and listed here."""

from __future__ import annotations

from penstock import absent as _absent, gfile as gfile
from penstock.ops.decoding import (
    decode_compressed as decode_compressed,
    decode_json_example as decode_json_example,
    decode_raw as decode_raw,
)
from penstock.ops.decoding_csv import decode_csv as decode_csv
from penstock.ops.files import (
    matching_files as matching_files,
    read_file as read_file,
    write_file as write_file,
)
from penstock.ops.parsing import (
    FixedLenFeature as FixedLenFeature,
    FixedLenSequenceFeature as FixedLenSequenceFeature,
    SparseFeature as SparseFeature,
    VarLenFeature as VarLenFeature,
    parse_example as parse_example,
    parse_single_example as parse_single_example,
)
from penstock.ops.parsing_sequence import parse_single_sequence_example as parse_single_sequence_example
from penstock.ops.parsing_tensors import parse_tensor as parse_tensor, serialize_tensor as serialize_tensor
from penstock.ops.sparse_serialize import (
    deserialize_many_sparse as deserialize_many_sparse,
    serialize_many_sparse as serialize_many_sparse,
    serialize_sparse as serialize_sparse,
)
from penstock.ops.string_conversions import decode_base64 as decode_base64, encode_base64 as encode_base64
from penstock.train.meta_graph import write_graph as write_graph

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "VarLenFeature",
    "decode_base64",
    "decode_compressed",
    "decode_csv",
    "decode_json_example",
    "decode_raw",
    "deserialize_many_sparse",
    "encode_base64",
    "gfile",
    "matching_files",
    "parse_example",
    "parse_single_example",
    "parse_single_sequence_example",
    "parse_tensor",
    "read_file",
    "serialize_many_sparse",
    "serialize_sparse",
    "serialize_tensor",
    "write_file",
    "write_graph",
]

_absent.tell_in(__name__)
