"""Examples parsed in C: the outputs and errors of the ops' own kernels, which tests compare with TensorFlow's."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as tf
from penstock import errors
from penstock.engine.plan import Plan
from tests.codegen import steps


@pytest.fixture(autouse=True)
def _graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def _example(i: int) -> bytes:
    example = tf.train.Example()
    features = example.features.feature
    features["number"].float_list.value.append(i * 1.5)
    features["text"].bytes_list.value.append(b"x" * (9 * i))
    features["ints"].int64_list.value.extend(range(-i, i))
    features["floats"].float_list.value.extend([0.5] * (2 * i))
    if i % 2:
        features["texts"].bytes_list.value.extend([b"u", b"vv"])
        features["pair"].int64_list.value.extend([2**i, -1])
        features["not asked for"].float_list.value.append(1.0)
    features["nothing"].SetInParent()
    data: bytes = example.SerializeToString(deterministic=i % 3 == 0)
    return data


_FEATURES: dict[str, Any] = {
    "number": tf.FixedLenFeature([], tf.float32),
    "text": tf.FixedLenFeature([1], tf.string),
    "texts": tf.FixedLenFeature([2], tf.string, [b"q", b"r"]),
    "pair": tf.FixedLenFeature([2], tf.int64, [7, 8]),
    "ints": tf.VarLenFeature(tf.int64),
    "nothing": tf.VarLenFeature(tf.string),
    "absent": tf.VarLenFeature(tf.float32),
}
_PADDED: dict[str, Any] = {
    "floats": tf.FixedLenSequenceFeature([2], tf.float32, True, 9.0),
    "absent texts": tf.FixedLenSequenceFeature([], tf.string, True, b"none"),
}
_EXAMPLES = [_example(i) for i in range(16)]


def _outputs(parsed: dict[str, Any]) -> list[Any]:
    found: list[Any] = []
    for key in sorted(parsed):
        value = parsed[key]
        found += [value.indices, value.values, value.dense_shape] if isinstance(value, tf.SparseTensor) else [value]
    return found


def _plans(single: bool) -> list[Plan]:
    """The op's own kernel, and the one in C."""
    serialized = tf.placeholder(tf.string, [] if single else [None])
    features = _FEATURES if single else _FEATURES | _PADDED
    parsed = (tf.parse_single_example if single else tf.parse_example)(serialized, features)
    return [steps.plan(_outputs(parsed), [serialized], mode) for mode in ("off", "on")]


def _result(plan: Plan, value: np.ndarray) -> Any:
    """What is comparable: the outputs' bytes, or the error's text."""
    try:
        return [(f.dtype, f.shape, f.tolist() if f.dtype == object else f.tobytes()) for f in plan.run([value])]
    except errors.InvalidArgumentError as error:
        return str(error)


def _same(plans: list[Plan], records: Any) -> Any:
    value = np.array(records, object)
    own, in_c = (_result(plan, value) for plan in plans)
    assert in_c == own
    return own


def test_batches_are_parsed_as_by_the_ops_own_kernel() -> None:
    plans = _plans(single=False)
    for size in (16, 1, 0):
        assert not isinstance(_same(plans, _EXAMPLES[:size]), str)
    assert not isinstance(_same(plans, [b"", *_EXAMPLES[:2]][1:]), str)
    assert "number" in _same(plans, [b""])


def test_single_examples_are_parsed_as_by_the_ops_own_kernel() -> None:
    plans = _plans(single=True)
    for example in _EXAMPLES:
        assert not isinstance(_same(plans, example), str)


def test_unusual_encodings_are_parsed_as_by_the_ops_own_kernel() -> None:
    plans = _plans(single=False)
    inner = [tf.train.Example.FromString(e).features.SerializeToString() for e in _EXAMPLES[3:5]]
    split = b"".join(b"\x0a" + _length(part) + part for part in inner)
    unknown = _EXAMPLES[3] + b"\x12\x01x"
    unpacked = b"\x08\x05\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"
    integers = b"\x1a" + _length(unpacked) + unpacked
    entry = b"\x0a\x04ints\x12" + _length(integers) + integers
    number = b"\x0a\x06number\x12\x07\x12\x05\x0d\0\0\x80\x3f"
    text = b"\x0a\x04text\x12\x04\x0a\x02\x0a\0"
    fields = b"".join(b"\x0a" + _length(part) + part for part in (entry, number, text, entry))
    unpacked_example = b"\x0a" + _length(fields) + fields
    for record in (split, unknown, unpacked_example):
        assert not isinstance(_same(plans, [record, _EXAMPLES[1]]), str)


def _length(data: bytes) -> bytes:
    size = len(data)
    return bytes([size]) if size < 128 else bytes([size & 127 | 128, size >> 7])


