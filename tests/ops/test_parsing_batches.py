"""Batches of Examples, however their bytes are laid out, against what protobuf reads in each Example alone."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from google.protobuf.message import DecodeError

import penstock as tf
from penstock.ops.parsing_walk import Walk
from penstock.tensor.example_protos import Example
from tests.ops.cases_parsing import example, texts

KEYS = {"image": tf.string, "label": tf.int64, "weights": tf.float32}
FIELDS = {tf.string: "bytes_list", tf.int64: "int64_list", tf.float32: "float_list"}
FIELD = {"bytes_list": 0x0A, "float_list": 0x12, "int64_list": 0x1A}


@pytest.fixture(scope="module")
def parse() -> Callable[[list[bytes]], dict[str, Any]]:
    """All features of some Examples as sparse tensors."""
    with tf.Graph().as_default():
        serialized = tf.placeholder(tf.string, [None])
        parsed = tf.parse_example(serialized, {key: tf.VarLenFeature(dtype) for key, dtype in KEYS.items()})
        session = tf.Session()
        return lambda rows: session.run(parsed, {serialized: texts(*rows)})  # type: ignore[no-any-return]


def rows_of(sparse: Any) -> list[list[Any]]:
    rows: list[list[Any]] = [[] for _ in range(sparse.dense_shape[0])]
    for (row, place), value in zip(sparse.indices.tolist(), sparse.values.tolist(), strict=True):
        assert place == len(rows[row])
        rows[row].append(value)
    return rows


def wanted(rows: list[bytes]) -> dict[str, list[list[Any]]]:
    maps = [Example.FromString(row).features.feature for row in rows]
    return {
        key: [list(getattr(features[key], FIELDS[dtype]).value) if key in features else [] for features in maps]
        for key, dtype in KEYS.items()
    }


# --- Examples, byte by byte -----------------------------------------------------------------------------


def length(size: int, wide: bool = False) -> bytes:
    """A varint; `wide` with a byte more than it needs."""
    found = bytearray()
    while size >= 0x80:
        found.append(size & 0x7F | 0x80)
        size >>= 7
    return bytes([*found, size | 0x80, 0]) if wide else bytes([*found, size])


def field(tag: int, body: bytes, wide: bool = False) -> bytes:
    return bytes([tag]) + length(len(body), wide) + body


def a_list(rng: random.Random, name: str, canonical: bool) -> bytes:
    """A serialized list of one kind: canonical as programs write it, or any other way."""
    count = rng.choice([0, 1, 1, 1, 2, 3, 20, 200])
    packed = canonical or rng.random() < 0.5
    if name == "bytes_list":
        return b"".join(
            field(0x0A, rng.randbytes(rng.choice([0, 1, 5, 100, 126, 127, 128, 129, 300]))) for _ in range(count)
        )
    if name == "float_list":
        values = [np.float32(rng.uniform(-9, 9)).tobytes() for _ in range(count)]
        tag = 0x0D
    else:
        numbers = [rng.choice([rng.randrange(128), rng.randrange(2**15), rng.getrandbits(64)]) for _ in range(count)]
        values, tag = [length(number) for number in numbers], 0x08
    if not count:
        return b""
    if packed:
        cut = count if canonical else rng.randint(0, count)
        return b"".join(field(0x0A, b"".join(part)) for part in (values[:cut], values[cut:]) if part)
    return b"".join(bytes([tag]) + value for value in values)


def an_example(rng: random.Random, canonical: bool) -> bytes:
    keys = [key for key in KEYS if rng.random() < 0.9] + ["other"] * rng.randint(0, 1)
    if not canonical:
        rng.shuffle(keys)
        keys += rng.choices(list(KEYS), k=rng.choice([0, 0, 1]))  # the last of two entries counts
    entries = b""
    for key in keys:
        name = FIELDS[KEYS[key]] if key in KEYS else rng.choice(list(FIELD))
        body = field(FIELD[name], a_list(rng, name, canonical))
        if rng.random() < 0.05:
            body = b""  # a feature of no kind
        unusual = not canonical and rng.random() < 0.2
        parts = [field(0x0A, key.encode()), field(0x12, body, unusual and rng.random() < 0.3)]
        if unusual:
            rng.shuffle(parts)
            parts.insert(rng.randint(0, 2), field(0x7A, b"unknown"))
        entries += field(0x0A, b"".join(parts))
    if not keys and rng.random() < 0.5:
        return b""
    if canonical or rng.random() < 0.8:
        return field(0x0A, entries)
    return field(0x0A, b"") + field(0x7A, b"?") + field(0x0A, entries)


def check(parse: Any, rows: list[bytes]) -> None:
    found = parse(rows)
    for key, lists in wanted(rows).items():
        assert rows_of(found[key]) == lists, key


@pytest.mark.parametrize("canonical", [True, False])
@pytest.mark.parametrize("count", [1, 11, 40, 300])
def test_a_batch_has_the_values_that_protobuf_reads(parse: Any, canonical: bool, count: int) -> None:
    rng = random.Random(count)
    for _ in range(10):
        rows = [an_example(rng, canonical) for _ in range(count)]
        check(parse, rows)
        check(parse, [rows[0]] * count)


def test_records_written_alike_are_all_read_at_once() -> None:
    rng = random.Random(5)
    rows = [
        example(image=[rng.randbytes(rng.randint(1, 70_000))], label=[i], weights=[0.5] * rng.randint(1, 50))
        for i in range(100)
    ]
    found = Walk(rows, frozenset([b"image", b"label", b"weights"]))
    assert not found.odd
    assert set(found.places) == {b"image", b"label", b"weights"}


def test_every_size_near_a_longer_length_is_read(parse: Any) -> None:
    for edge in (2**7, 2**14):
        rows = [example(image=[bytes(size)], label=[size]) for size in range(edge - 30, edge + 3)]
        check(parse, rows)
        assert not Walk(rows, frozenset([b"image"])).odd


def test_large_records_are_read_one_by_one(parse: Any) -> None:
    rng = random.Random(3)
    rows = [example(image=[rng.randbytes(70_000)] * rng.randint(1, 3), label=[1], weights=[0.5]) for _ in range(20)]
    check(parse, [*rows, an_example(rng, False)])


@pytest.mark.parametrize("damages", [3, pytest.param(40, marks=pytest.mark.slow)])
def test_damaged_examples_are_refused_or_read_as_protobuf_reads_them(parse: Any, damages: int) -> None:
    rng = random.Random(damages)
    refused = 0
    for _ in range(damages * 20):
        rows = [an_example(rng, rng.random() < 0.9) for _ in range(30)]
        for _ in range(rng.randint(1, 3)):
            row = rng.randrange(len(rows))
            damaged = bytearray(rows[row])
            if damaged and rng.random() < 0.5:
                damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
            else:
                damaged = damaged[: rng.randint(0, len(damaged))]
            rows[row] = bytes(damaged)
        try:
            found = parse(rows)
        except tf.errors.InvalidArgumentError:
            refused += 1
            continue
        for i, row in enumerate(rows):
            try:
                alone = wanted([row])
            except DecodeError:  # in a feature that was not asked for
                alone = {}
            for key, lists in alone.items():
                np.testing.assert_array_equal(rows_of(found[key])[i], lists[0], key)
    assert refused


def test_the_error_of_a_damaged_example_says_which_it_is() -> None:
    rows = [example(label=[1], image=[b"ab"])] * 40
    rows[17] = rows[17][:-1]
    features = {"label": tf.VarLenFeature(tf.int64)}
    with tf.Graph().as_default(), tf.Session() as session:
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Index: 17.*Could not parse example input"):
            session.run(tf.parse_example(rows, features))
        names = [f"file:{i}" for i in range(40)]
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"Name: file:17, .*Could not parse example input"):
            session.run(tf.parse_example(rows, features, example_names=names))


def test_a_number_that_is_cut_off_does_not_go_on_in_the_next_example() -> None:
    def row(values: bytes) -> bytes:
        feature = field(0x0A, b"label") + field(0x12, field(0x1A, field(0x0A, values)))
        return field(0x0A, field(0x0A, feature))

    with tf.Graph().as_default(), tf.Session() as session:
        serialized = tf.placeholder(tf.string, [None])
        label = tf.parse_example(serialized, {"label": tf.VarLenFeature(tf.int64)})["label"].values
        for rows in (1, 20):
            good = [row(b"\x81\x01"), row(b"\x02")] * rows
            assert session.run(label, {serialized: texts(*good)}).tolist() == [129, 2] * rows
            with pytest.raises(tf.errors.InvalidArgumentError, match="Key: label, Index: 0"):
                session.run(label, {serialized: texts(row(b"\x81"), row(b"\x01\x02"), *good)})
            too_long = row(b"\xff" * 10 + b"\x01")
            with pytest.raises(tf.errors.InvalidArgumentError, match="Key: label, Index: 0"):
                session.run(label, {serialized: texts(too_long, *good)})
