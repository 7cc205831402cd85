"""Batches of sequence examples; values and errors are TensorFlow's (2.21, recorded)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock.graph.opdef import get_op

Feature, Features = tf.train.Feature, dict[str, Any]


def ints(*values: int) -> Any:
    return Feature(int64_list=tf.train.Int64List(value=values))


def floats(*values: float) -> Any:
    return Feature(float_list=tf.train.FloatList(value=values))


def texts(*values: bytes) -> Any:
    return Feature(bytes_list=tf.train.BytesList(value=values))


def sequence(context: Features, lists: dict[str, list[Any]]) -> bytes:
    feature_list = {key: tf.train.FeatureList(feature=features) for key, features in lists.items()}
    return tf.train.SequenceExample(
        context=tf.train.Features(feature=context), feature_lists=tf.train.FeatureLists(feature_list=feature_list)
    ).SerializeToString()


LONG = sequence(
    {"len": ints(3), "tags": texts(b"x", b"y")},
    {
        "tok": [ints(1), ints(2), ints(3)],
        "emb": [floats(1, 2), floats(3, 4), floats(5, 6)],
        "w": [texts(b"a"), texts(b"b", b"c"), texts()],
    },
)
SHORT = sequence({"len": ints(1)}, {"tok": [ints(9)], "emb": [floats(7, 8)], "w": [texts(b"z")]})
EMPTY = sequence({"len": ints(0), "tags": texts(b"q")}, {"tok": [], "emb": [], "w": []})
CONTEXT = {
    "len": tf.FixedLenFeature([], tf.int64),
    "tags": tf.VarLenFeature(tf.string),
    "opt": tf.FixedLenFeature([2], tf.float32, default_value=[0.5, 1.5]),
}
LISTS = {
    "tok": tf.FixedLenSequenceFeature([], tf.int64),
    "emb": tf.FixedLenSequenceFeature([2], tf.float32, allow_missing=True),
    "w": tf.VarLenFeature(tf.string),
}


@pytest.fixture(autouse=True)
def graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, tf.SparseTensorValue):
        return [part.tolist() for part in value]
    return value.tolist()


def parsed(serialized: Any, context: Any = CONTEXT, lists: Any = LISTS, names: Any = None) -> list[Any]:
    found = tf.parse_sequence_example(serialized, context, lists, example_names=names)
    with tf.Session() as sess:
        return [plain(part) for part in sess.run(found)]


def test_a_batch_is_padded_to_its_longest_list() -> None:
    assert parsed([LONG, SHORT, EMPTY]) == [
        {
            "len": [3, 1, 0],
            "opt": [[0.5, 1.5]] * 3,
            "tags": [[[0, 0], [0, 1], [2, 0]], [b"x", b"y", b"q"], [3, 2]],
        },
        {
            "emb": [[[1, 2], [3, 4], [5, 6]], [[7, 8], [0, 0], [0, 0]], [[0, 0], [0, 0], [0, 0]]],
            "tok": [[1, 2, 3], [9, 0, 0], [0, 0, 0]],
            "w": [[[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]], [b"a", b"b", b"c", b"z"], [3, 3, 2]],
        },
        {"emb": [3, 1, 0], "tok": [3, 1, 0]},
    ]


def test_one_example_has_no_axis_of_examples() -> None:
    assert parsed(LONG) == [
        {"len": 3, "opt": [0.5, 1.5], "tags": [[[0], [1]], [b"x", b"y"], [2]]},
        {
            "emb": [[1, 2], [3, 4], [5, 6]],
            "tok": [1, 2, 3],
            "w": [[[0, 0], [1, 0], [1, 1]], [b"a", b"b", b"c"], [3, 2]],
        },
        {"emb": 3, "tok": 3},
    ]


def test_either_kind_of_features_may_be_left_out() -> None:
    assert parsed([LONG, SHORT], None, {"tok": LISTS["tok"]}) == [{}, {"tok": [[1, 2, 3], [9, 0, 0]]}, {"tok": [3, 1]}]
    assert parsed([LONG, SHORT], {"len": CONTEXT["len"]}, None) == [{"len": [3, 1]}, {}, {}]
    with pytest.raises(ValueError, match="Both `context_features` and `sequence_features` argument are None"):
        tf.parse_sequence_example([LONG], None, None)


def test_static_shapes_are_tensorflows() -> None:
    context, lists, lengths = tf.parse_sequence_example([LONG, SHORT, EMPTY], CONTEXT, LISTS)
    assert [context[key].shape.as_list() for key in ("len", "opt")] == [[3], [3, 2]]
    assert [lists[key].shape.as_list() for key in ("tok", "emb")] == [[3, None], [3, None, 2]]
    assert (context["tags"].indices.shape.as_list(), lists["w"].indices.shape.as_list()) == ([None, 2], [None, 3])
    assert lengths["tok"].shape.as_list() == [3]


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (sequence({"len": ints(1)}, {"emb": []}), "Name: b, Feature list 'tok' is required but could not be found"),
        (sequence({}, {"tok": []}), r"len \(data type: int64\) is required but could not be found"),
        (sequence({"len": floats(1)}, {"tok": []}), "Name: b, Context feature: len.  Data types don't match. Expected"),
        (sequence({"len": ints(1)}, {"tok": [floats(1)]}), "Name: b, Feature list: tok, Index: 0.  Data types don't"),
        (sequence({"len": ints(1)}, {"tok": [ints(1), ints(1, 2)]}), "Name: b, .*tok, Index: 1.  Number of .*size: 2"),
        (sequence({"len": ints(1, 2)}, {"tok": []}), "Name: b, Context feature: len.  Number of int64 values"),
        (b"garbage", "Name: b.  Could not parse"),
    ],
)
def test_what_does_not_fit_is_named(other: bytes, said: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        parsed([LONG, other], names=["a", "b"])


def test_there_is_a_name_for_each_example_or_none() -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="correct number of elements"):
        parsed([LONG, SHORT], names=["a"])


def test_the_first_version_of_the_op_has_its_keys_as_attributes() -> None:
    found = get_op("ParseSequenceExample")(
        tf.constant([LONG, SHORT]),
        tf.constant(["a", "b"]),
        [tf.constant([], tf.int64)],
        feature_list_dense_missing_assumed_empty=["emb"],
        context_sparse_keys=["tags"],
        context_dense_keys=["len"],
        feature_list_sparse_keys=["w"],
        feature_list_dense_keys=["emb"],
        context_sparse_types=[tf.string],
        context_dense_shapes=[[]],
        feature_list_sparse_types=[tf.string],
        feature_list_dense_types=[tf.float32],
        feature_list_dense_shapes=[[2]],
        Ncontext_sparse=1,
        Nfeature_list_sparse=1,
        Nfeature_list_dense=1,
    )
    flat = [part for parts in found for part in parts]
    with tf.Session() as sess:
        values = [value.tolist() for value in sess.run(flat)]
    assert values == [
        *([[0, 0], [0, 1]], [b"x", b"y"], [2, 2], [3, 1]),
        *([[0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 0]], [b"a", b"b", b"c", b"z"], [2, 3, 2]),
        *([[[1, 2], [3, 4], [5, 6]], [[7, 8], [0, 0], [0, 0]]], [3, 1]),
    ]


def test_ragged_features_are_values_and_splits() -> None:
    none = tf.constant(np.zeros(0, object), tf.string)
    found = get_op("ParseSequenceExampleV2")(
        tf.constant([LONG, SHORT]),
        none,
        none,
        none,
        tf.constant(["tags"]),
        none,
        none,
        tf.constant(["w"]),
        tf.constant([], tf.bool),
        [],
        context_ragged_value_types=[tf.string],
        context_ragged_split_types=[tf.int32],
        feature_list_ragged_value_types=[tf.string],
        feature_list_ragged_split_types=[tf.int64],
    )
    with tf.Session() as sess:
        values = [value.tolist() for value in sess.run([part for parts in found for part in parts])]
    assert values == [[b"x", b"y"], [0, 2, 2], [b"a", b"b", b"c", b"z"], [0, 3, 4], [0, 1, 3, 3, 4]]