def _corrupted(record: bytes, i: int, chance: random.Random) -> bytes:
    data = bytearray(record)
    at = chance.randrange(len(data))
    if i % 10 == 0:
        del data[at:]
    elif i % 3 == 0:
        data[at] = chance.randrange(256)
    else:
        data[at] ^= 1 << chance.randrange(8)
    return bytes(data)


def test_corrupt_examples_give_the_same_values_or_errors() -> None:
    """Flipped bits, flipped bytes and truncations."""
    chance = random.Random(0)
    plans = _plans(single=False)
    failed = 0
    for i in range(3000):
        failed += isinstance(_same(plans, [_EXAMPLES[1], _corrupted(_EXAMPLES[i % 7], i, chance)]), str)
    assert 300 < failed < 2900


# --- sequences ------------------------------------------------------------------------------------------

_CONTEXT = {
    "length": tf.FixedLenFeature([], tf.int64, 7),
    "title": tf.FixedLenFeature([1], tf.string),
    "tags": tf.VarLenFeature(tf.string),
}
_LISTS: dict[str, Any] = {
    "frames": tf.FixedLenSequenceFeature([2, 1], tf.float32),
    "words": tf.FixedLenSequenceFeature([], tf.string, allow_missing=True),
    "ids": tf.VarLenFeature(tf.int64),
    "names": tf.VarLenFeature(tf.string),
    "absent": tf.VarLenFeature(tf.float32),
}


def _sequence(i: int) -> bytes:
    example = tf.train.SequenceExample()
    context, lists = example.context.feature, example.feature_lists.feature_list
    context["title"].bytes_list.value.append(b"t" * i)
    if i % 2:
        context["length"].int64_list.value.append(-i)
        context["tags"].bytes_list.value.extend([b"a", b"bb"])
        lists["not asked for"].feature.add().float_list.value.append(1.0)
    lists["frames"].SetInParent()
    for step in range(i):
        lists["frames"].feature.add().float_list.value.extend([i, step])
        lists["ids"].feature.add().int64_list.value.extend([2 ** (9 * step)] * (step % 3))
        lists["names"].feature.add().bytes_list.value.extend([b"n"] * (step % 2))
        if i % 3:
            lists["words"].feature.add().bytes_list.value.append(b"w" * step)
    lists["ids"].feature.add()
    data: bytes = example.SerializeToString(deterministic=i % 2 == 0)
    return data


_SEQUENCES = [_sequence(i) for i in range(7)]


def _sequence_plans(single: bool) -> list[Plan]:
    serialized = tf.placeholder(tf.string, [] if single else [None])
    function = tf.parse_single_sequence_example if single else tf.io.parse_sequence_example
    fetches = [output for parsed in function(serialized, _CONTEXT, _LISTS) for output in _outputs(parsed)]
    return [steps.plan(fetches, [serialized], mode) for mode in ("off", "on")]


def test_batches_of_sequences_are_parsed_as_by_the_ops_own_kernel() -> None:
    plans = _sequence_plans(single=False)
    for size in (7, 1, 0):
        assert not isinstance(_same(plans, _SEQUENCES[:size]), str)
    assert "title" in _same(plans, [b""])


def test_single_sequences_are_parsed_as_by_the_ops_own_kernel() -> None:
    plans = _sequence_plans(single=True)
    for sequence in _SEQUENCES:
        assert not isinstance(_same(plans, sequence), str)


@pytest.mark.parametrize("single", [False, True])
def test_corrupt_sequences_give_the_same_values_or_errors(single: bool) -> None:
    chance = random.Random(0)
    plans = _sequence_plans(single)
    failed = 0
    for i in range(1500):
        corrupt = _corrupted(_SEQUENCES[i % 7], i, chance)
        failed += isinstance(_same(plans, corrupt if single else [_SEQUENCES[1], corrupt]), str)
    assert 150 < failed < 1450


# --- what is left to the ops' own kernels ---------------------------------------------------------------


def test_features_whose_keys_are_computed_are_left_to_the_ops_own_kernel() -> None:
    serialized, key = tf.placeholder(tf.string, [None]), tf.placeholder(tf.string, [])
    found = tf.raw_ops.ParseExample(
        serialized=serialized,
        names=tf.constant([], tf.string),
        sparse_keys=[],
        dense_keys=[key],
        dense_defaults=[tf.constant([], tf.float32)],
        sparse_types=[],
        dense_shapes=[[]],
    )
    values = {serialized: np.array(_EXAMPLES[:3], object), key: np.array(b"number", object)}
    (result,) = steps.run([found[-1][0]], values)
    np.testing.assert_array_equal(result, [0, 1.5, 3])
