"""The public functions that parse examples, decode strings, and read and write files."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import descriptor_pool

import penstock as tf
from tests.ops.cases_parsing import example, sequence, texts


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def run(fetches: Any, feeds: Any = None) -> Any:
    with tf.Session() as session:
        return session.run(fetches, feeds)


# --- messages -------------------------------------------------------------------------------------------


def test_an_example_is_built_of_keywords_and_read_back_from_its_bytes() -> None:
    feature = {
        "image": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"png"])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[3])),
        "box": tf.train.Feature(float_list=tf.train.FloatList(value=[0.5, 1])),
    }
    written = tf.train.Example(features=tf.train.Features(feature=feature))
    read = tf.train.Example.FromString(written.SerializeToString())
    assert read == written
    assert read.features.feature["label"].int64_list.value[0] == 3
    assert list(read.features.feature["box"].float_list.value) == [0.5, 1]
    assert read.features.feature["image"].WhichOneof("kind") == "bytes_list"


def test_an_example_is_filled_in_place() -> None:
    written = tf.train.Example()
    written.features.feature["a"].int64_list.value.extend([1, 2])
    assert written.SerializeToString() == example(a=[1, 2])
    written.ParseFromString(example(b=[1.5]))
    assert list(written.features.feature) == ["b"]


def test_messages_have_tensorflows_names_but_stay_out_of_the_default_pool() -> None:
    assert tf.train.SequenceExample.DESCRIPTOR.full_name == "tensorflow.SequenceExample"
    with pytest.raises(KeyError):
        descriptor_pool.Default().FindMessageTypeByName("tensorflow.Example")


# --- parse_example --------------------------------------------------------------------------------------

FEATURES = {
    "label": tf.FixedLenFeature([], tf.int64),
    "box": tf.FixedLenFeature([2], tf.float32, default_value=[7.0, 8.0]),
    "words": tf.VarLenFeature(tf.string),
    "steps": tf.FixedLenSequenceFeature([2], tf.int64, allow_missing=True, default_value=-1),
}
ROWS = [
    example(label=[3], box=[0.5, 1.5], words=[b"a", b"b"], steps=[1, 2, 3, 4]),
    example(label=[4], steps=[5, 6]),
]


def test_parse_example_gives_a_tensor_per_feature() -> None:
    parsed = tf.parse_example(ROWS, FEATURES)
    assert parsed["label"].op.name == "ParseExample/ParseExample"
    assert parsed["label"].shape.as_list() == [2]
    assert parsed["steps"].shape.as_list() == [2, None, 2]
    found = run(parsed)
    assert found["label"].tolist() == [3, 4]
    assert found["box"].tolist() == [[0.5, 1.5], [7, 8]]
    assert found["words"].indices.tolist() == [[0, 0], [0, 1]]
    assert found["words"].values.tolist() == [b"a", b"b"]
    assert found["words"].dense_shape.tolist() == [2, 2]
    assert found["steps"].tolist() == [[[1, 2], [3, 4]], [[5, 6], [-1, -1]]]


def test_parse_example_takes_batches_that_are_fed() -> None:
    serialized = tf.placeholder(tf.string, [None])
    label = tf.parse_example(serialized, {"label": tf.FixedLenFeature([], tf.int64)})["label"]
    with tf.Session() as session:
        assert session.run(label, {serialized: ROWS}).tolist() == [3, 4]
        assert session.run(label, {serialized: ROWS[:1]}).tolist() == [3]
        assert session.run(label, {serialized: texts()}).tolist() == []


def test_parse_single_example_has_no_axis_of_examples() -> None:
    parsed = tf.parse_single_example(ROWS[0], FEATURES)
    assert parsed["label"].op.name == "ParseSingleExample/ParseSingleExample"
    found = run(parsed)
    assert found["label"] == 3
    assert found["box"].tolist() == [0.5, 1.5]
    assert found["words"].indices.tolist() == [[0], [1]]
    assert found["words"].dense_shape.tolist() == [2]
    assert found["steps"].tolist() == [[1, 2], [3, 4]]


def test_the_name_of_an_example_is_in_its_error() -> None:
    features = {"gone": tf.FixedLenFeature([], tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: mine, Feature: gone"):
        run(tf.parse_single_example(ROWS[0], features, example_names="mine"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Name: two, Feature: box"):
        run(tf.parse_example(ROWS, {"box": tf.FixedLenFeature([2], tf.float32)}, example_names=["one", "two"]))


def test_a_named_single_example_gives_what_an_unnamed_one_does() -> None:
    plain, named = run(
        [tf.parse_single_example(ROWS[0], FEATURES), tf.parse_single_example(ROWS[0], FEATURES, example_names="x")]
    )
    for key in ("label", "box", "steps"):
        np.testing.assert_array_equal(plain[key], named[key])
    assert plain["words"].indices.tolist() == named["words"].indices.tolist()
    assert plain["words"].dense_shape.tolist() == named["words"].dense_shape.tolist()


def test_a_sparse_feature_is_put_together_from_two() -> None:
    rows = [example(at=[1, 4], value=[0.5, 2.5]), example(at=[0], value=[1.5])]
    feature = tf.SparseFeature("at", "value", tf.float32, 6, already_sorted=True)
    parsed = tf.parse_example(rows, {"x": feature})
    assert list(parsed) == ["x"]
    found = run(parsed["x"])
    assert found.indices.tolist() == [[0, 1], [0, 4], [1, 0]]
    assert found.values.tolist() == [0.5, 2.5, 1.5]
    assert found.dense_shape.tolist() == [2, 6]
    both = run(tf.parse_single_example(rows[0], {"x": feature, "at": tf.VarLenFeature(tf.int64)}))
    assert both["x"].indices.tolist() == [[1], [4]]
    assert both["at"].values.tolist() == [1, 4]


@pytest.mark.parametrize(
    ("features", "message"),
    [
        ({}, "Missing: features was"),
        ({"a": tf.FixedLenFeature([1], None)}, "Missing type for feature a"),
        ({"a": tf.FixedLenFeature(None, tf.int64)}, "Missing shape for feature a"),
        ({"a": tf.FixedLenFeature([None], tf.int64)}, "First dimension of shape for feature a unknown"),
        ({"a": tf.FixedLenFeature([1, None], tf.int64)}, "All dimensions of shape for feature a need to be known"),
        (
            {"a": tf.FixedLenSequenceFeature([1], tf.int64)},
            "Feature requires allow_missing to be True, also that of 'a'",
        ),
        ({"a": "int64"}, "Unsupported str"),
        (
            {"a": tf.VarLenFeature(tf.int64), "x": tf.SparseFeature("i", "a", tf.float32, 3)},
            "Conflicting type int64 vs float32 for feature a",
        ),
    ],
)
def test_features_that_make_no_sense_are_refused_when_built(features: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tf.parse_example(ROWS, features)


def test_parse_single_sequence_example_gives_context_and_sequences() -> None:
    serialized = sequence({"length": [2], "tags": [b"x"]}, {"tokens": [[1], [2]], "words": [[b"a", b"b"], [b"c"]]})
    features = {"length": tf.FixedLenFeature([], tf.int64), "tags": tf.VarLenFeature(tf.string)}
    lists = {
        "tokens": tf.FixedLenSequenceFeature([1], tf.int64),
        "words": tf.VarLenFeature(tf.string),
        "gone": tf.FixedLenSequenceFeature([3], tf.float32, allow_missing=True),
    }
    parsed = tf.parse_single_sequence_example(serialized, features, lists)
    assert parsed[1]["tokens"].shape.as_list() == [None, 1]
    context, sequences = run(parsed)
    assert context["length"] == 2
    assert context["tags"].values.tolist() == [b"x"]
    assert sequences["tokens"].tolist() == [[1], [2]]
    assert sequences["words"].indices.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert sequences["gone"].shape == (0, 3)


@pytest.mark.parametrize("copies", [1, 100])
def test_few_and_many_sequences_are_read_alike(copies: int) -> None:
    rows = [
        sequence({}, {"x": [[1.0, 2.0], [3.0, 4.0]], "t": [[1, 2], [], [300]], "s": [[b"a", b""], [b"c"]]}),
        sequence({}, {"x": [[5.0, 6.0]]}),
    ]
    lists = {"x": tf.FixedLenSequenceFeature([2], tf.float32)}
    lists |= {key: tf.VarLenFeature(dtype) for key, dtype in (("t", tf.int64), ("s", tf.string))}
    _, found, lengths = run(tf.io.parse_sequence_example(rows * copies, sequence_features=lists))
    np.testing.assert_array_equal(found["x"], [[[1, 2], [3, 4]], [[5, 6], [0, 0]]] * copies)
    assert found["t"].values.tolist() == [1, 2, 300] * copies
    assert found["t"].indices[:3].tolist() == [[0, 0, 0], [0, 0, 1], [0, 2, 0]]
    assert found["s"].values.tolist() == [b"a", b"", b"c"] * copies
    assert lengths["x"].tolist() == [2, 1] * copies


@pytest.mark.parametrize("copies", [1, 100])
def test_a_damaged_feature_of_a_sequence_is_an_invalid_argument(copies: int) -> None:
    good = sequence({}, {"t": [[1, 2]]})
    damaged = good.replace(b"\x1a\x04\x0a\x02\x01\x02", b"\x1a\x7f\x0a\x02\x01\x02")
    assert damaged != good
    lists = {"t": tf.VarLenFeature(tf.int64)}
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Can't parse|Could not parse"):
        run(tf.io.parse_sequence_example([good] * copies + [damaged], sequence_features=lists))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Can't parse|Could not parse"):
        run(tf.parse_single_sequence_example(damaged, sequence_features=lists))


# --- decoding -------------------------------------------------------------------------------------------


def test_decode_raw_turns_an_image_of_bytes_into_numbers() -> None:
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    decoded = tf.reshape(tf.decode_raw(image.tobytes(), tf.uint8), [2, 2, 3])
    assert decoded.op.inputs[0].op.name == "DecodeRaw"
    np.testing.assert_array_equal(run(decoded), image)
    np.testing.assert_array_equal(run(tf.decode_raw(bytes=image.tobytes(), out_type=tf.uint8)), image.reshape(-1))


def test_decode_csv_gives_a_tensor_per_column() -> None:
    record = tf.placeholder(tf.string, [])
    columns = tf.decode_csv(record, record_defaults=[[0.0]] * 4 + [[""]])
    assert [column.dtype.name for column in columns] == ["float32"] * 4 + ["string"]
    assert columns[0].shape.as_list() == []
    found = run(columns, {record: "5.1,3.5,,0.2,setosa"})
    np.testing.assert_allclose(found[:4], [5.1, 3.5, 0, 0.2], rtol=1e-6)
    assert found[4] == b"setosa"


def test_decode_csv_refuses_columns_out_of_order() -> None:
    with pytest.raises(ValueError, match="strictly increasing"):
        tf.decode_csv("1,2", [[0], [0]], select_cols=[1, 0])


def test_many_records_of_csv_have_the_fields_that_pythons_reader_finds() -> None:
    rng = np.random.RandomState(4)
    pieces = [b"", b"a", b"a_b", b'"x, y"', b'"say ""it"""', b'""', b'"line\nbreak"']
    rows = [b"%s,%.3f,%d,%s" % (pieces[i % 7], rng.randn(), rng.randint(99), pieces[i // 7]) for i in range(49)]
    text = tf.placeholder(tf.string, [None])
    columns = tf.decode_csv(text, [[""], [0.0], [0], [""]])
    with tf.Session() as session:
        for chosen in (rows, [row for row in rows if b'"' not in row]):
            read = [next(csv.reader([row.decode()])) for row in chosen]
            found = session.run(columns, {text: texts(*chosen)})
            for given, wanted in zip(found, zip(*read, strict=True), strict=True):
                kind = type(given.tolist()[0])
                values = [each.encode() if kind is bytes else kind(each) for each in wanted]
                np.testing.assert_array_equal(given, np.array(values, given.dtype))


def test_a_serialized_tensor_is_parsed_back() -> None:
    values = tf.constant([[1.5, 2.5]])
    again = tf.parse_tensor(tf.serialize_tensor(values), tf.float32)
    assert run(again).tolist() == [[1.5, 2.5]]
    assert run(tf.io.parse_tensor(tf.make_tensor_proto([1, 2]).SerializeToString(), tf.int32)).tolist() == [1, 2]


# --- files ----------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_and_read_again(tmp_path: Path) -> None:
    path = str(tmp_path / "new" / "file.bin")
    write = tf.write_file(path, b"\0bytes\xff")
    with tf.control_dependencies([write]):
        read = tf.read_file(tf.identity(path))
    assert run(read) == b"\0bytes\xff"
    run(tf.write_file(path, "other"))
    assert Path(path).read_bytes() == b"other"
    assert [p.name for p in Path(path).parent.iterdir()] == ["file.bin"]


def test_reading_what_is_not_a_file_says_so(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match=re.escape(f"{tmp_path}/none")):
        run(tf.read_file(f"{tmp_path}/none"))
    with pytest.raises(tf.errors.FailedPreconditionError):
        run(tf.read_file(str(tmp_path)))
    with pytest.raises(tf.errors.OpError):
        run(tf.write_file(str(tmp_path), "x"))


def test_matching_files_are_sorted(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.bin"):
        (tmp_path / name).write_text(name)
    wanted = [f"{tmp_path}/a.txt".encode(), f"{tmp_path}/b.txt".encode()]
    assert run(tf.matching_files(f"{tmp_path}/*.txt")).tolist() == wanted
    assert run(tf.matching_files([f"{tmp_path}/b.*", f"{tmp_path}/a.*"])).tolist() == wanted


def test_files_are_reached_by_url() -> None:
    run(tf.write_file("memory://parsing/test.bin", b"far away"))
    assert run(tf.read_file("memory://parsing/test.bin")) == b"far away"


def test_errors_call_types_what_tensorflow_calls_them() -> None:
    missing = tf.parse_example([b""], {"c": tf.FixedLenFeature([2], tf.float32)})
    mixed = sequence({}, {"a": [[1, 2], [1.5, 2.5]]})
    of_ints = {"a": tf.FixedLenSequenceFeature([2], tf.int64)}
    for fetch, message in [
        (missing, r"Feature: c \(data type: float\) is required"),
        (tf.decode_csv(["0.5x"], [[1.0]]), "Field 0 in record 0 is not a valid float: 0.5x"),
        (tf.parse_single_sequence_example(mixed, sequence_features=of_ints), "match. Expected type: int64"),
    ]:
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            run(fetch)


def test_the_filler_of_sequences_is_one_value() -> None:
    filled = tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True, default_value=[])
    with pytest.raises(ValueError, match="Cannot reshape a tensor with 0 elements to shape"):
        tf.parse_example([b""], {"a": filled})
